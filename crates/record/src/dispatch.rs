//! Dispatches: turns of other sessions whose results this session is owed, and how one settles.
//!
//! A dispatch is anchored at the run that it initiated and follows that run's `continuesRunId`
//! chain. It never looks at work state, retention or process exit of the child: only a result, or
//! an end that no run can follow, settles it.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::ids::{RunId, SessionId};
use crate::run::{ResultRef, Run};
use crate::session::{Completion, Session};
use crate::time::Timestamp;
use crate::words::{EndReason, Mode, Outcome};

/// One owed result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispatch {
    /// The child.
    pub child_session_id: SessionId,
    /// The anchor.
    pub initiated_run_id: RunId,
    /// When the slot was claimed.
    pub started_at: Timestamp,
    /// True once the child is known to exist.
    pub is_materialized: bool,
}

impl Dispatch {
    /// True when this is the dispatch of that child and run.
    pub fn is_of(&self, child: SessionId, run: RunId) -> bool {
        self.child_session_id == child && self.initiated_run_id == run
    }
}

/// What a look at the child says about a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The outcome; [`Outcome::Pending`] while nothing settles it.
    pub outcome: Outcome,
    /// The run that gave it.
    pub run_number: Option<u64>,
    /// The result, with [`Outcome::Result`].
    pub result: Option<ResultRef>,
}

impl Settlement {
    const PENDING: Self = Self { outcome: Outcome::Pending, run_number: None, result: None };

    fn of(outcome: Outcome, run: &Run) -> Self {
        Self { outcome, run_number: Some(run.number), result: None }
    }
}

/// Reads the outcome of the turn that began with `anchor` from the child's session.
///
/// `chain` is every run of the child from the anchor on, oldest first; runs that were already
/// dropped from the snapshot come from the run index. Without the anchor in it, nothing is known to
/// have happened, and only a verdict on the whole session settles.
pub fn settlement(child: &Session, chain: &[Run], anchor: RunId) -> Settlement {
    let is_over = matches!(
        child.completion,
        Some(Completion::Ended(
            EndReason::Killed | EndReason::Discarded | EndReason::Closed | EndReason::Ended
        ))
    ) || child.discarded;
    let mut newest: Option<&Run> = None;
    for run in chain {
        let follows = match newest {
            None => run.id == anchor,
            Some(before) => run.continues_run_id == Some(before.id),
        };
        if !follows {
            continue;
        }
        if let Some(result) = &run.result {
            return Settlement {
                outcome: Outcome::Result,
                run_number: Some(run.number),
                result: Some(result.clone()),
            };
        }
        newest = Some(run);
    }
    let Some(run) = newest else {
        let outcome = if is_over { Outcome::Abandoned } else { Outcome::Pending };
        return Settlement { outcome, ..Settlement::PENDING };
    };
    if is_over {
        return Settlement::of(Outcome::Abandoned, run);
    }
    let is_interactive = child.mode == Mode::Interactive;
    match run.end_reason {
        Some(
            EndReason::Killed
            | EndReason::Discarded
            | EndReason::Lost
            | EndReason::Closed
            | EndReason::Ended,
        ) => Settlement::of(Outcome::Abandoned, run),
        Some(EndReason::FailedUnreturned) => Settlement::of(Outcome::FailedUnreturned, run),
        Some(EndReason::ProviderError | EndReason::SpawnFailed) => {
            Settlement::of(Outcome::ApiError, run)
        }
        Some(EndReason::Hangup) if is_interactive => Settlement::of(Outcome::Hangup, run),
        // A return that is lost with its line settles like one that never came.
        _ if matches!(
            child.completion,
            Some(Completion::Ended(EndReason::FailedUnreturned | EndReason::Returned))
        ) =>
        {
            Settlement::of(Outcome::FailedUnreturned, run)
        }
        _ if is_interactive => Settlement::of(Outcome::Adopted, run),
        _ => Settlement::PENDING,
    }
}
