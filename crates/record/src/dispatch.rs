//! Dispatches: turns of other sessions whose results this session is owed, and how one settles.
//!
//! A dispatch is anchored at the run that it initiated and follows that run's `continuesRunId`
//! chain. It never looks at work state, retention or process exit of the child: only a result, or
//! an end that no run can follow, settles it.

use serde::{Deserialize, Serialize};

use crate::ids::{RunId, SessionId};
use crate::run::{ResultRef, Run};
use crate::session::Session;
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
/// `chain` is every run of the child that the caller could load, oldest first; runs that were
/// already dropped from the snapshot come from the run index. A chain that is not loaded whole is
/// read from its first known run on.
pub fn settlement(child: &Session, chain: &[Run], anchor: RunId) -> Settlement {
    let mut current: Option<&Run> = None;
    let mut last_end = None;
    for run in chain {
        let follows = match current {
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
        last_end = run.end_reason;
        current = Some(run);
    }
    let Some(run) = current else {
        return if child.discarded || child.is_killed() {
            Settlement { outcome: Outcome::Abandoned, ..Settlement::PENDING }
        } else {
            Settlement::PENDING
        };
    };
    let is_last = chain.last().is_some_and(|r| r.id == run.id);
    if is_last && child.mode == Mode::Interactive {
        return Settlement::of(Outcome::Adopted, run);
    }
    match last_end {
        Some(EndReason::Killed | EndReason::Discarded | EndReason::Lost) => {
            Settlement::of(Outcome::Abandoned, run)
        }
        Some(EndReason::FailedUnreturned) => Settlement::of(Outcome::FailedUnreturned, run),
        Some(EndReason::ProviderError | EndReason::SpawnFailed) => {
            Settlement::of(Outcome::ApiError, run)
        }
        Some(EndReason::Closed | EndReason::Ended) => Settlement::of(Outcome::Abandoned, run),
        Some(EndReason::Hangup) if is_last && child.mode == Mode::Interactive => {
            Settlement::of(Outcome::Hangup, run)
        }
        _ if is_last && (child.discarded || child.is_killed()) => {
            Settlement::of(Outcome::Abandoned, run)
        }
        _ => Settlement::PENDING,
    }
}
