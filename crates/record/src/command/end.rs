//! Ending runs and sessions: asked for by anyone, recorded by the lease holder.

use crate::command::create::prompt;
use crate::command::{MAX_DETAIL_CHARS, Verdict, within};
use crate::event::Fact;
use crate::event::fact::{
    FollowUp, RunEndRequested, RunEnded, SessionClosed, SessionDiscarded, SessionEnded,
    SessionKilled, SessionParked,
};
use crate::ids::RunId;
use crate::limits::{MAX_PAYLOAD_BYTES, MAX_REPROMPTS};
use crate::refusal::Refusal;
use crate::session::{Completion, Session};
use crate::words::{Authority, EndReason, Mode};

/// An end somebody asks for.
#[derive(Clone, Debug)]
pub struct AskedEnd {
    /// Why.
    pub reason: EndReason,
    /// A last result, with `ended`.
    pub result: Option<String>,
    /// The run that follows, with `interrupted`.
    pub follow_up: Option<FollowUp>,
}

impl From<EndReason> for AskedEnd {
    fn from(reason: EndReason) -> Self {
        Self { reason, result: None, follow_up: None }
    }
}

/// Asks for the end of a session, or of its live run. Recorded before any signal is sent, so that
/// nobody takes a deliberate end for a crash. The same end again appends nothing.
///
/// # Errors
/// When the reason is one that only an exit can give, or `interrupt` finds nothing to interrupt.
pub fn request_end(session: &Session, asked: &AskedEnd) -> Result<Verdict<()>, Refusal> {
    let AskedEnd { reason, result, follow_up } = asked;
    let reason = *reason;
    if let Some(text) = result {
        within("result", text, MAX_PAYLOAD_BYTES)?;
    }
    if let Some(next) = follow_up {
        prompt(&next.prompt)?;
    }
    if !reason.is_deliberate() {
        return Err(Refusal::NotAskable { reason });
    }
    if reason == EndReason::Interrupted && session.mode == Mode::Interactive {
        let mode = session.mode;
        return Err(Refusal::WrongMode { session: session.id, mode, verb: "interrupt" });
    }
    let result = result.clone();
    if let Some(run) = session.live_run() {
        if run.end_requested == Some(reason) && result.is_none() && follow_up.is_none() {
            return Ok(Verdict::Already(()));
        }
        let follow_up = follow_up.clone();
        let run_id = run.id;
        return Ok(Verdict::Append(RunEndRequested { run_id, reason, result, follow_up }.into()));
    }
    if session.discarded
        || (session.completion == Some(Completion::Ended(reason)) && result.is_none())
    {
        return Ok(Verdict::Already(()));
    }
    let fact: Fact = match reason {
        EndReason::Closed => SessionClosed::default().into(),
        EndReason::Parked => SessionParked::default().into(),
        EndReason::Discarded => SessionDiscarded::default().into(),
        EndReason::Killed => SessionKilled::default().into(),
        EndReason::Ended => SessionEnded { result }.into(),
        _ => return Ok(Verdict::Already(())),
    };
    Ok(Verdict::Append(fact))
}

/// What the lease holder saw of a run's end.
#[derive(Clone, Debug, Default)]
pub struct Exit {
    /// Exit code, when it exited.
    pub code: Option<i32>,
    /// Signal number, when one killed it.
    pub signal: Option<i32>,
    /// A reason that the watcher knows better than the exit status does: `lost`, `spawn-failed`,
    /// `provider-error` or `hangup`.
    pub observed: Option<EndReason>,
    /// A line of detail.
    pub detail: Option<String>,
}

/// Makes the one event of a run's end. A stored return comes first, then an end that was asked for,
/// then what was observed, then the exit status; the last un-returned exit is the one that fails.
///
/// Returns none when the run's end is recorded or the run is unknown.
pub fn record_end(session: &Session, run_id: RunId, exit: Exit) -> Option<RunEnded> {
    let run = session.run(run_id).filter(|r| r.is_live())?;
    let by_status = match (exit.code, exit.signal) {
        (Some(0), _) => EndReason::ExitZero,
        (Some(_), _) => EndReason::ExitNonzero,
        (None, Some(_)) => EndReason::Signal,
        (None, None) => EndReason::Unknown,
    };
    let mut reason = if run.is_returned() {
        EndReason::Returned
    } else if let Some(requested) = run.end_requested {
        requested
    } else {
        exit.observed.unwrap_or(by_status)
    };
    let rules_apply = session.is_unattended()
        && session.authority == Authority::Record
        && session.blocking_question().is_none()
        && session.questions.iter().all(|q| q.is_open() || q.run_id != Some(run.id));
    if reason.is_unreturned_exit() && rules_apply && run.attempt >= MAX_REPROMPTS {
        reason = EndReason::FailedUnreturned;
    }
    Some(RunEnded {
        run_id,
        reason,
        exit_code: exit.code,
        signal: exit.signal,
        detail: exit.detail.map(|d| d.chars().take(MAX_DETAIL_CHARS).collect()),
    })
}
