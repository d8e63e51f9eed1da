//! What can fail, by what a caller can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_record::SessionId;
use creel_record::snapshot::SnapshotError;
use thiserror::Error;

use crate::damage::Damage;

/// A store can't be opened or created.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is none.
    #[error("no store at {}", root.display())]
    Missing {
        /// The orb root.
        root: PathBuf,
    },
    /// The root is something else than a directory.
    #[error("{} is not a directory", root.display())]
    NotADirectory {
        /// The orb root.
        root: PathBuf,
    },
    /// The manifest names another kind of store.
    #[error("{} holds a store of kind '{kind}'", root.display())]
    Foreign {
        /// The orb root.
        root: PathBuf,
        /// The kind found.
        kind: String,
    },
    /// The manifest is no manifest.
    #[error("{} is not a manifest", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// It failed at the file system.
    #[error("can't {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which path.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

/// A text names no session, or several.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// It is neither an id nor the beginning of one.
    #[error("'{text}' is neither a session id nor at least 4 characters of one")]
    Malformed {
        /// The text, cut to 64 characters.
        text: String,
    },
    /// No session has it.
    #[error("no session '{text}' in this store")]
    NotFound {
        /// The text.
        text: String,
    },
    /// Several have it.
    #[error("'{text}' could be any of {} sessions", candidates.len())]
    Ambiguous {
        /// The text.
        text: String,
        /// Them, in order.
        candidates: Vec<SessionId>,
    },
    /// The directory can't be read.
    #[error("can't look up sessions in {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// A session can't be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// There is no such session.
    #[error("no session {id} in this store")]
    NotFound {
        /// The session.
        id: SessionId,
    },
    /// It was never published, or its snapshot was lost.
    #[error("session {id} has no snapshot; `creel rebuild-session-snapshots {id}` makes it")]
    NoSnapshot {
        /// The session.
        id: SessionId,
    },
    /// The snapshot can't be used.
    #[error("the snapshot of {id} is invalid; `creel rebuild-session-snapshots {id}` remakes it")]
    BadSnapshot {
        /// The session.
        id: SessionId,
        /// Why.
        source: SnapshotError,
    },
    /// The run index does not fit the snapshot.
    #[error("the run index of {id} is stale; `creel rebuild-session-snapshots {id}` remakes it")]
    StaleIndex {
        /// The session.
        id: SessionId,
    },
    /// No run has that number.
    #[error("session {id} has no run {number}")]
    NoRun {
        /// The session.
        id: SessionId,
        /// The number.
        number: u64,
    },
    /// The log is damaged where it was read.
    #[error("the log of {id} is damaged ({damage}); `creel verify {id}` tells more")]
    Damaged {
        /// The session.
        id: SessionId,
        /// How.
        damage: Damage,
    },
    /// The lock was held for too long.
    #[error("session {id} was locked by a writer for {} ms", waited.as_millis())]
    Busy {
        /// The session.
        id: SessionId,
        /// How long it was waited for.
        waited: Duration,
    },
    /// It failed at the file system.
    #[error("can't read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl ReadError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// A mutation did not happen, or may not have.
#[derive(Debug, Error)]
pub enum WriteError {
    /// There is no such session; nothing was changed.
    #[error("no session {id} in this store")]
    NotFound {
        /// The session.
        id: SessionId,
    },
    /// The session is already there; nothing was changed.
    #[error("session {id} exists")]
    Exists {
        /// The session.
        id: SessionId,
    },
    /// The store or the log may not be written; nothing was changed.
    #[error("session {id} is read-only: {reason}")]
    ReadOnly {
        /// The session.
        id: SessionId,
        /// Why, as a clause.
        reason: String,
    },
    /// The log is damaged, and read-only until it is healed; nothing was changed.
    #[error("the log of {id} is damaged ({damage}) and read-only until `creel heal {id}`")]
    Damaged {
        /// The session.
        id: SessionId,
        /// How.
        damage: Damage,
    },
    /// Another writer held the lock for too long; nothing was changed.
    #[error("session {id} was locked by another writer for {} ms", waited.as_millis())]
    Busy {
        /// The session.
        id: SessionId,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The event is not in the log, and never will be.
    #[error("not written to the log of {id}: can't {what}")]
    NotWritten {
        /// The session.
        id: SessionId,
        /// What failed.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The event may or may not be in the log.
    #[error("unknown whether the log of {id} was written: can't {what}, nor undo it")]
    Unknown {
        /// The session.
        id: SessionId,
        /// What failed.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// A transaction did not happen.
#[derive(Debug, Error)]
pub enum TransactError<E> {
    /// The caller's rule refused it; nothing was changed.
    #[error(transparent)]
    Refused(E),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
