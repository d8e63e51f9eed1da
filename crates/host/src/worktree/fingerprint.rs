//! A cheap look at a repository: when two are equal, a list of its worktrees is still right.
//!
//! Only files are read, a few bytes each; no process is started. What a list shows and a look
//! can't see (a packed branch that moved within one tick of the file system's clock) is found by
//! the reconcile of [`Watcher`](super::Watcher).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::admin::tree_of;
use super::surroundings::{is_absent, is_missing, read_small};

/// Worktrees of one repository that are looked at; with more, each look is a real scan.
const MAX_WORKTREES: usize = 10_000;

/// Bytes of `HEAD`, a ref, or a link at most.
const MAX_FILE_BYTES: u64 = 8192;

/// What a look saw. Take it **before** the scan that it is to vouch for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// None when there is no repository at the path any more.
    repository: Option<Shared>,
    linked: Vec<Linked>,
}

/// What all worktrees share, and the main one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shared {
    packed_refs: Option<Stamp>,
    reftable: Option<Stamp>,
    config: Option<Stamp>,
    head: Head,
}

/// One linked worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Linked {
    name: OsString,
    gitdir: Option<Vec<u8>>,
    locked: Option<Vec<u8>>,
    is_missing: bool,
    head: Head,
}

/// What is checked out: the content of `HEAD`, and of the ref it names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    content: Option<Vec<u8>>,
    tip: Option<Vec<u8>>,
}

/// When a file was written, and how long it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    written_at: (i64, i64),
    len_bytes: u64,
    inode: u64,
}

impl Fingerprint {
    /// Looks at the repository with this common directory; `None` when not all of it can be read,
    /// which vouches for nothing.
    #[must_use]
    pub fn capture(common: &Path) -> Option<Self> {
        Self::try_capture(common).ok()
    }

    /// Tells whether the repository was there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.repository.is_some()
    }

    fn try_capture(common: &Path) -> io::Result<Self> {
        if is_absent(&common.join("HEAD")) {
            return Ok(Self { repository: None, linked: Vec::new() });
        }
        let repository = Some(Shared {
            packed_refs: stamp(&common.join("packed-refs"))?,
            reftable: stamp(&common.join("reftable/tables.list"))?,
            config: stamp(&common.join("config"))?,
            head: Head::read(common, common)?,
        });
        let mut names: Vec<OsString> = match fs::read_dir(common.join("worktrees")) {
            Ok(entries) => {
                entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?
            }
            Err(error) if is_missing(&error) => Vec::new(),
            Err(error) => return Err(error),
        };
        if names.len() > MAX_WORKTREES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        names.sort_unstable();
        let linked =
            names.into_iter().map(|name| Linked::read(common, name)).collect::<io::Result<_>>()?;
        Ok(Self { repository, linked })
    }
}

impl Linked {
    fn read(common: &Path, name: OsString) -> io::Result<Self> {
        let admin = common.join("worktrees").join(&name);
        Ok(Self {
            gitdir: read(&admin.join("gitdir"))?,
            locked: read(&admin.join("locked"))?,
            is_missing: tree_of(&admin)?.is_none_or(|tree| is_absent(&tree)),
            head: Head::read(&admin, common)?,
            name,
        })
    }
}

impl Head {
    fn read(admin: &Path, common: &Path) -> io::Result<Self> {
        let content = read(&admin.join("HEAD"))?;
        let named = content.as_deref().and_then(|text| text.strip_prefix(b"ref: "));
        let tip = match named {
            Some(name) => {
                read(&common.join(PathBuf::from(OsString::from_vec(name.trim_ascii().to_vec()))))?
            }
            None => None,
        };
        Ok(Self { content, tip })
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match read_small(path, MAX_FILE_BYTES) {
        // A branch that became a directory of branches.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(None),
        found => found,
    }
}

fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(Stamp {
            written_at: (found.mtime(), found.mtime_nsec()),
            len_bytes: found.len(),
            inode: found.ino(),
        })),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
