//! Taking a worktree away: checked, saved, read back, and only then removed.

use std::fs;
use std::path::{Path, PathBuf};

use creel_record::Timestamp;
use creel_sys::occupants::{Occupant, occupants};

use super::admin::pointed_to;
use super::branch::{BranchFate, deletable, delete};
use super::changes::{Changes, Submodules, as_path};
use super::ignored::{is_copy, is_made_again};
use super::intent::Intent;
use super::listing::{Worktree, list};
use super::lock::LockError;
use super::nested::{Nested, at_risk};
use super::repo::Repo;
use super::rescue::{Rescue, RescueError, Saved, Subject, save, still_as_saved};
use super::sessions::SessionAt;
use super::surroundings::{FileError, is_absent};
use super::survey::{Survey, files_below};
use crate::git::{Git, GitError};

mod tree;

use tree::Aside;

/// How often saving is tried again when files changed meanwhile.
const MAX_ATTEMPTS: u32 = 3;

/// Paths that a refusal names.
const MAX_NAMED: usize = 10;

/// What to do with ignored files that no tool is known to make again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Refuse the removal and name them.
    Refuse,
    /// Save them.
    Save,
    /// Save them, and those that tools make again too.
    SaveAll,
    /// Lose them.
    Drop,
}

/// What is to be removed, and how.
#[derive(Clone, Debug)]
pub struct RemoveOrder {
    /// The worktree, as it was found.
    pub path: PathBuf,
    /// Remove it although processes stand in it.
    pub force: bool,
    /// Delete its branch too, if that is proven merged.
    pub delete_branch: bool,
    /// What to do with ignored files.
    pub ignored: Ignored,
    /// Roots of stores that are registered on this machine.
    pub stores: Vec<PathBuf>,
    /// Sessions with a live run.
    pub live: Vec<SessionAt>,
    /// The time that is recorded.
    pub now: Timestamp,
}

/// What a removal came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The worktree, as it was.
    pub worktree: Worktree,
    /// Where its work is; none when all of it was elsewhere.
    pub rescue: Option<Rescue>,
    /// What became of its branch.
    pub branch: BranchFate,
    /// Ignored files and directories that were not saved.
    pub ignored_left_count: usize,
    /// The first of them.
    pub ignored_left: Vec<String>,
}

/// Why nothing was removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// It is gone, e.g. since another removal was faster.
    #[error("{} is no worktree any more", path.display())]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// It is the one the repository came with.
    #[error("{} is the main worktree of its repository", path.display())]
    Main {
        /// Where it is.
        path: PathBuf,
    },
    /// It is locked.
    #[error("{} is locked{}", path.display(), because(reason))]
    Locked {
        /// Where it is.
        path: PathBuf,
        /// What was said when it was locked.
        reason: String,
    },
    /// A session has a live run in it.
    #[error("session {session} has a live run in {}", path.display())]
    SessionLive {
        /// Where it is.
        path: PathBuf,
        /// The session.
        session: String,
    },
    /// Something else is at its path.
    #[error("{} is not the worktree that git means: {what}", path.display())]
    Displaced {
        /// The path.
        path: PathBuf,
        /// What is there.
        what: String,
    },
    /// A store lies in it.
    #[error("{} holds the store {}", path.display(), store.display())]
    HoldsStore {
        /// Where it is.
        path: PathBuf,
        /// The store.
        store: PathBuf,
    },
    /// Repositories in it hold work of their own.
    #[error("{} holds other work: {}", path.display(), nested_list(nested))]
    HoldsWork {
        /// Where it is.
        path: PathBuf,
        /// What is in it.
        nested: Vec<Nested>,
    },
    /// Processes stand in it.
    #[error("processes stand in {}: {}", path.display(), occupant_list(occupants))]
    Occupied {
        /// Where it is.
        path: PathBuf,
        /// Who.
        occupants: Vec<Occupant>,
    },
    /// Ignored files in it are nowhere else.
    #[error("{} holds ignored files that would be lost: {}", path.display(), named(files))]
    HoldsIgnored {
        /// Where it is.
        path: PathBuf,
        /// Which.
        files: Vec<String>,
    },
    /// Its work could not be saved.
    #[error("the work in {} could not be saved", path.display())]
    NotSaved {
        /// Where it is.
        path: PathBuf,
        /// Why.
        #[source]
        source: RescueError,
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

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

fn named(names: &[String]) -> String {
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ") + &more
}

fn nested_list(nested: &[Nested]) -> String {
    use super::nested::NestedKind;
    let show = |found: &Nested| {
        let kind = match found.kind {
            NestedKind::Worktree => "worktree",
            NestedKind::Repository => "repository",
            NestedKind::Submodule => "submodule",
            NestedKind::Unreadable => "unreadable repository",
        };
        format!("{kind} {}", found.path.display())
    };
    named(&nested.iter().map(show).collect::<Vec<_>>())
}

fn occupant_list(occupants: &[Occupant]) -> String {
    let show = |who: &Occupant| format!("{} (pid {})", who.comm, who.identity.pid);
    named(&occupants.iter().map(show).collect::<Vec<_>>())
}

/// Removes a worktree without loss. Killed at any point, the same call finishes.
///
/// # Errors
/// When it must not be removed, or its work can't be saved; it is then as it was.
pub fn remove(repo: &Repo, order: &RemoveOrder) -> Result<Removed, RemoveError> {
    let (_lock, git) = repo.lock()?;
    let mut worktrees = list(repo)?;
    let at = worktrees.iter().position(|worktree| worktree.path == order.path);
    let at = at.ok_or_else(|| RemoveError::Gone { path: order.path.clone() })?;
    let aside = Aside::of(&order.path);
    if worktrees[at].is_missing && !worktrees[at].is_main {
        aside.take_up(&order.path)?;
        worktrees[at].is_missing = is_absent(&order.path);
    }
    let worktree = &worktrees[at];
    let survey = check(&git, worktree, order)?;
    let main = worktrees.iter().find(|other| other.is_main && !other.is_bare);
    let ignored = choose(&git, worktree, (order, main.map(|main| main.path.as_path())))?;
    let branch = match order.delete_branch {
        true => Some(deletable(repo, worktree, &worktrees)?),
        false => None,
    };
    let subject = Subject {
        repo,
        git: &git,
        worktree,
        ignored: ignored.saved,
        submodules: submodules(&survey, worktree),
        always: matches!(branch, Some(Ok(_))),
        now: order.now,
    };
    let saved = set_aside(&subject, &aside, &survey)?;
    aside.clear()?;
    git.write(repo.common(), ["worktree", "remove", "--"]).args([&order.path]).run()?;
    Intent::clear(repo.common(), &worktree.name())?;
    tree::tidy_above(&order.path);
    let kept = |reason| match &worktree.branch {
        Some(branch) => BranchFate::Kept { branch: branch.clone(), reason },
        None => BranchFate::None,
    };
    let branch = match branch {
        None => kept(None),
        Some(Err(reason)) => kept(Some(reason)),
        Some(Ok(branch)) => delete(repo, &git, branch)?,
    };
    Ok(Removed {
        worktree: worktree.clone(),
        rescue: saved.rescue,
        branch,
        ignored_left_count: ignored.left.len(),
        ignored_left: ignored.left.into_iter().take(MAX_NAMED).collect(),
    })
}

/// Forgets a creation that was cut short before there were any files; false when there is none of
/// this name. Its branch stays.
///
/// # Errors
/// When what it left can't be removed.
pub fn abandon(repo: &Repo, name: &str) -> Result<bool, RemoveError> {
    let (_lock, _git) = repo.lock()?;
    let Some(intent) = Intent::read(repo.common(), name)? else { return Ok(false) };
    if !intent.clear_husk(repo.common())? {
        return Ok(false);
    }
    let registered = list(repo)?.into_iter().find(|worktree| worktree.path == intent.path);
    if let Some(half) = registered {
        half.forget_unfinished().map_err(FileError::on("remove", &half.admin))?;
    }
    // Fails, as it should, for a directory that somebody else uses.
    let _ = fs::remove_dir(&intent.path);
    Intent::clear(repo.common(), name)?;
    Ok(true)
}

/// Refuses what must not be removed; returns what lies in the tree.
fn check(git: &Git, worktree: &Worktree, order: &RemoveOrder) -> Result<Survey, RemoveError> {
    let path = worktree.path.clone();
    if worktree.is_main {
        return Err(RemoveError::Main { path });
    }
    if let Some(reason) = worktree.locked.clone() {
        return Err(RemoveError::Locked { path, reason });
    }
    if let Some(session) = order.live.iter().find(|session| session.cwd.starts_with(&path)) {
        return Err(RemoveError::SessionLive { path, session: session.id.clone() });
    }
    if worktree.is_missing {
        return Ok(Survey::default());
    }
    check_place(worktree)?;
    let survey = Survey::of(&path).map_err(FileError::on("look through", &path))?;
    let registered = order.stores.iter().find(|store| store.starts_with(&path));
    if let Some(store) = survey.stores.first().or(registered).cloned() {
        return Err(RemoveError::HoldsStore { path, store });
    }
    check_nested(git, worktree, &survey)?;
    if !order.force {
        let occupants = occupants(&path).map_err(FileError::on("find who stands in", &path))?;
        if !occupants.is_empty() {
            return Err(RemoveError::Occupied { path, occupants });
        }
    }
    Ok(survey)
}

/// Refuses a worktree with other work in it.
fn check_nested(git: &Git, worktree: &Worktree, survey: &Survey) -> Result<(), RemoveError> {
    let nested = at_risk(git, (&worktree.admin, &worktree.path), &survey.repositories)?;
    if nested.is_empty() {
        return Ok(());
    }
    Err(RemoveError::HoldsWork { path: worktree.path.clone(), nested })
}

/// Refuses a path at which something else stands now, or which leads elsewhere.
fn check_place(worktree: &Worktree) -> Result<(), RemoveError> {
    let path = &worktree.path;
    let displaced = |what: String| RemoveError::Displaced { path: path.clone(), what };
    let real = path.canonicalize().map_err(FileError::on("find", path))?;
    if real != *path {
        return Err(displaced(format!("a link leads to {}", real.display())));
    }
    let to = pointed_to(path).map_err(FileError::on("read", path))?;
    let is_own = match to.as_ref().map(|to| to.canonicalize()) {
        Some(Ok(to)) => worktree.admin.canonicalize().is_ok_and(|admin| admin == to),
        _ => false,
    };
    if is_own {
        return Ok(());
    }
    Err(displaced(match to {
        Some(to) => format!("its .git leads to {}", to.display()),
        None => "it has no .git file".to_owned(),
    }))
}

/// What happens to the ignored files.
struct Chosen {
    saved: Vec<PathBuf>,
    left: Vec<String>,
}

/// Decides about ignored files, or refuses.
fn choose(
    git: &Git,
    worktree: &Worktree,
    (order, main): (&RemoveOrder, Option<&Path>),
) -> Result<Chosen, RemoveError> {
    let mut chosen = Chosen { saved: Vec::new(), left: Vec::new() };
    if worktree.is_missing {
        return Ok(chosen);
    }
    let tree = &worktree.path;
    let changes = Changes::read(git, (&worktree.admin, tree), Submodules::Asked)?;
    let mut own: Vec<PathBuf> = Vec::new();
    for ignored in &changes.ignored {
        let path = as_path(ignored);
        let is_left = is_made_again(path) || is_copy(path, tree, main);
        if is_left && order.ignored != Ignored::SaveAll {
            chosen.left.push(path.display().to_string());
        } else {
            own.push(path.to_owned());
        }
    }
    match order.ignored {
        Ignored::Refuse if !own.is_empty() => {
            let files = own.iter().map(|path| path.display().to_string()).collect();
            return Err(RemoveError::HoldsIgnored { path: tree.clone(), files });
        }
        Ignored::Drop => chosen.left.extend(own.iter().map(|path| path.display().to_string())),
        Ignored::Refuse | Ignored::Save | Ignored::SaveAll => {
            for path in own {
                if tree.join(&path).symlink_metadata().is_ok_and(|found| found.is_dir()) {
                    let below = files_below(tree, &path);
                    chosen.saved.extend(below.map_err(FileError::on("read", &path))?);
                } else {
                    chosen.saved.push(path);
                }
            }
        }
    }
    Ok(chosen)
}

fn submodules(survey: &Survey, worktree: &Worktree) -> Vec<PathBuf> {
    let below = |path: &PathBuf| path.strip_prefix(&worktree.path).ok().map(Path::to_owned);
    let is_module = |path: &&PathBuf| {
        let to = pointed_to(path).ok().flatten();
        to.is_some_and(|to| to.starts_with(worktree.admin.join("modules")))
    };
    survey.repositories.iter().filter(is_module).filter_map(below).collect()
}

/// Saves a worktree's work and moves its files out of everybody's way, as soon as both agree.
fn set_aside(subject: &Subject<'_>, aside: &Aside, survey: &Survey) -> Result<Saved, RemoveError> {
    let path = &subject.worktree.path;
    let fail = |source| RemoveError::NotSaved { path: path.clone(), source };
    for attempt in 1..=MAX_ATTEMPTS {
        let saved = match save(subject) {
            // A file that vanished while it was read; the next attempt doesn't see it.
            Err(RescueError::Git(error)) if error.is_refusal() && attempt < MAX_ATTEMPTS => {
                continue;
            }
            saved => saved.map_err(fail)?,
        };
        if subject.worktree.is_missing {
            return Ok(saved);
        }
        // They can't be asked once they are moved.
        check_nested(subject.git, subject.worktree, survey)?;
        aside.take(path)?;
        match still_as_saved(subject, &saved, aside.unproven()) {
            Ok(true) => {
                aside.prove()?;
                return Ok(saved);
            }
            Ok(false) => aside.give_back(path)?,
            Err(source) => {
                aside.give_back(path)?;
                return Err(fail(source));
            }
        }
        if let Some(rescue) = &saved.rescue {
            // A newer one takes its place.
            let args = ["update-ref", "-d", &rescue.reference, &rescue.commit];
            subject.git.write(subject.repo.common(), args).run()?;
        }
    }
    Err(fail(RescueError::KeepsChanging { path: path.clone() }))
}
