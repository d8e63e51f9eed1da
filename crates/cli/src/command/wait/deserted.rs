//! Runs whose holder died and whose end nobody has recorded.

use creel_record::SessionId;
use creel_spool::Store;
use creel_sys::process::ProcessHandle;

use crate::collecting::{holder_lives, holder_of};
use crate::report::Report;
use crate::starting::right::{self, Doubt, Patience};

/// Records the end of every such run among `ids`, after ending what is left of it; returns the
/// living holders of the others, and whether anything was recorded.
///
/// A keeper does this for its own holder; it is left to whoever waits when both were killed.
///
/// # Errors
/// When a session can't be read, or what is left of a run can't be proven dead.
pub(crate) fn see_out(
    store: &Store,
    ids: &[SessionId],
) -> Result<(bool, Vec<ProcessHandle>), Report> {
    let mut has_recorded = false;
    let mut holders = Vec::new();
    for id in ids {
        let session = store.read(*id)?.snapshot.session;
        if session.live_run().is_none() {
            continue;
        }
        if holder_lives(&session) {
            holders.extend(holder_of(&session));
        } else {
            let taken = right::win(store, *id, (Doubt::Refuse, Patience::AfterDeath))?;
            has_recorded |= taken.is_some();
        }
    }
    Ok((has_recorded, holders))
}
