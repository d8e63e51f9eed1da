//! Where a worktree of ours comes from: a small file beside git's own about it, never in the tree.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::surroundings::{FileError, read_small, replace};

/// The name of the file in the worktree's directory of the repository.
pub(crate) const FILE: &str = "creel.json";

/// The version that this build writes and reads.
pub(crate) const VERSION: u32 = 1;

/// Bytes of the file at most; a name and a path are its longest parts.
const MAX_BYTES: u64 = 64 * 1024;

/// How a worktree came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Version of the file.
    pub version: u32,
    /// The name it was created under.
    pub name: String,
    /// When, as RFC 3339 in UTC.
    pub created_at: String,
    /// The branch it began on, without `refs/heads/`.
    pub branch: String,
    /// True when the branch was made for it.
    pub branch_is_new: bool,
    /// The commit it began at; none in a repository without commits.
    pub base_commit: Option<String>,
    /// What `--from` named.
    pub from: Option<String>,
    /// The session it was created for.
    pub session_id: Option<String>,
}

impl Provenance {
    /// Reads the file in a worktree's directory of the repository. A missing one is none, and so
    /// is one that a later version wrote or that is damaged: the worktree then counts as another's.
    #[must_use]
    pub fn read(admin: &Path) -> Option<Self> {
        let bytes = read_small(&admin.join(FILE), MAX_BYTES).ok().flatten()?;
        let found: Self = serde_json::from_slice(&bytes).ok()?;
        (found.version == VERSION).then_some(found)
    }

    /// Writes the file.
    pub(crate) fn write(&self, admin: &Path) -> Result<(), FileError> {
        let path = admin.join(FILE);
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|error| FileError {
            what: "write",
            path: path.clone(),
            source: io::Error::from(error),
        })?;
        bytes.push(b'\n');
        replace(&path, &bytes)
    }
}
