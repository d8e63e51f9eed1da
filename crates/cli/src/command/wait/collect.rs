//! What a parent that waited is owed no more.

use creel_record::command::{Verdict, dispatch};
use creel_record::dispatch::{Settlement, settlement};
use creel_record::{RunId, SessionId};
use creel_spool::{ReadError, Store};

use super::anchor::chain;
use crate::context::Context;
use crate::report::Report;

/// Marks the dispatches that an outcome settles as collected, when the caller is the parent: it
/// has read the outcome, so that no wake shall carry it again.
///
/// # Errors
/// When a session can't be read, or the mark can't be written.
pub(crate) fn by_parent(
    store: &Store,
    child: SessionId,
    printed: &Settlement,
    context: &Context,
) -> Result<(), Report> {
    if !printed.outcome.discharges() {
        return Ok(());
    }
    let Some(parent) = context.environment.caller()? else { return Ok(()) };
    // The caller's own session may live in another store: it is owed nothing by this one.
    let parent = match store.read(parent) {
        Ok(parent) => parent.snapshot.session,
        Err(ReadError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let owed: Vec<RunId> = parent
        .dispatches
        .iter()
        .filter(|owed| owed.child_session_id == child)
        .map(|owed| owed.initiated_run_id)
        .collect();
    if owed.is_empty() {
        return Ok(());
    }
    let session = store.read(child)?.snapshot.session;
    for run in owed {
        let settled = settlement(&session, &chain(store, &session, run)?, run);
        if settled == *printed {
            context.record(store, parent.id, |parent| {
                let fact = dispatch::settle(parent, (child, run), &settled, true);
                Ok(fact.map_or(Verdict::Already(()), |fact| Verdict::Append(fact.into())))
            })?;
        }
    }
    Ok(())
}
