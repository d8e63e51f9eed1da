//! All worktrees of a repository, ours and others'.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::admin::{admins, tree_of};
use super::changes::{Changes, Submodules};
use super::provenance::Provenance;
use super::repo::Repo;
use super::surroundings::is_absent;
use crate::git::GitError;

/// One worktree of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is, as git recorded it.
    pub path: PathBuf,
    /// The directory in which git keeps what is its alone.
    pub admin: PathBuf,
    /// True for the one that the repository came with (a bare repository's own entry included).
    pub is_main: bool,
    /// True when it is the entry of a bare repository, which has no files.
    pub is_bare: bool,
    /// The commit that is checked out; none before the first one.
    pub head: Option<String>,
    /// The branch that is checked out, without `refs/heads/`; none when detached.
    pub branch: Option<String>,
    /// Why it is locked; empty when no reason was given.
    pub locked: Option<String>,
    /// Why git would forget it.
    pub prunable: Option<String>,
    /// True when nothing is at its path.
    pub is_missing: bool,
    /// How it came to be, when it is ours.
    pub provenance: Option<Provenance>,
}

impl Worktree {
    /// Returns what it is called: its own name when it is ours, else what git calls it, else its
    /// directory.
    #[must_use]
    pub fn name(&self) -> String {
        if let Some(provenance) = &self.provenance {
            return provenance.name.clone();
        }
        let named = if self.is_main { &self.path } else { &self.admin };
        named.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Removes what git knows of a worktree whose creation was never finished.
    pub(crate) fn forget_unfinished(&self) -> io::Result<()> {
        // Only ever the directory about this very path.
        let is_its_own = tree_of(&self.admin)?.as_ref() == Some(&self.path);
        if is_its_own && !self.is_main { std::fs::remove_dir_all(&self.admin) } else { Ok(()) }
    }
}

/// Returns all worktrees of a repository, the main one first, with one git process.
///
/// # Errors
/// When git can't tell them.
pub fn list(repo: &Repo) -> Result<Vec<Worktree>, GitError> {
    let admins = admins(repo.common()).map_err(|source| GitError::Io {
        what: "read the files of",
        verb: "worktree".to_owned(),
        source,
    })?;
    let mut found: Vec<Worktree> = Vec::new();
    let mut open: Option<Worktree> = None;
    let args = ["worktree", "list", "--porcelain", "-z"];
    repo.git().read(repo.common(), args).records(|record| {
        if record.is_empty() {
            found.extend(open.take());
            return;
        }
        let (key, value) = match record.iter().position(|byte| *byte == b' ') {
            Some(at) => (&record[..at], &record[at + 1..]),
            None => (record, &[][..]),
        };
        if key == b"worktree" {
            let path = PathBuf::from(OsString::from_vec(value.to_vec()));
            let admin = admins.get(&path);
            let is_main = found.is_empty();
            open = Some(Worktree {
                is_main,
                is_bare: false,
                head: None,
                branch: None,
                locked: None,
                prunable: None,
                is_missing: is_absent(&path),
                provenance: admin.and_then(|admin| Provenance::read(admin)),
                admin: admin.cloned().unwrap_or_else(|| repo.common().to_owned()),
                path,
            });
            return;
        }
        let Some(worktree) = &mut open else { return };
        let text = String::from_utf8_lossy(value).into_owned();
        match key {
            b"HEAD" => worktree.head = Some(text).filter(|oid| oid.bytes().any(|b| b != b'0')),
            b"branch" => {
                let short = text.strip_prefix("refs/heads/").unwrap_or(&text);
                worktree.branch = Some(short.to_owned());
            }
            b"bare" => worktree.is_bare = true,
            b"locked" => worktree.locked = Some(text),
            b"prunable" => worktree.prunable = Some(text),
            _ => {}
        }
    })?;
    found.extend(open);
    Ok(found)
}

/// Finds the worktree that a person means: by its name, by what git calls it, or by its path.
#[must_use]
pub fn resolve<'w>(worktrees: &'w [Worktree], typed: &str, cwd: &Path) -> Option<&'w Worktree> {
    let ours = worktrees.iter().find(|w| w.provenance.as_ref().is_some_and(|p| p.name == typed));
    let called = || worktrees.iter().find(|w| !w.is_main && w.name() == typed);
    let placed = || {
        let path = cwd.join(typed);
        let path = path.canonicalize().unwrap_or(path);
        worktrees.iter().find(|w| w.path == path)
    };
    let main = || worktrees.iter().find(|w| w.is_main && w.name() == typed);
    ours.or_else(called).or_else(placed).or_else(main)
}

/// Returns what is not committed in a worktree; `None` where there are no files.
///
/// # Errors
/// When git can't tell.
pub fn dirty(repo: &Repo, worktree: &Worktree) -> Result<Option<Changes>, GitError> {
    if worktree.is_bare || worktree.is_missing {
        return Ok(None);
    }
    Changes::read(repo.git(), (&worktree.admin, &worktree.path), Submodules::Asked).map(Some)
}

/// Turns an error of the system into one of git's, for what is read without it.
pub(crate) fn unread(source: io::Error) -> GitError {
    GitError::Io { what: "read the files of", verb: "worktree".to_owned(), source }
}
