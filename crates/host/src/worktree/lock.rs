//! One change of a repository's worktrees at a time.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use creel_sys::fs::{Fs, FsFile, LockMode, OpenHow};
use creel_sys::os_fs::{OsFile, OsFs};

use super::surroundings::FileError;

/// How long a change waits for another one; a removal of a large tree takes minutes.
const LOCK_WAIT: Duration = Duration::from_secs(5 * 60);

/// The lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another change goes on.
    #[error("another change of the worktrees of {} goes on", common.display())]
    Busy {
        /// The repository.
        common: PathBuf,
    },
    /// The file can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The right to change a repository's worktrees. The git processes that change something hold it
/// too, so that it is not free before the last of a killed caller's has ended.
#[derive(Debug)]
pub(crate) struct RepoLock {
    _file: OsFile,
    shared: Arc<OwnedFd>,
}

impl RepoLock {
    /// Waits for the lock.
    pub(crate) fn take(common: &Path) -> Result<Self, LockError> {
        let dir = common.join("creel");
        let path = dir.join("lock");
        let fail = |source| FileError { what: "lock", path: path.clone(), source };
        OsFs.create_dir_all(&dir).map_err(fail)?;
        let file = OsFs.open_file(&path, OpenHow::Create).map_err(fail)?;
        if !file.lock(LockMode::Exclusive, LOCK_WAIT).map_err(fail)? {
            return Err(LockError::Busy { common: common.to_owned() });
        }
        let shared = file.as_fd().try_clone_to_owned().map_err(fail)?;
        Ok(Self { _file: file, shared: Arc::new(shared) })
    }

    /// Returns the descriptor that git processes are to hold.
    pub(crate) fn shared(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.shared)
    }
}
