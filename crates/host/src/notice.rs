//! What the supervisor is told.

use std::path::PathBuf;

use creel_record::{RunId, SessionId};
use creel_spool::Changed;

use crate::contact::{Ended, Greeted};

/// Notices that wait to be taken in; who has more waits.
pub(crate) const MAX_NOTICES: usize = 1024;

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Notice {
    /// Sessions of a store changed.
    Changed {
        /// The store.
        root: PathBuf,
        /// What changed.
        changed: Changed,
    },
    /// A store can't be watched any more.
    Unwatched {
        /// The store.
        root: PathBuf,
        /// Why.
        why: String,
    },
    /// Something changed in the state directory, the one above it, or the runtime directory.
    Dirs,
    /// A keeper greeted.
    Greeted {
        /// The run that it was sought for.
        run_id: RunId,
        /// What it says of itself.
        greeted: Greeted,
    },
    /// The line to a keeper ended.
    Ended {
        /// The run.
        run_id: RunId,
        /// How.
        how: Ended,
    },
    /// A run whose keeper is silent may be looked at again.
    Again {
        /// The run.
        run_id: RunId,
    },
    /// What a dead holder left was taken over, or not.
    TakenOver {
        /// The session.
        session_id: SessionId,
        /// The run that was lost.
        run_id: RunId,
        /// Why it failed.
        error: Option<String>,
    },
    /// A client asks the host to end.
    Stop,
}
