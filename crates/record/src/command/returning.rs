//! Returning a turn.

use crate::command::{Verdict, within};
use crate::event::fact::RunReturned;
use crate::fold::payload_digest;
use crate::ids::RunId;
use crate::limits::MAX_PAYLOAD_BYTES;
use crate::refusal::Refusal;
use crate::run::{ResultRef, Run};
use crate::session::Session;
use crate::words::Disposition;

/// What a caller returns.
#[derive(Clone, Debug)]
pub struct Return<'a> {
    /// The run it speaks for; none means the newest.
    pub run_id: Option<RunId>,
    /// Finish or await.
    pub disposition: Disposition,
    /// The deliverable.
    pub payload: &'a str,
}

/// Returns the turn of a run. The same return again answers as the first did; a return of a run
/// that has ended is stored on that run and moves nothing.
///
/// # Errors
/// When the payload is over its bound, there is no such run, or the turn has another return.
pub fn return_turn(session: &Session, request: &Return<'_>) -> Result<Verdict<ResultRef>, Refusal> {
    within("result", request.payload, MAX_PAYLOAD_BYTES)?;
    let run = named_run(session, request.run_id)?;
    if let Some(first) = first_return(run) {
        return if is_same(first, request.disposition, request.payload) {
            Ok(Verdict::Already(first.clone()))
        } else {
            Err(already_returned(run, first))
        };
    }
    Ok(Verdict::Append(
        RunReturned {
            run_id: run.id,
            turn_id: run.turn_id,
            disposition: request.disposition,
            payload: request.payload.to_owned(),
        }
        .into(),
    ))
}

/// Returns what the run's current turn returned, late or not.
pub(crate) fn first_return(run: &Run) -> Option<&ResultRef> {
    run.result.as_ref().filter(|r| r.turn_id == run.turn_id)
}

pub(crate) fn is_same(first: &ResultRef, disposition: Disposition, payload: &str) -> bool {
    first.disposition == disposition && first.sha256 == payload_digest(payload)
}

pub(crate) fn already_returned(run: &Run, first: &ResultRef) -> Refusal {
    Refusal::AlreadyReturned {
        run_number: run.number,
        disposition: first.disposition.to_string(),
        at: first.at.to_string(),
    }
}

/// Finds the run a caller speaks for.
///
/// # Errors
/// When the session has no run, or the named one is not among its newest.
pub fn named_run(session: &Session, run_id: Option<RunId>) -> Result<&Run, Refusal> {
    match run_id {
        None => session.current_run().ok_or(Refusal::NoRun { session: session.id }),
        Some(run) => session.run(run).ok_or(Refusal::UnknownRun { session: session.id, run }),
    }
}
