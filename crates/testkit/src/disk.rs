//! A written disk model: what a POSIX file system may show after the power went.
//!
//! Everything is in memory and decided by seeds. What the model promises, and what it may do:
//!
//! - The content and length of a file are safe once `sync_data` returned. Of what was written
//!   since, each write, cut into sectors of 512 bytes, is kept, dropped or replaced by zeros on
//!   its own, in any combination; each change of length is kept or dropped. Bytes between what was
//!   kept are zeros.
//! - The entries of a directory are safe once `sync_dir` on it returned. Each creation, renaming
//!   and removal since then is kept or dropped on its own. A file whose entry isn't safe can be
//!   lost with all its synced content; so can a directory with all that is in it.
//! - A renaming is atomic: one of the two names, the old or the new content, never a mixture.
//! - The read-only mark is never safe, as `fdatasync` owes nothing to modes: one that changed
//!   since the last power loss is either of the two.
//! - Locks belong to open files, and are gone with them and with the power.
//!
//! A lost write never harms bytes outside of its own range: sectors are written whole.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use creel_sys::fs::{Fs, FsFile, OpenHow, Stat};

mod directory;
mod file;
mod handle;
mod inode;
mod loss;
mod path;
mod splitmix;

use handle::DiskFile;
use inode::Inodes;
pub use splitmix::SplitMix;

/// The size of what a disk writes whole.
pub const SECTOR_BYTES: u64 = 512;

/// A file system on a model disk. Clones are the same disk, as seen by another process.
#[derive(Clone, Debug, Default)]
pub struct DiskFs {
    inodes: Arc<Mutex<Inodes>>,
}

impl DiskFs {
    /// Returns an empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the disk as it is after the power went now; the seed decides what of the unsynced
    /// was lost. This disk and its open files stay as they are, so that one moment can be lost in
    /// many ways.
    #[must_use]
    pub fn power_loss(&self, seed: u64) -> Self {
        let after = loss::after(&self.inodes(), &mut SplitMix::new(seed));
        Self { inodes: Arc::new(Mutex::new(after)) }
    }

    /// Returns the disk as it is after every process was killed now: nothing written is lost, and
    /// no lock is held. What was unsynced still is.
    #[must_use]
    pub fn crash_processes(&self) -> Self {
        let mut after = self.inodes().clone();
        after.unlock_all();
        Self { inodes: Arc::new(Mutex::new(after)) }
    }

    /// Returns all files with their content, as processes see them now.
    #[must_use]
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.inodes().files()
    }

    fn inodes(&self) -> MutexGuard<'_, Inodes> {
        lock(&self.inodes)
    }
}

impl Fs for DiskFs {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Box<dyn FsFile>> {
        let mut inodes = self.inodes();
        let inode = inodes.open(path, how)?;
        let handle = inodes.next_handle();
        Ok(Box::new(DiskFile::new(Arc::clone(&self.inodes), handle, (inode, how))))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inodes().rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inodes().remove_file(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inodes().create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.inodes().sync_dir(path)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let inodes = self.inodes();
        let inode = inodes.find(path)?;
        Ok(inodes.stat(inode))
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.inodes().read_dir(path)
    }
}

fn lock(inodes: &Mutex<Inodes>) -> MutexGuard<'_, Inodes> {
    inodes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
