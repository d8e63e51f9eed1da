//! Dispatching children and settling what they owe.

use crate::caps::Caps;
use crate::command::line;
use crate::dispatch::{Dispatch, Settlement};
use crate::event::fact::{DispatchClaimed, DispatchMaterialized, DispatchSettled};
use crate::ids::{RunId, SessionId};
use crate::limits::MAX_NAME_BYTES;
use crate::refusal::Refusal;
use crate::session::Session;

/// Claims a slot for a child, before the child exists. The caps are checked under the parent's
/// lock, so that two dispatches never share the last slot.
///
/// # Errors
/// When the child would be too deep, the parent has as many open dispatches as it may, or the
/// parent is discarded.
pub fn claim(
    parent: &Session,
    child: SessionId,
    run: RunId,
    terms: (&str, Caps),
) -> Result<DispatchClaimed, Refusal> {
    let (target, caps) = terms;
    line("target", target, 2 * MAX_NAME_BYTES + 1)?;
    if parent.discarded {
        return Err(Refusal::Discarded { session: parent.id });
    }
    let depth = parent.depth.saturating_add(1);
    if depth > caps.max_depth {
        return Err(Refusal::TooDeep { session: parent.id, depth, max: caps.max_depth });
    }
    let count = parent.dispatches.len();
    if count >= caps.max_fanout {
        return Err(Refusal::TooWide { session: parent.id, count, max: caps.max_fanout });
    }
    Ok(DispatchClaimed {
        child_session_id: child,
        initiated_run_id: run,
        target: target.to_owned(),
    })
}

/// Finds an open dispatch.
pub fn find(parent: &Session, child: SessionId, run: RunId) -> Option<&Dispatch> {
    parent.dispatches.iter().find(|d| d.is_of(child, run))
}

/// Records that the child exists; none when that is known or nothing is owed.
pub fn materialize(parent: &Session, child: SessionId, run: RunId) -> Option<DispatchMaterialized> {
    find(parent, child, run).filter(|d| !d.is_materialized).map(|d| DispatchMaterialized {
        child_session_id: d.child_session_id,
        initiated_run_id: d.initiated_run_id,
    })
}

/// Settles a dispatch whose outcome discharges it; none when it doesn't, or nothing is owed.
pub fn settle(
    parent: &Session,
    dispatch: (SessionId, RunId),
    settlement: &Settlement,
    is_collected: bool,
) -> Option<DispatchSettled> {
    let (child, run) = dispatch;
    find(parent, child, run).filter(|_| settlement.outcome.discharges())?;
    Some(DispatchSettled {
        child_session_id: child,
        initiated_run_id: run,
        outcome: settlement.outcome,
        run_number: settlement.run_number,
        is_collected,
    })
}
