//! Starting runs. Only the lease holder may append what these return.

use crate::command::create::prompt;
use crate::command::line;
use crate::decide::{Owed, decide};
use crate::event::fact::{RunIntended, RunStarted, SessionRestored, TurnStarted};
use crate::ids::{RequestId, RunId, TurnId};
use crate::limits::MAX_MACHINE_ID_BYTES;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::time::Timestamp;
use crate::words::{Authority, Cause, Mode};

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
/// When a run is live, the session is discarded or owned by a delivery, the prompt is refused or
/// nowhere, a machine name is refused, or a re-prompt is more than the rules owe.
pub fn start(session: &Session, start: Start) -> Result<RunStarted, Refusal> {
    may_start(session)?;
    let is_intended = session.intent.as_ref().is_some_and(|i| i.run_id == start.run_id);
    match &start.prompt {
        Some(text) if text.is_empty() && session.mode == Mode::Interactive => {}
        Some(text) => prompt(text)?,
        None if is_intended => {}
        None => return Err(Refusal::Empty { what: "prompt" }),
    }
    line("machine id", &start.machine_id, MAX_MACHINE_ID_BYTES)?;
    line("boot id", &start.boot_id, MAX_MACHINE_ID_BYTES)?;
    let previous = session.current_run();
    let attempt = match start.cause {
        Cause::Reprompt => reprompt_attempt(session)?,
        _ => 0,
    };
    Ok(RunStarted {
        run_id: start.run_id,
        turn_id: start.turn_id,
        number: session.run_count.saturating_add(1),
        cause: start.cause,
        attempt,
        continues_run_id: previous.map(|r| r.id),
        // An intended run's prompt is in the log already.
        prompt: start.prompt.filter(|_| !is_intended),
        machine_id: start.machine_id,
        boot_id: start.boot_id,
    })
}

fn reprompt_attempt(session: &Session) -> Result<u32, Refusal> {
    // Re-prompts never depend on the time.
    match decide(session, Timestamp::from_millis(0)) {
        Owed::Reprompt { attempt } => Ok(attempt),
        _ => {
            let state = session.work_state();
            Err(Refusal::WrongState { session: session.id, state, verb: "re-prompt" })
        }
    }
}

/// A wake somebody composed.
#[derive(Clone, Debug)]
pub struct Wake {
    /// The run that shall start.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// The digest of what waits.
    pub prompt: String,
    /// The last wake-worthy event in it; none when it holds none.
    pub through_sequence: Option<u64>,
    /// The questions whose answers are in it.
    pub request_ids: Vec<RequestId>,
}

/// Records a wake: the prompt and what it delivers are one event.
///
/// # Errors
/// When no wake is owed at `now`, or the prompt is refused.
pub fn wake(session: &Session, wake: Wake, now: Timestamp) -> Result<RunIntended, Refusal> {
    prompt(&wake.prompt)?;
    let Owed::Wake { through_sequence: newest } = decide(session, now) else {
        let state = session.work_state();
        return Err(Refusal::WrongState { session: session.id, state, verb: "wake" });
    };
    let delivered = session.pending.delivered_sequence;
    Ok(RunIntended {
        run_id: wake.run_id,
        turn_id: wake.turn_id,
        prompt: wake.prompt,
        // What came in while the digest was made is not in it, and waits for the next wake.
        through_sequence: wake.through_sequence.min(newest).unwrap_or(delivered).max(delivered),
        request_ids: wake.request_ids,
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
/// When no run is live, its current turn has not returned, or its end was asked for.
pub fn open_turn(session: &Session, turn_id: TurnId, text: &str) -> Result<TurnStarted, Refusal> {
    prompt(text)?;
    if session.discarded {
        return Err(Refusal::Discarded { session: session.id });
    }
    let run = session.live_run().ok_or(Refusal::NoRun { session: session.id })?;
    if !run.is_returned() || run.end_requested.is_some() {
        return Err(Refusal::RunLive { session: session.id, number: run.number });
    }
    Ok(TurnStarted { run_id: run.id, turn_id, prompt: text.to_owned() })
}
