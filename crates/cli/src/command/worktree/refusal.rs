//! From the errors of the host's worktrees to what a person is told.

use creel_host::git::GitError;
use creel_host::worktree::{
    CreateError, FileError, LockError, NestedKind, OpenError, RemoveError, RescueError,
};

use crate::codes::Code;
use crate::report::{Report, chain};

impl From<GitError> for Report {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Missing { .. } => Self::of(Code::GitMissing, &error).next("git --version"),
            _ => Self::of(Code::GitFailed, &error).next("mend that, then the same command again"),
        }
    }
}

impl From<OpenError> for Report {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NotARepository { .. } => Self::of(Code::NotARepository, &error)
                .next("the same command with --repo DIR of a repository"),
            OpenError::Git(error) => error.into(),
        }
    }
}

impl From<FileError> for Report {
    fn from(error: FileError) -> Self {
        let next = format!("ls -ld {}", error.path.display());
        Self::of(Code::WorktreeUnusable, &error).next(next)
    }
}

impl From<LockError> for Report {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Busy { .. } => Self::of(Code::RepositoryBusy, &error)
                .next("the same command, when the other one is done"),
            LockError::File(error) => error.into(),
        }
    }
}

impl From<CreateError> for Report {
    fn from(error: CreateError) -> Self {
        let message = format!("{}; nothing was made", chain(&error));
        let unchanged = |code| Self::new(code, message);
        match error {
            CreateError::Exists { name, .. } => {
                unchanged(Code::WorktreeExists).next(format!("creel worktree show {name}"))
            }
            CreateError::Gone { name, .. } => {
                unchanged(Code::WorktreeGone).next(format!("creel worktree rm {name}"))
            }
            CreateError::PathTaken { path } => {
                unchanged(Code::PathTaken).next(format!("ls -la {}", path.display()))
            }
            CreateError::BranchTaken { branch } => unchanged(Code::BranchTaken)
                .next(format!("creel worktree create NAME --branch {branch}")),
            CreateError::BranchInUse { path, .. } => {
                unchanged(Code::BranchInUse).next(format!("cd {}", path.display()))
            }
            CreateError::BranchName { .. } => {
                unchanged(Code::Usage).next("the same command with --branch NAME")
            }
            CreateError::UnknownCommit { .. } => {
                unchanged(Code::UnknownCommit).next("git log --all --oneline")
            }
            CreateError::Lock(error) => error.into(),
            CreateError::File(error) => error.into(),
            CreateError::Git(error) => error.into(),
        }
    }
}

impl From<RescueError> for Report {
    fn from(error: RescueError) -> Self {
        match error {
            RescueError::KeepsChanging { .. } => Self::of(Code::WorktreeChanging, &error)
                .next("the same command, when nothing writes there any more"),
            RescueError::NotHeld { .. } => Self::of(Code::RescueFailed, &error).next("git fsck"),
            RescueError::Unknown { .. } => {
                Self::of(Code::UnknownRescue, &error).next("creel worktree rescue list")
            }
            RescueError::Ambiguous { .. } => {
                Self::of(Code::AmbiguousRescue, &error).next("creel worktree rescue list")
            }
            RescueError::Foreign { ref id } | RescueError::BadPath { ref id, .. } => {
                let next = format!("git log -1 refs/creel/rescue/{id}");
                Self::of(Code::ForeignRescue, &error).next(next)
            }
            RescueError::Create(error) => (*error).into(),
            RescueError::Lock(error) => error.into(),
            RescueError::File(error) => error.into(),
            RescueError::Git(error) => error.into(),
        }
    }
}

/// Reports why the worktree that was typed was not removed.
pub(super) fn removal(error: RemoveError, typed: &str) -> Report {
    let message = format!("{}; nothing was removed", chain(&error));
    let unchanged = |code| Report::new(code, message.clone());
    let again = |flag: &str| format!("creel worktree rm {typed} {flag}");
    match error {
        RemoveError::Gone { .. } => {
            Report::of(Code::UnknownWorktree, &error).next("creel worktree rescue list")
        }
        RemoveError::Main { .. } => unchanged(Code::WorktreeMain).next("creel worktree list"),
        RemoveError::Locked { path, .. } => {
            unchanged(Code::WorktreeLocked).next(format!("git worktree unlock {}", path.display()))
        }
        RemoveError::SessionLive { session, .. } => {
            unchanged(Code::WorktreeSessionLive).next(format!("creel end {session}"))
        }
        RemoveError::Displaced { path, .. } => {
            unchanged(Code::WorktreeDisplaced).next(format!("ls -ld {}", path.display()))
        }
        RemoveError::HoldsStore { .. } => {
            unchanged(Code::WorktreeHoldsStore).next("creel store list")
        }
        RemoveError::HoldsWork { nested, .. } => {
            let next = nested.first().map(|found| match found.kind {
                NestedKind::Worktree => format!("creel worktree rm {}", found.path.display()),
                _ => format!("git -C {} status", found.path.display()),
            });
            unchanged(Code::WorktreeHoldsWork).next(next.unwrap_or_default())
        }
        RemoveError::Occupied { .. } => unchanged(Code::WorktreeOccupied).next(again("--force")),
        RemoveError::HoldsIgnored { .. } => {
            unchanged(Code::WorktreeHoldsIgnored).next(again("--with-ignored"))
        }
        RemoveError::NotSaved { source: RescueError::KeepsChanging { .. }, .. } => {
            unchanged(Code::WorktreeChanging)
                .next("the same command, when nothing writes there any more")
        }
        RemoveError::NotSaved { .. } => {
            unchanged(Code::RescueFailed).next("git fsck, then the same command again")
        }
        RemoveError::Lock(error) => error.into(),
        RemoveError::File(error) => error.into(),
        RemoveError::Git(error) => error.into(),
    }
}
