//! What a removal leaves behind: a ref under which all of a worktree's work can be had back.
//!
//! A rescue is a commit whose tree is the files as they were, untracked ones included. Its parents
//! are the commit that was checked out, and one that holds the rest: the index, the sides of
//! conflicts, git's own files about a merge or rebase under way, and as its parents the commits
//! that only the worktree knew of. Files are stored byte by byte, without any filter.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::create::CreateError;
use super::lock::LockError;
use super::repo::Repo;
use super::surroundings::FileError;
use crate::git::GitError;

mod contents;
mod restore;
mod save;

pub use contents::{Content, contents};
pub use restore::{Restored, restore};
pub(crate) use save::{Saved, Subject, save, still_as_saved};

/// Where rescues are.
pub(crate) const PREFIX: &str = "refs/creel/rescue/";

/// The version of the description that this build writes and reads.
pub(crate) const VERSION: u32 = 1;

/// The first line of a rescue's message.
const SUBJECT: &str = "creel rescue of worktree";

/// Paths that a description names of each kind; more are only counted.
const MAX_NAMED: usize = 100;

/// What a rescue says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RescueMeta {
    /// Version of the description.
    pub version: u32,
    /// The worktree's name.
    pub name: String,
    /// Where it was.
    pub path: String,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The commit that was checked out.
    pub head: Option<String>,
    /// When, as RFC 3339 in UTC.
    pub at: String,
    /// The session it was created for.
    pub session_id: Option<String>,
    /// Staged files.
    pub staged_count: usize,
    /// Tracked files that differed from the index.
    pub unstaged_count: usize,
    /// Files that git didn't know.
    pub untracked_count: usize,
    /// Ignored files that were saved.
    pub ignored_count: usize,
    /// Files in conflict.
    pub conflict_count: usize,
    /// Commits that no remote and no other branch had.
    pub unpushed_count: usize,
    /// Commits that only the worktree's own history of `HEAD` knew of.
    pub left_behind_count: usize,
    /// What was under way: `merge`, `rebase`, `cherry-pick`, `revert` or `bisect`.
    pub operation: Option<String>,
    /// Submodules whose files were there.
    pub submodules: Vec<String>,
    /// What was not saved, and why.
    pub left_out: Vec<LeftOut>,
}

/// Something that a rescue doesn't hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Its path below the worktree's top.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl LeftOut {
    pub(crate) fn new(path: &[u8], reason: &str) -> Self {
        Self { path: String::from_utf8_lossy(path).into_owned(), reason: reason.to_owned() }
    }
}

/// One rescue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// `NAME/TIME`, the end of its ref.
    pub id: String,
    /// The ref.
    pub reference: String,
    /// The commit.
    pub commit: String,
    /// What it says about itself; none when another version wrote it.
    pub meta: Option<RescueMeta>,
}

/// Why work could not be saved, found or given back.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    /// Files changed while they were saved, each time.
    #[error("files in {} keep changing while they are saved", path.display())]
    KeepsChanging {
        /// The worktree.
        path: PathBuf,
    },
    /// What was saved could not be read back.
    #[error("the rescue {reference} doesn't hold {what}")]
    NotHeld {
        /// The ref.
        reference: String,
        /// What is missing or different.
        what: String,
    },
    /// No rescue is called so.
    #[error("no rescue is called '{typed}'")]
    Unknown {
        /// What was typed.
        typed: String,
    },
    /// Several are.
    #[error("'{typed}' could be {}", candidates.join(", "))]
    Ambiguous {
        /// What was typed.
        typed: String,
        /// Their ids.
        candidates: Vec<String>,
    },
    /// Another version of Creel made it, or none did.
    #[error("the rescue {id} was made by another version")]
    Foreign {
        /// Its id.
        id: String,
    },
    /// The object in it can't be a file of a worktree.
    #[error("the rescue {id} holds a path that no worktree has: {path}")]
    BadPath {
        /// Its id.
        id: String,
        /// The path.
        path: String,
    },
    /// The worktree to put it into could not be made.
    #[error(transparent)]
    Create(#[from] Box<CreateError>),
    /// Another change goes on.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Returns every rescue of a repository, in the order of their ids.
///
/// # Errors
/// When git can't tell them.
pub fn list_rescues(repo: &Repo) -> Result<Vec<Rescue>, GitError> {
    let mut fields: Vec<String> = Vec::new();
    let format = "--format=%(refname)%00%(objectname)%00%(contents:body)%00";
    let args = ["for-each-ref", format, PREFIX];
    repo.git().read(repo.common(), args).records(|record| {
        fields.push(String::from_utf8_lossy(record).into_owned());
    })?;
    let rescues = fields.chunks_exact(3).map(|fields| {
        let reference = fields[0].trim_start_matches('\n').to_owned();
        Rescue {
            id: reference.strip_prefix(PREFIX).unwrap_or(&reference).to_owned(),
            commit: fields[1].clone(),
            meta: parse(&fields[2]),
            reference,
        }
    });
    Ok(rescues.collect())
}

/// Finds the rescue that a person means: by its id or ref, or by the worktree's name when it has
/// one only.
///
/// # Errors
/// When there is none, or there are several.
pub fn find_rescue(repo: &Repo, typed: &str) -> Result<Rescue, RescueError> {
    let rescues = list_rescues(repo)?;
    if let Some(found) = rescues.iter().find(|r| r.id == typed || r.reference == typed) {
        return Ok(found.clone());
    }
    let of_name: Vec<&Rescue> = rescues
        .iter()
        .filter(|rescue| rescue.id.rsplit_once('/').is_some_and(|(name, _)| name == typed))
        .collect();
    match of_name.as_slice() {
        [] => Err(RescueError::Unknown { typed: typed.to_owned() }),
        [only] => Ok((*only).clone()),
        several => Err(RescueError::Ambiguous {
            typed: typed.to_owned(),
            candidates: several.iter().map(|rescue| rescue.id.clone()).collect(),
        }),
    }
}

/// Forgets a rescue, if it still is what was shown. Its objects stay until git collects them.
///
/// # Errors
/// When git fails.
pub fn drop_rescue(repo: &Repo, rescue: &Rescue) -> Result<(), RescueError> {
    let (_lock, git) = repo.lock()?;
    let args = ["update-ref", "-d", &rescue.reference, &rescue.commit];
    git.write(repo.common(), args).run()?;
    Ok(())
}

fn message(meta: &RescueMeta) -> Result<String, RescueError> {
    let json = serde_json::to_string(meta).map_err(|error| FileError {
        what: "describe",
        path: meta.path.clone().into(),
        source: io::Error::from(error),
    })?;
    Ok(format!("{SUBJECT} {}\n\n{json}\n", meta.name))
}

fn parse(body: &str) -> Option<RescueMeta> {
    let meta: RescueMeta = serde_json::from_str(body.trim()).ok()?;
    (meta.version == VERSION).then_some(meta)
}
