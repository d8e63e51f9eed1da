//! The stores this user trusts on this machine: the only ones that are used unasked, or swept.
//!
//! A cloned repository brings its own `.orb/` along, so a store counts as trusted only under the
//! path *and* the directory (device and inode) that a person named.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, os::unix::fs::MetadataExt};

use creel_sys::fs::{Fs, LockMode, OpenHow, write_all_at};
use creel_sys::os_fs::OsFs;
use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::report::{Report, chain};

/// The version of the list that this build writes and reads.
const VERSION: u32 = 1;

/// How long a writer waits for another one; each holds the lock for one small write.
const LOCK_DEADLINE: Duration = Duration::from_secs(10);

/// Bytes of a list that are read: a hundred thousand paths.
const MAX_LIST_BYTES: u64 = 16 * 1024 * 1024;

/// The list, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrustList {
    version: u32,
    stores: Vec<TrustedStore>,
}

/// One trusted store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrustedStore {
    /// The canonical path of its root.
    pub(crate) path: PathBuf,
    device: u64,
    inode: u64,
}

impl TrustedStore {
    /// Reads the identity of the directory at `root`.
    pub(crate) fn of(root: &Path) -> io::Result<Self> {
        let path = root.canonicalize()?;
        let metadata = path.metadata()?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path, device: metadata.dev(), inode: metadata.ino() })
    }

    /// Tells whether the directory that was trusted is still the one at its path.
    pub(crate) fn is_there(&self) -> bool {
        Self::of(&self.path).is_ok_and(|now| now == *self)
    }
}

impl Default for TrustList {
    fn default() -> Self {
        Self { version: VERSION, stores: Vec::new() }
    }
}

impl TrustList {
    /// Reads the list at `path`; a missing one is empty.
    ///
    /// # Errors
    /// When it can't be read, or isn't a list that this build knows.
    pub(crate) fn read(path: &Path) -> Result<Self, Report> {
        let bytes = match read_bounded(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unusable(path, "read", &error)),
        };
        let list: Self =
            serde_json::from_slice(&bytes).map_err(|error| unusable(path, "read", &error))?;
        if list.version != VERSION {
            let message = format!("{} is a list of version {}", path.display(), list.version);
            return Err(Report::new(Code::TrustUnusable, message).next("creel store list"));
        }
        Ok(list)
    }

    /// Returns the trusted stores, in the order of their paths.
    pub(crate) fn stores(&self) -> &[TrustedStore] {
        &self.stores
    }

    /// Tells whether the directory at `root` is one that was trusted.
    pub(crate) fn trusts(&self, root: &Path) -> bool {
        TrustedStore::of(root).is_ok_and(|store| self.stores.contains(&store))
    }

    /// Adds a store to the list at `path`; false when it was there.
    ///
    /// # Errors
    /// When the list can't be read or written; it is then as it was.
    pub(crate) fn add(path: &Path, store: TrustedStore) -> Result<bool, Report> {
        change(path, |stores| {
            if stores.contains(&store) {
                return false;
            }
            stores.retain(|old| old.path != store.path);
            stores.push(store);
            stores.sort_by(|a, b| a.path.cmp(&b.path));
            true
        })
    }

    /// Removes the stores at `root` from the list at `path`; false when there was none.
    ///
    /// # Errors
    /// When the list can't be read or written; it is then as it was.
    pub(crate) fn remove(path: &Path, root: &Path) -> Result<bool, Report> {
        change(path, |stores| {
            let before = stores.len();
            stores.retain(|store| store.path != root);
            stores.len() < before
        })
    }
}

fn change(path: &Path, edit: impl FnOnce(&mut Vec<TrustedStore>) -> bool) -> Result<bool, Report> {
    let fail = |error: io::Error| unusable(path, "write", &error);
    let dir = path.parent().ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?;
    let fs = OsFs;
    fs.create_dir_all(dir).map_err(fail)?;
    let lock = fs.open(&path.with_extension("lock"), OpenHow::Create).map_err(fail)?;
    if !lock.lock(LockMode::Exclusive, LOCK_DEADLINE).map_err(fail)? {
        return Err(fail(io::ErrorKind::TimedOut.into()));
    }
    let mut list = TrustList::read(path)?;
    if !edit(&mut list.stores) {
        return Ok(false);
    }
    let mut bytes = serde_json::to_vec_pretty(&list).map_err(|e| fail(e.into()))?;
    bytes.push(b'\n');
    let fresh = path.with_extension("new");
    // What a writer that was killed left behind; the lock says that nobody writes it now.
    match fs.remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    let file = fs.open(&fresh, OpenHow::CreateNew).map_err(fail)?;
    write_all_at(file.as_ref(), &bytes, 0).map_err(fail)?;
    file.sync_data().map_err(fail)?;
    fs.rename(&fresh, path).map_err(fail)?;
    fs.sync_dir(dir).map_err(fail)?;
    Ok(true)
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_LIST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unusable(path: &Path, verb: &str, error: &dyn std::error::Error) -> Report {
    let message =
        format!("can't {verb} the list of trusted stores {}: {}", path.display(), chain(error));
    Report::new(Code::TrustUnusable, message).next(format!("ls -l {}", path.display()))
}

#[cfg(test)]
mod tests;
