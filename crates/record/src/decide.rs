//! What a session is owed when nobody runs it: the one rule that the keeper, the host and the
//! verbs ask, always after winning the lease.

#[cfg(test)]
mod tests;

use crate::limits::MAX_REPROMPTS;
use crate::session::Session;
use crate::time::Timestamp;
use crate::words::{Authority, Cause, WorkState};

/// What is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// Nothing.
    Nothing,
    /// A run is marked live: its lease holder must still be there, or it is lost.
    LiveRun,
    /// The intended run never started; start it under its own id.
    StartIntended,
    /// The turn returned nothing; ask again.
    Reprompt {
        /// 1 or 2.
        attempt: u32,
    },
    /// Something waits for a session at rest: append an intent that delivers everything up to here.
    Wake {
        /// The newest sequence that the digest covers; none for a due time or an answer alone.
        through_sequence: Option<u64>,
    },
}

/// Decides what is owed at `now`.
pub fn decide(session: &Session, now: Timestamp) -> Owed {
    if session.authority == Authority::Delivery {
        return Owed::Nothing;
    }
    if session.live_run().is_some() {
        return Owed::LiveRun;
    }
    if session.discarded {
        return Owed::Nothing;
    }
    if session.intent.is_some() {
        return Owed::StartIntended;
    }
    if !session.is_unattended() {
        return Owed::Nothing;
    }
    let wake = Owed::Wake { through_sequence: session.pending.last_sequence };
    match session.work_state() {
        WorkState::Awaiting => {
            let is_due = session.pending.wake_at.is_some_and(|at| at <= now);
            if session.pending.count > 0 || is_due || session.has_untaken_answer() {
                wake
            } else {
                Owed::Nothing
            }
        }
        WorkState::Working => match unreturned_attempt(session) {
            // A run that ended on its own while it asked: only the answer goes on.
            Some(_) if session.has_answer_for_current_run() => wake,
            Some(attempt) if attempt < MAX_REPROMPTS => Owed::Reprompt { attempt: attempt + 1 },
            _ => Owed::Nothing,
        },
        WorkState::NeedsInput | WorkState::Finished | WorkState::Abandoned => Owed::Nothing,
    }
}

/// Returns which attempt ended without a return, when the newest run did.
fn unreturned_attempt(session: &Session) -> Option<u32> {
    let run = session.current_run()?;
    run.end_reason.filter(|r| r.is_unreturned_exit()).map(|_| run.attempt)
}

/// Returns the cause of the run that settles a debt.
pub fn cause(owed: Owed, session: &Session) -> Option<Cause> {
    match owed {
        Owed::Nothing | Owed::LiveRun => None,
        Owed::StartIntended => session.intent.as_ref().map(|i| i.cause),
        Owed::Reprompt { .. } => Some(Cause::Reprompt),
        Owed::Wake { .. } => Some(Cause::Wake),
    }
}
