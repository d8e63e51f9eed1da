//! Ending runs and sessions: asked for by anyone, recorded by the lease holder.

use crate::command::create::prompt;
use crate::command::returning::{already_returned, first_return, is_same};
use crate::command::{Verdict, within};
use crate::event::fact::{
    FollowUp, RunEndRequested, RunEnded, SessionClosed, SessionDiscarded, SessionEnded,
    SessionKilled, SessionParked,
};
use crate::ids::RunId;
use crate::limits::{MAX_DETAIL_BYTES, MAX_PAYLOAD_BYTES, MAX_REPROMPTS, truncated};
use crate::refusal::Refusal;
use crate::session::{Completion, Session};
use crate::words::{Authority, Disposition, EndReason, Mode};

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
/// When the reason is one that only an exit can give, `interrupt` finds nothing to interrupt or
/// brings no prompt or finds its run being ended already, a result has no run to stand on or comes second, or the session is discarded.
pub fn request_end(session: &Session, asked: &AskedEnd) -> Result<Verdict<()>, Refusal> {
    let AskedEnd { reason, result, follow_up } = asked;
    let reason = *reason;
    if !reason.is_deliberate() {
        return Err(Refusal::NotAskable { reason });
    }
    let result = result.as_deref().filter(|_| reason == EndReason::Ended);
    let follow_up = follow_up.as_ref().filter(|_| reason == EndReason::Interrupted);
    if session.discarded && !matches!(reason, EndReason::Discarded | EndReason::Killed) {
        return Err(Refusal::Discarded { session: session.id });
    }
    if let Some(text) = result {
        check_last_result(session, text)?;
    }
    if reason == EndReason::Interrupted {
        check_follow_up(session, follow_up)?;
    }
    let Some(run) = session.live_run() else {
        return Ok(end_without_run(session, reason, result));
    };
    if run.end_requested == Some(reason) && result.is_none() && follow_up.is_none() {
        return Ok(Verdict::Already(()));
    }
    // A result that the turn already has is not stored twice.
    let result = result.filter(|_| first_return(run).is_none()).map(str::to_owned);
    let (run_id, follow_up) = (run.id, follow_up.cloned());
    Ok(Verdict::Append(RunEndRequested { run_id, reason, result, follow_up }.into()))
}

fn check_last_result(session: &Session, text: &str) -> Result<(), Refusal> {
    within("result", text, MAX_PAYLOAD_BYTES)?;
    let run = session.current_run().ok_or(Refusal::NoRun { session: session.id })?;
    match first_return(run) {
        Some(first) if !is_same(first, Disposition::Finish, text) => {
            Err(already_returned(run, first))
        }
        _ => Ok(()),
    }
}

fn check_follow_up(session: &Session, follow_up: Option<&FollowUp>) -> Result<(), Refusal> {
    let verb = "interrupt";
    if session.mode == Mode::Interactive {
        return Err(Refusal::WrongMode { session: session.id, mode: session.mode, verb });
    }
    let Some(run) = session.live_run() else {
        return Err(Refusal::WrongState { session: session.id, state: session.work_state(), verb });
    };
    if let Some(reason) = run.end_requested {
        return Err(Refusal::BeingEnded { session: session.id, number: run.number, reason });
    }
    prompt(follow_up.map_or("", |f| &f.prompt))
}

fn end_without_run(session: &Session, reason: EndReason, result: Option<&str>) -> Verdict<()> {
    let is_recorded = session.completion == Some(Completion::Ended(reason));
    if session.discarded || (is_recorded && session.intent.is_none() && result.is_none()) {
        return Verdict::Already(());
    }
    // A result that the run already has is not stored twice.
    let is_new = session.current_run().is_some_and(|run| first_return(run).is_none());
    Verdict::Append(match reason {
        EndReason::Closed => SessionClosed::default().into(),
        EndReason::Parked => SessionParked::default().into(),
        EndReason::Discarded => SessionDiscarded::default().into(),
        EndReason::Killed => SessionKilled::default().into(),
        EndReason::Ended if is_recorded && !is_new => return Verdict::Already(()),
        EndReason::Ended => {
            SessionEnded { result: result.filter(|_| is_new).map(str::to_owned) }.into()
        }
        _ => return Verdict::Already(()),
    })
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

/// Makes the one event of a run's end. A stored return comes first (but `end` brings its own result
/// and so stays `ended`), then an end that was asked for, then what was observed, then the exit
/// status; the last un-returned exit is the one that fails.
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
    let mut reason = if run.end_requested == Some(EndReason::Ended) {
        EndReason::Ended
    } else if run.is_returned() {
        EndReason::Returned
    } else if let Some(requested) = run.end_requested {
        requested
    } else {
        exit.observed.unwrap_or(by_status)
    };
    let rules_apply = session.is_unattended()
        && session.authority == Authority::Record
        && session.blocking_question().is_none()
        && !session.has_answer_for_current_run();
    if reason.is_unreturned_exit() && rules_apply && run.attempt >= MAX_REPROMPTS {
        reason = EndReason::FailedUnreturned;
    }
    Some(RunEnded {
        run_id,
        reason,
        exit_code: exit.code,
        signal: exit.signal,
        detail: exit.detail.map(|d| truncated(&d, MAX_DETAIL_BYTES).to_owned()),
    })
}
