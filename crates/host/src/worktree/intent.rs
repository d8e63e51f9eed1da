//! What a creation is about to do, kept until it is done: whoever comes after a killed one knows
//! which branch and which directory are its own.

use std::io;
use std::path::{Path, PathBuf};

use creel_sys::fs::Fs;
use creel_sys::os_fs::OsFs;
use serde::{Deserialize, Serialize};

use super::admin::pointed_to;
use super::provenance::Provenance;
use super::surroundings::{FileError, is_free, read_small, remove_if_any, replace};

/// Bytes of the file at most, as for the provenance in it.
const MAX_BYTES: u64 = 64 * 1024;

/// A creation that began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Intent {
    /// Where the worktree is to be.
    pub(crate) path: PathBuf,
    /// What is to be recorded of it.
    pub(crate) provenance: Provenance,
}

impl Intent {
    /// Reads what a killed creation of `name` left; none is the usual case.
    pub(crate) fn read(common: &Path, name: &str) -> Result<Option<Self>, FileError> {
        let path = file(common, name);
        let fail = |source| FileError { what: "read", path: path.clone(), source };
        let Some(bytes) = read_small(&path, MAX_BYTES).map_err(fail)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| fail(io::Error::from(error)))
    }

    /// Removes what a killed git left in the directory: its link, and only when nothing else is
    /// there. False when something is.
    pub(crate) fn clear_husk(&self, common: &Path) -> Result<bool, FileError> {
        let path = &self.path;
        if is_free(path)? {
            return Ok(true);
        }
        let fail = |source| FileError { what: "read", path: path.clone(), source };
        let is_ours = pointed_to(path).map_err(fail)?.is_some_and(|to| to.starts_with(common));
        if !is_ours || OsFs.read_dir(path).map_err(fail)? != [".git"] {
            return Ok(false);
        }
        std::fs::remove_file(path.join(".git")).map_err(FileError::on("remove", path))?;
        Ok(true)
    }

    /// Writes it, durably.
    pub(crate) fn write(&self, common: &Path) -> Result<(), FileError> {
        let path = file(common, &self.provenance.name);
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| FileError {
            what: "write",
            path: path.clone(),
            source: io::Error::from(error),
        })?;
        replace(&path, &bytes)
    }

    /// Forgets it: the creation is done, or undone.
    pub(crate) fn clear(common: &Path, name: &str) -> Result<(), FileError> {
        let path = file(common, name);
        let clear = || {
            remove_if_any(&path)?;
            match path.parent().filter(|dir| dir.exists()) {
                Some(dir) => OsFs.sync_dir(dir),
                None => Ok(()),
            }
        };
        clear().map_err(FileError::on("remove", &path))
    }
}

fn file(common: &Path, name: &str) -> PathBuf {
    common.join("creel/creating").join(format!("{name}.json"))
}
