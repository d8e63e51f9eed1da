//! Waiting for a directory to change.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use thiserror::Error;

use crate::os::poll::wait_readable;

/// Why a directory can't be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The user has no instance left, or the process no descriptor.
    #[error(
        "no inotify instance left to watch {}; raise the sysctl fs.inotify.max_user_instances or the limit of open files",
        path.display()
    )]
    TooManyInstances {
        /// The directory.
        path: PathBuf,
    },
    /// The user has no watch left.
    #[error(
        "no inotify watch left for {}; raise the sysctl fs.inotify.max_user_watches",
        path.display()
    )]
    TooManyWatches {
        /// The directory.
        path: PathBuf,
    },
    /// The directory was removed, renamed or unmounted.
    #[error("the watched directory {} is gone", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
    /// It failed at the operating system.
    #[error("can't watch {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// What a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Something changed since the watch was made or the last wait returned. What, is for the
    /// caller to find out: changes are merged.
    Changed,
    /// The time passed first.
    TimedOut,
}

/// A watch on one directory and the files directly in it.
///
/// To miss nothing: make the watch, look, and only then wait; look again after every wait.
#[derive(Debug)]
pub struct DirWatch {
    path: PathBuf,
    inotify: OwnedFd,
}

impl DirWatch {
    /// Starts watching: from now on every change is kept for [`DirWatch::wait`].
    pub fn new(path: &Path) -> Result<Self, WatchError> {
        let path = path.to_owned();
        let inotify = match init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
            Ok(inotify) => inotify,
            Err(Errno::MFILE) => return Err(WatchError::TooManyInstances { path }),
            Err(error) => return Err(WatchError::Io { path, source: error.into() }),
        };
        let changes = WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        match add_watch(&inotify, &path, changes) {
            Ok(_) => Ok(Self { path, inotify }),
            Err(Errno::NOSPC) => Err(WatchError::TooManyWatches { path }),
            Err(error) => Err(WatchError::Io { path, source: error.into() }),
        }
    }

    /// Waits for a change.
    pub fn wait(&self, within: Duration) -> Result<Waited, WatchError> {
        let ready = wait_readable(&[self.inotify.as_fd()], within);
        match ready.map_err(|source| self.failed(source))?.is_empty() {
            true => Ok(Waited::TimedOut),
            false => self.drain().map(|()| Waited::Changed),
        }
    }

    /// Forgets the changes so far; for those who poll the descriptor beside others.
    pub fn drain(&self) -> Result<(), WatchError> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let lost = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
        loop {
            match reader.next() {
                Ok(event) if event.events().intersects(lost) => {
                    return Err(WatchError::Gone { path: self.path.clone() });
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(self.failed(error.into())),
            }
        }
    }

    fn failed(&self, source: io::Error) -> WatchError {
        WatchError::Io { path: self.path.clone(), source }
    }
}

/// A watch on one name: its file and the directory it lies in, and nothing beside it, so that what
/// others do in the same directory wakes nobody.
#[derive(Debug)]
pub struct NameWatch {
    inotify: OwnedFd,
}

impl NameWatch {
    /// Starts watching a file that is there: readable once it, or its directory, may be gone.
    ///
    /// # Errors
    /// When it isn't there, or no watch is left.
    pub fn new(file: &Path) -> Result<Self, WatchError> {
        let path = file.to_owned();
        let failed = |error: Errno| match error {
            Errno::MFILE => WatchError::TooManyInstances { path: path.clone() },
            Errno::NOSPC => WatchError::TooManyWatches { path: path.clone() },
            error => WatchError::Io { path: path.clone(), source: error.into() },
        };
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(failed)?;
        let gone = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        // Taking a name away from a file that is open changes its count of links only.
        add_watch(&inotify, file, gone | WatchFlags::ATTRIB).map_err(failed)?;
        if let Some(dir) = file.parent() {
            add_watch(&inotify, dir, gone | WatchFlags::ONLYDIR).map_err(failed)?;
        }
        Ok(Self { inotify })
    }

    /// Forgets what happened so far.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn drain(&self) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Readable once the name may be gone.
impl AsFd for NameWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

/// Readable while there are changes.
impl AsFd for DirWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

#[cfg(test)]
mod tests;
