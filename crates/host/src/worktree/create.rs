//! Making a worktree: the same order twice makes one, and one that was cut short is finished.

use std::path::{Path, PathBuf};

use creel_record::{SessionId, Timestamp};
use creel_sys::fs::Fs;
use creel_sys::os_fs::OsFs;

use super::intent::Intent;
use super::listing::{Worktree, list};
use super::lock::LockError;
use super::name::Name;
use super::provenance::{Provenance, VERSION};
use super::repo::Repo;
use super::surroundings::{FileError, is_free, remove_if_any};
use crate::git::{Git, GitError, Patience};

/// What git writes as the reason of the lock while it makes a worktree.
const INITIALIZING: &str = "initializing";

/// What is to be made.
#[derive(Clone, Debug)]
pub struct Order {
    /// What it is to be called.
    pub name: Name,
    /// Where; below the home of the repository's worktrees when nothing is said.
    pub at: Option<PathBuf>,
    /// On which branch; one of the worktree's own name when nothing is said.
    pub branch: Option<String>,
    /// From which commit a new branch begins; the commit checked out at `here` when nothing is
    /// said.
    pub from: Option<String>,
    /// The session it is for.
    pub session: Option<SessionId>,
    /// Creel's data directory.
    pub data: PathBuf,
    /// Where the caller stands in the repository.
    pub here: PathBuf,
    /// The time that is recorded.
    pub now: Timestamp,
}

/// What was made, or was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The worktree.
    pub worktree: Worktree,
    /// True when an earlier call had made it.
    pub already: bool,
}

/// Why nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// One of this name was made with other arguments.
    #[error("worktree '{name}' exists with another {what}: {is}")]
    Exists {
        /// The name.
        name: String,
        /// What differs.
        what: &'static str,
        /// What it is there.
        is: String,
    },
    /// One of this name is known, and its directory is gone.
    #[error("worktree '{name}' is known, but its directory {} is gone", path.display())]
    Gone {
        /// The name.
        name: String,
        /// Where it was.
        path: PathBuf,
    },
    /// Something is at the path.
    #[error("{} is taken", path.display())]
    PathTaken {
        /// The path.
        path: PathBuf,
    },
    /// The branch is there and was not asked for by its name, or is to begin somewhere.
    #[error("branch '{branch}' exists")]
    BranchTaken {
        /// The branch.
        branch: String,
    },
    /// The branch is checked out elsewhere.
    #[error("branch '{branch}' is checked out in {}", path.display())]
    BranchInUse {
        /// The branch.
        branch: String,
        /// Where.
        path: PathBuf,
    },
    /// The text names no branch.
    #[error("'{branch}' can't name a branch")]
    BranchName {
        /// The text.
        branch: String,
    },
    /// The text names no commit.
    #[error("'{from}' names no commit")]
    UnknownCommit {
        /// The text.
        from: String,
    },
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

/// Makes a worktree on a branch; answers with the one that is there when an earlier call with the
/// same order made it.
///
/// Killed at any point, the next call with the same order finishes; nothing that was there before
/// is changed at any point.
///
/// # Errors
/// When something else is in its place, or git fails.
pub fn create(repo: &Repo, order: &Order) -> Result<Created, CreateError> {
    let (_lock, git) = repo.lock()?;
    let path = place(repo, order)?;
    let intent = Intent::read(repo.common(), order.name.as_str())?;
    let worktrees = list(repo)?;
    let known = worktrees.iter().find(|worktree| {
        worktree.provenance.as_ref().is_some_and(|p| p.name == order.name.as_str())
    });
    if let (Some(worktree), None) = (known, &intent) {
        return answer(order, &path, worktree);
    }
    let intent = match intent {
        Some(intent) => {
            same_order(order, &path, &intent.path, &intent.provenance)?;
            intent
        }
        None => {
            let intent = Intent { provenance: plan(repo, order, (&path, &worktrees))?, path };
            intent.write(repo.common())?;
            intent
        }
    };
    make(repo, &git, &intent)?;
    Intent::clear(repo.common(), order.name.as_str())?;
    let made = list(repo)?.into_iter().find(|worktree| worktree.path == intent.path);
    let worktree =
        made.ok_or(CreateError::Gone { name: order.name.to_string(), path: intent.path })?;
    Ok(Created { worktree, already: false })
}

/// Returns where the worktree is to be, with the directories above it made.
fn place(repo: &Repo, order: &Order) -> Result<PathBuf, CreateError> {
    let path = match &order.at {
        Some(at) => std::path::absolute(order.here.join(at)).map_err(FileError::on("find", at))?,
        None => repo.home(&order.data).join(order.name.as_str()),
    };
    let taken = || CreateError::PathTaken { path: path.clone() };
    let (above, own) = path.parent().zip(path.file_name()).ok_or_else(taken)?;
    OsFs.create_dir_all(above).map_err(FileError::on("make", above))?;
    // As git records it, so that both are compared as they are.
    let above = above.canonicalize().map_err(FileError::on("find", above))?;
    Ok(above.join(own))
}

/// Answers with a worktree that is there, if it is what the order asks for.
fn answer(order: &Order, path: &Path, worktree: &Worktree) -> Result<Created, CreateError> {
    let provenance = worktree.provenance.as_ref().expect("it was found by it");
    let path = if order.at.is_some() { path } else { &worktree.path };
    same_order(order, path, &worktree.path, provenance)?;
    if worktree.is_missing {
        let name = order.name.to_string();
        return Err(CreateError::Gone { name, path: worktree.path.clone() });
    }
    Ok(Created { worktree: worktree.clone(), already: true })
}

/// Refuses an order under a name that stands for another one.
fn same_order(
    order: &Order,
    path: &Path,
    is_at: &Path,
    provenance: &Provenance,
) -> Result<(), CreateError> {
    let other = |what, is: &str| {
        Err(CreateError::Exists { name: order.name.to_string(), what, is: is.to_owned() })
    };
    if path != is_at {
        return other("path", &is_at.display().to_string());
    }
    if branch_of(order) != provenance.branch {
        return other("branch", &provenance.branch);
    }
    match &order.from {
        Some(_) if order.from != provenance.from => {
            other("beginning", provenance.from.as_deref().unwrap_or("the commit checked out then"))
        }
        _ => Ok(()),
    }
}

fn branch_of(order: &Order) -> &str {
    order.branch.as_deref().unwrap_or(order.name.as_str())
}

/// Checks that nothing is in the way, and settles what is to be made.
fn plan(
    repo: &Repo,
    order: &Order,
    (path, worktrees): (&Path, &[Worktree]),
) -> Result<Provenance, CreateError> {
    let is_known = worktrees.iter().any(|worktree| worktree.path == path);
    if is_known || !is_free(path)? {
        return Err(CreateError::PathTaken { path: path.to_owned() });
    }
    let branch = branch_of(order).to_owned();
    let full = format!("refs/heads/{branch}");
    let checked = repo.git().read(repo.common(), ["check-ref-format", "--branch"]).args([&branch]);
    match checked.line() {
        // `--branch` also reads `@{-1}` and the like, which are names of other branches.
        Ok(read) if read == branch && !branch.starts_with('-') => {}
        Err(error) if !error.is_refusal() => return Err(error.into()),
        _ => return Err(CreateError::BranchName { branch }),
    }
    let there = repo.tip(&full)?;
    if there.is_some() && (order.branch.is_none() || order.from.is_some()) {
        return Err(CreateError::BranchTaken { branch });
    }
    if let Some(user) = worktrees.iter().find(|w| w.branch.as_ref() == Some(&branch)) {
        return Err(CreateError::BranchInUse { branch, path: user.path.clone() });
    }
    let base_commit = match (&there, &order.from) {
        (Some(tip), _) => Some(tip.clone()),
        (None, Some(from)) => {
            let unknown = || CreateError::UnknownCommit { from: from.clone() };
            Some(repo.commit(from)?.ok_or_else(unknown)?)
        }
        // A repository without a commit gets a branch without one.
        (None, None) => head(repo, &order.here)?,
    };
    Ok(Provenance {
        version: VERSION,
        name: order.name.to_string(),
        created_at: order.now.to_string(),
        branch,
        branch_is_new: there.is_none(),
        base_commit,
        from: order.from.clone(),
        session_id: order.session.map(|id| id.to_string()),
    })
}

fn head(repo: &Repo, here: &Path) -> Result<Option<String>, GitError> {
    let args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
    match repo.git().read(here, args).line() {
        Ok(oid) => Ok(Some(oid)),
        Err(error) if error.is_refusal() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Does what an intent says, from wherever an earlier attempt got to.
fn make(repo: &Repo, git: &Git, intent: &Intent) -> Result<(), CreateError> {
    let Provenance { branch, base_commit, branch_is_new, .. } = &intent.provenance;
    if let (Some(base), true) = (base_commit, branch_is_new) {
        let full = format!("refs/heads/{branch}");
        // With the intent written, the branch at this very commit is the one that was to be made.
        if repo.tip(&full)?.as_ref() != Some(base) {
            let args = ["update-ref", "-m", "creel: worktree created", &full, base, ""];
            git.write(repo.common(), args).run()?;
        }
    }
    let mut made = made_at(repo, &intent.path)?;
    if let Some(half) = made.take_if(|worktree| worktree.locked.as_deref() == Some(INITIALIZING)) {
        half.forget_unfinished().map_err(FileError::on("remove", &half.admin))?;
    }
    let admin = match made {
        Some(worktree) => worktree.admin,
        None => register(repo, git, intent)?,
    };
    intent.provenance.write(&admin)?;
    if base_commit.is_some() {
        // Nobody was told of the worktree yet: a lock in it was left by a killed git, which had
        // ended before the lock of the repository was free again.
        remove_if_any(&admin.join("index.lock")).map_err(FileError::on("remove", &admin))?;
        git.write(&intent.path, ["reset", "--hard", "--no-recurse-submodules", "--quiet"])
            .env("GIT_DIR", &admin)
            .env("GIT_WORK_TREE", &intent.path)
            .patience(Patience::Copy)
            .run()?;
    }
    Ok(())
}

fn made_at(repo: &Repo, path: &Path) -> Result<Option<Worktree>, GitError> {
    Ok(list(repo)?.into_iter().find(|worktree| worktree.path == path))
}

/// Makes git know the worktree, without its files.
fn register(repo: &Repo, git: &Git, intent: &Intent) -> Result<PathBuf, CreateError> {
    if !intent.clear_husk(repo.common())? {
        return Err(CreateError::PathTaken { path: intent.path.clone() });
    }
    let Provenance { branch, base_commit, .. } = &intent.provenance;
    let add = git.write(repo.common(), ["worktree", "add", "--quiet"]).patience(Patience::Scan);
    let add = match base_commit {
        Some(_) => add.args(["--no-checkout", "--"]).args([intent.path.as_os_str()]).args([branch]),
        None => add.args(["--orphan", "-b", branch, "--"]).args([intent.path.as_os_str()]),
    };
    add.run()?;
    let made = made_at(repo, &intent.path)?;
    let name = intent.provenance.name.clone();
    Ok(made.ok_or(CreateError::Gone { name, path: intent.path.clone() })?.admin)
}
