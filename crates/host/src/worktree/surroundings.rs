//! Small files of our own and of git's: read within bounds, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use creel_sys::fs::{Fs, OpenHow, write_all_at};
use creel_sys::os_fs::OsFs;

/// A file or directory that could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[error("can't {what} {}", path.display())]
pub struct FileError {
    /// What was attempted.
    pub what: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// Why it failed.
    #[source]
    pub source: io::Error,
}

impl FileError {
    /// Returns a function that turns an error of the system into one of this path.
    pub(crate) fn on(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { what, path, source }
    }
}

/// Reads a file of at most `max_bytes`; `None` when it is missing.
pub(crate) fn read_small(path: &Path, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(bytes))
}

/// Replaces a file by `bytes`, durably.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let write = || {
        let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        OsFs.create_dir_all(dir)?;
        let fresh = path.with_extension("new");
        remove_if_any(&fresh)?;
        let file = OsFs.open(&fresh, OpenHow::CreateNew)?;
        write_all_at(file.as_ref(), bytes, 0)?;
        file.sync_data()?;
        OsFs.rename(&fresh, path)?;
        OsFs.sync_dir(dir)
    };
    write().map_err(FileError::on("write", path))
}

/// Removes a file, which may be missing.
pub(crate) fn remove_if_any(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if !is_missing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Tells whether nothing is at a path, as far as a link at its end goes.
pub(crate) fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_missing(&error))
}

/// Tells whether an error means that nothing is there.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Tells whether a directory could be made at a path: nothing is there, or an empty one is.
pub(crate) fn is_free(path: &Path) -> Result<bool, FileError> {
    match fs::symlink_metadata(path) {
        Err(error) if is_missing(&error) => Ok(true),
        Ok(found) if found.is_dir() => {
            let mut entries = fs::read_dir(path).map_err(FileError::on("read", path))?;
            Ok(entries.next().is_none())
        }
        _ => Ok(false),
    }
}
