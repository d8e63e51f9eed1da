//! The run lease: the right to start and end runs of one session.
//!
//! A `flock` on `<id>/lease`, which is never unlinked. The launcher takes it before `run.started`;
//! holder and keeper inherit the descriptor; it is free once all of them are gone. The text inside
//! is for messages, and never a reason to take the lease.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_record::SessionId;
use creel_sys::fs::{Fs, FsFile, LockMode, OpenHow, write_all_at};
use creel_sys::os_fs::{OsFile, OsFs};
use thiserror::Error;

use crate::file::read_bounded;
use crate::store::Store;

/// Bytes kept of a note.
const MAX_NOTE_BYTES: usize = 512;

/// A lease can't be asked for.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// The store may not be written.
    #[error("the store is read-only: {reason}")]
    ReadOnly {
        /// Why, as a clause.
        reason: String,
    },
    /// It failed at the file system.
    #[error("can't {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl LeaseError {
    fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

/// A held lease. It stays held while any duplicate of its descriptor is open in any process.
#[derive(Debug)]
pub struct Lease {
    file: OsFile,
}

impl Lease {
    /// Takes over a lease that a parent process holds, by its inherited descriptor.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { file: OsFile::from(fd) }
    }

    /// Returns a descriptor to hand on. The lease is held until it is closed, too.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn into_fd(self) -> io::Result<OwnedFd> {
        self.file.as_fd().try_clone_to_owned()
    }

    /// Writes who holds the lease, for messages only; cut to 512 bytes.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn note(&self, text: &str) -> io::Result<()> {
        let len_bytes = text.floor_char_boundary(MAX_NOTE_BYTES);
        self.file.set_len(0)?;
        write_all_at(&self.file, &text.as_bytes()[..len_bytes], 0)
    }
}

impl AsFd for Lease {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Store {
    /// Returns the file that the lease of a session is a lock on.
    pub fn lease_path(&self, id: SessionId) -> PathBuf {
        self.session_dir(id).join("lease")
    }

    /// Takes the lease of a session if it is free; none when another holds it.
    ///
    /// # Errors
    /// When the store is read-only or the file can't be made.
    pub fn lease(&self, id: SessionId) -> Result<Option<Lease>, LeaseError> {
        self.lease_within(id, Duration::ZERO)
    }

    /// Takes the lease of a session, waiting for it until `deadline` passes; none when it did.
    ///
    /// # Errors
    /// As [`Store::lease`].
    pub fn lease_within(
        &self,
        id: SessionId,
        deadline: Duration,
    ) -> Result<Option<Lease>, LeaseError> {
        if let Some(reason) = self.access().denial() {
            return Err(LeaseError::ReadOnly { reason: reason.to_owned() });
        }
        let dir = self.session_dir(id);
        let path = self.lease_path(id);
        loop {
            OsFs.create_dir_all(&dir).map_err(LeaseError::io("create", &dir))?;
            let file =
                OsFs.open_file(&path, OpenHow::Create).map_err(LeaseError::io("open", &path))?;
            if !file.lock(LockMode::Exclusive, deadline).map_err(LeaseError::io("lock", &path))? {
                return Ok(None);
            }
            let held = file.stat().map_err(LeaseError::io("stat", &path))?;
            if OsFs.stat(&path).is_ok_and(|named| named.file_id == held.file_id) {
                return Ok(Some(Lease { file }));
            }
        }
    }

    /// Returns what the last holder of the lease wrote about itself; none when nobody did.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read_lease_note(&self, id: SessionId) -> io::Result<Option<String>> {
        match read_bounded(&OsFs, &self.lease_path(id), MAX_NOTE_BYTES) {
            Ok(bytes) if bytes.is_empty() => Ok(None),
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
