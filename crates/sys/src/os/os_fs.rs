//! The real file system.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::Deadline;
use crate::fs::{FileId, Fs, FsFile, LockMode, OpenHow, Stat};
use crate::os::lock_wait::{LockWait, flock_at_once};

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsFs;

impl OsFs {
    /// Opens `path` as [`Fs::open`] does, keeping the type, so that its descriptor can be handed
    /// to a child.
    pub fn open_file(&self, path: &Path, how: OpenHow) -> io::Result<OsFile> {
        // A FIFO or a terminal left at the path must neither block the open nor become the
        // controlling terminal; for a regular file both flags mean nothing.
        let flags = OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let flags = flags
            | match how {
                OpenHow::Read => OFlags::RDONLY,
                OpenHow::ReadWrite => OFlags::RDWR,
                OpenHow::Create => OFlags::RDWR | OFlags::CREATE,
                OpenHow::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
                OpenHow::Append => OFlags::RDWR | OFlags::CREATE | OFlags::APPEND,
            };
        let fd = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        let offset = if how == OpenHow::Append { WriteOffset::End } else { WriteOffset::Given };
        Ok(OsFile { fd, offset, waiting: Mutex::new(None) })
    }
}

impl Fs for OsFs {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Box<dyn FsFile>> {
        Ok(Box::new(self.open_file(path, how)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(rustix::fs::fsync(dir)?)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(to_stat(&rustix::fs::stat(path)?))
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteOffset {
    Given,
    End,
}

/// An open file. Its `flock` belongs to the open file description, and so to every duplicate of
/// the descriptor, inherited ones included.
///
/// A wait for a lock that was given up may leave a thread waiting in the kernel. A later wait in
/// the same mode takes it over; until it ended, the lock can't be had in the other mode.
#[derive(Debug)]
pub struct OsFile {
    fd: OwnedFd,
    offset: WriteOffset,
    waiting: Mutex<Option<Arc<LockWait>>>,
}

/// Takes over an inherited descriptor, e.g. of a lease that a parent locked.
impl From<OwnedFd> for OsFile {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, offset: WriteOffset::Given, waiting: Mutex::new(None) }
    }
}

impl AsFd for OsFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl FsFile for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(rustix::io::pread(&self.fd, buf, offset)?)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        Ok(match self.offset {
            WriteOffset::Given => rustix::io::pwrite(&self.fd, buf, offset)?,
            WriteOffset::End => rustix::io::write(&self.fd, buf)?,
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(&self.fd)?)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::ftruncate(&self.fd, len_bytes)?)
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(to_stat(&rustix::fs::fstat(&self.fd)?))
    }

    fn set_read_only(&self, read_only: bool) -> io::Result<()> {
        let mode = if read_only { Mode::RUSR } else { Mode::RUSR | Mode::WUSR };
        Ok(rustix::fs::fchmod(&self.fd, mode)?)
    }

    fn try_lock(&self, mode: LockMode) -> io::Result<bool> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait) = waiting.as_ref().filter(|wait| !wait.is_ended()) {
            if wait.mode() != mode {
                return Ok(false);
            }
            if let Some(taken) = wait.adopt(self.fd.as_fd())? {
                return Ok(taken);
            }
        }
        *waiting = None;
        flock_at_once(self.fd.as_fd(), mode)
    }

    fn lock(&self, mode: LockMode, deadline: Duration) -> io::Result<bool> {
        let deadline = Deadline::after(deadline);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait) = waiting.as_ref() {
            if wait.mode() == mode && wait.resume() {
                return wait.wait(deadline);
            }
            if !wait.wait_done(deadline) {
                return Ok(false);
            }
        }
        *waiting = None;
        if flock_at_once(self.fd.as_fd(), mode)? {
            return Ok(true);
        }
        if deadline.is_past() {
            return Ok(false);
        }
        let wait = LockWait::start(self.fd.try_clone()?, mode)?;
        waiting.insert(wait).wait(deadline)
    }
}

fn to_stat(stat: &rustix::fs::Stat) -> Stat {
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    Stat {
        len_bytes: u64::try_from(stat.st_size).unwrap_or(0),
        file_id: FileId { device: stat.st_dev, inode: stat.st_ino },
        is_dir: kind.is_dir(),
        is_file: kind.is_file(),
        is_read_only: !Mode::from_raw_mode(stat.st_mode).contains(Mode::WUSR),
    }
}

#[cfg(test)]
mod tests;
