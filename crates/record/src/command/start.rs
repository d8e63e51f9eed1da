//! Starting runs. Only the lease holder may append what these return.

use crate::command::create::prompt;
use crate::event::fact::{RunStarted, SessionRestored, TurnStarted};
use crate::ids::{RunId, TurnId};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::words::{Authority, Cause};

/// A run somebody wants.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its id.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// Why.
    pub cause: Cause,
    /// The prompt; none when the record already holds it (creation or intent).
    pub prompt: Option<String>,
    /// The machine it runs on.
    pub machine_id: String,
    /// The boot it runs in.
    pub boot_id: String,
}

/// Starts a run; a session has at most one live run.
///
/// # Errors
/// When a run is live, the session is discarded or owned by a delivery, or the prompt is refused.
pub fn start(session: &Session, start: Start) -> Result<RunStarted, Refusal> {
    may_start(session)?;
    if let Some(text) = &start.prompt {
        prompt(text)?;
    }
    let previous = session.current_run();
    let attempt = match start.cause {
        Cause::Reprompt => previous.map_or(0, |r| r.attempt) + 1,
        _ => 0,
    };
    Ok(RunStarted {
        run_id: start.run_id,
        turn_id: start.turn_id,
        number: session.run_count + 1,
        cause: start.cause,
        attempt,
        continues_run_id: previous.map(|r| r.id),
        prompt: start.prompt,
        machine_id: start.machine_id,
        boot_id: start.boot_id,
    })
}

/// Tells whether a run may start.
///
/// # Errors
/// As [`start`], the prompt apart.
pub fn may_start(session: &Session) -> Result<(), Refusal> {
    if session.authority == Authority::Delivery {
        return Err(Refusal::DeliveryOwned { session: session.id });
    }
    if session.discarded {
        return Err(Refusal::Discarded { session: session.id });
    }
    if let Some(run) = session.live_run() {
        return Err(Refusal::RunLive { session: session.id, number: run.number });
    }
    Ok(())
}

/// Takes a tombstone back; none when there is none.
pub fn restore(session: &Session) -> Option<SessionRestored> {
    session.discarded.then(SessionRestored::default)
}

/// Opens a further turn in a live structured run.
///
/// # Errors
/// When no run is live or its current turn has not returned.
pub fn open_turn(session: &Session, turn_id: TurnId, text: &str) -> Result<TurnStarted, Refusal> {
    prompt(text)?;
    let run = session.live_run().ok_or(Refusal::NoRun { session: session.id })?;
    if !run.is_returned() {
        return Err(Refusal::RunLive { session: session.id, number: run.number });
    }
    Ok(TurnStarted { run_id: run.id, turn_id, prompt: text.to_owned() })
}
