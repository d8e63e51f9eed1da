//! Repositories and worktrees inside of a worktree, whose work would go with it.

use std::io;
use std::path::{Path, PathBuf};

use super::changes::as_path;
use super::ignored::is_made_again;
use super::surroundings::is_missing;
use crate::git::{Git, GitError, Patience};

/// What lies inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedKind {
    /// Another worktree, of whichever repository.
    Worktree,
    /// A repository with work that is nowhere else.
    Repository,
    /// A submodule with work that is nowhere else.
    Submodule,
    /// A repository that git can't look into.
    Unreadable,
}

/// A repository or worktree inside of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// Where.
    pub path: PathBuf,
    /// What it is.
    pub kind: NestedKind,
}

/// Returns which of the repositories found inside hold something that would be lost.
pub(crate) fn at_risk(
    git: &Git,
    (admin, tree): (&Path, &Path),
    repositories: &[PathBuf],
) -> Result<Vec<Nested>, GitError> {
    let mut found = Vec::new();
    let modules = admin.join("modules");
    for path in repositories {
        let kind = match kind_of(path, &modules) {
            Ok(Some(NestedKind::Worktree)) => Some(NestedKind::Worktree),
            Ok(Some(kind)) => match holds_work(git, (path, tree)) {
                Ok(true) => Some(kind),
                Ok(false) => None,
                Err(error) if error.is_refusal() => Some(NestedKind::Unreadable),
                Err(error) => return Err(error),
            },
            Ok(None) => None,
            Err(_) => Some(NestedKind::Unreadable),
        };
        found.extend(kind.map(|kind| Nested { path: path.clone(), kind }));
    }
    Ok(found)
}

/// Returns what a `.git` is: the repository itself, or a link into one.
fn kind_of(path: &Path, modules: &Path) -> io::Result<Option<NestedKind>> {
    let link = path.join(".git");
    let found = match std::fs::symlink_metadata(&link) {
        Ok(found) => found,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        return Ok(Some(NestedKind::Repository));
    }
    let to = super::admin::pointed_to(path)?;
    Ok(Some(match to {
        Some(to) if to.starts_with(modules) => NestedKind::Submodule,
        Some(to) if to.join("commondir").exists() => NestedKind::Worktree,
        _ => NestedKind::Repository,
    }))
}

/// Tells whether a repository holds anything that no remote of it has, or that it ignores and no
/// tool is known to make again.
fn holds_work(git: &Git, (path, tree): (&Path, &Path)) -> Result<bool, GitError> {
    // What calls itself a repository and is none must not be answered for by the one around it.
    let ceiling = path.parent().unwrap_or(path);
    let ask = |args: &[&str]| {
        git.read(path, args).env("GIT_CEILING_DIRECTORIES", ceiling).patience(Patience::Scan)
    };
    let below = path.strip_prefix(tree).unwrap_or(path);
    let mut is_dirty = false;
    ask(&["status", "--porcelain", "-z", "--no-renames", "--ignored=matching"]).records(
        |record| {
            let ignored = record.strip_prefix(b"!! ").map(|name| below.join(as_path(name)));
            is_dirty |= !ignored.is_some_and(|name| is_made_again(&name));
        },
    )?;
    if is_dirty {
        return Ok(true);
    }
    let questions: [&[&str]; 2] = [
        &["for-each-ref", "--format=%(refname)", "refs/stash"],
        &["rev-list", "--max-count=1", "--branches", "HEAD", "--not", "--remotes"],
    ];
    for args in questions {
        if !ask(args).run()?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
