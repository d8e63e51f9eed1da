//! Opening and locking a log. The spool's lock is a `flock` on the log itself.

use std::io;
use std::path::Path;

use creel_record::SessionId;
use creel_sys::Deadline;
use creel_sys::fs::{FsFile, LockMode, OpenHow, Stat};

use crate::error::{ReadError, WriteError};
use crate::store::Store;

/// Why a log carries the mark; what the mark itself can tell.
pub(crate) const MARKED: &str = "its log may not be written by its owner, which marks one that was found damaged or whose failed write could not be undone; `creel heal` repairs it";

/// A log with its lock. Dropping it gives the lock up.
#[derive(Debug)]
pub(crate) struct LockedLog {
    /// The open file.
    pub(crate) file: Box<dyn FsFile>,
    /// Its state once locked.
    pub(crate) stat: Stat,
}

/// A log can't be locked.
#[derive(Debug)]
pub(crate) enum LockError {
    /// There is no log.
    NotFound,
    /// It was held for the whole of the store's lock wait.
    Busy,
    /// The file may not be opened for writing.
    Denied,
    /// It failed at the file system.
    Io(&'static str, io::Error),
}

impl LockError {
    pub(crate) fn into_write(self, store: &Store, id: SessionId) -> WriteError {
        match self {
            Self::NotFound => WriteError::NotFound { id },
            Self::Busy => WriteError::Busy { id, waited: store.lock_wait() },
            Self::Denied => WriteError::ReadOnly { id, reason: denied(store, id) },
            Self::Io(what, source) => WriteError::NotWritten { id, what, source },
        }
    }

    pub(crate) fn into_read(self, store: &Store, id: SessionId) -> ReadError {
        let path = store.log_path(id);
        match self {
            Self::NotFound => ReadError::NotFound { id },
            Self::Busy => ReadError::Busy { id, waited: store.lock_wait() },
            Self::Denied => ReadError::Io { path, source: io::ErrorKind::PermissionDenied.into() },
            Self::Io(_, source) => ReadError::Io { path, source },
        }
    }
}

/// Tells why a log may not be opened for writing: the mark, or whose it is.
fn denied(store: &Store, id: SessionId) -> String {
    match store.fs().stat(&store.log_path(id)) {
        Ok(stat) if stat.is_read_only => MARKED.to_owned(),
        _ => "its log may not be written by this user".to_owned(),
    }
}

/// Locks an existing log to write it. A marked log is refused.
pub(crate) fn lock_to_write(store: &Store, id: SessionId) -> Result<LockedLog, WriteError> {
    let path = store.log_path(id);
    lock(store, &path, LockMode::Exclusive, &|| store.fs().open(&path, OpenHow::ReadWrite))
        .map_err(|error| error.into_write(store, id))
        .and_then(|log| refuse_mark(id, log))
}

/// Locks a log to write its first line; makes the file where there is none.
pub(crate) fn lock_to_create(store: &Store, id: SessionId) -> Result<LockedLog, WriteError> {
    let path = store.log_path(id);
    let open = || match store.fs().open(&path, OpenHow::CreateNew) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            store.fs().open(&path, OpenHow::ReadWrite)
        }
        other => other,
    };
    lock(store, &path, LockMode::Exclusive, &open)
        .map_err(|error| error.into_write(store, id))
        .and_then(|log| refuse_mark(id, log))
}

/// Locks a log against writers, to read it or to replace it.
pub(crate) fn lock_as_it_is(
    store: &Store,
    id: SessionId,
    mode: LockMode,
) -> Result<LockedLog, LockError> {
    let path = store.log_path(id);
    lock(store, &path, mode, &|| store.fs().open(&path, OpenHow::Read))
}

fn refuse_mark(id: SessionId, log: LockedLog) -> Result<LockedLog, WriteError> {
    if log.stat.is_read_only {
        return Err(WriteError::ReadOnly { id, reason: MARKED.to_owned() });
    }
    Ok(log)
}

fn lock(
    store: &Store,
    path: &Path,
    mode: LockMode,
    open: &dyn Fn() -> io::Result<Box<dyn FsFile>>,
) -> Result<LockedLog, LockError> {
    let deadline = Deadline::after(store.lock_wait());
    loop {
        let file = open().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LockError::NotFound,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                LockError::Denied
            }
            _ => LockError::Io("open the log", error),
        })?;
        let failed = |error| LockError::Io("lock the log", error);
        if !file.lock(mode, deadline.remaining()).map_err(failed)? {
            return Err(LockError::Busy);
        }
        let stat = file.stat().map_err(failed)?;
        // Invariant: a lock counts only on the file that has the name now; a heal renames.
        match store.fs().stat(path) {
            Ok(named) if named.file_id == stat.file_id => return Ok(LockedLog { file, stat }),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
}
