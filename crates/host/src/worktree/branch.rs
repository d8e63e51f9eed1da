//! What becomes of a worktree's branch: it stays, unless somebody asked and it is proven merged.

use super::listing::Worktree;
use super::repo::Repo;
use crate::git::{Git, GitError, Patience};

/// Why a branch holds nothing that is not elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeProof {
    /// Its tip is part of the history of this ref.
    Ancestor {
        /// The ref.
        of: String,
    },
    /// Merging it into this ref would change nothing: all it changed is there already.
    NothingToMerge {
        /// The ref.
        into: String,
    },
    /// A commit of this ref makes the very change that the branch makes as a whole.
    SamePatch {
        /// The ref.
        on: String,
    },
}

/// What became of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchFate {
    /// There was none: `HEAD` was detached.
    None,
    /// It is as it was.
    Kept {
        /// The branch.
        branch: String,
        /// Why it was not deleted although that was asked for; none when it was not.
        reason: Option<String>,
    },
    /// It is gone.
    Deleted {
        /// The branch.
        branch: String,
        /// Where it was.
        tip: String,
        /// Why that loses nothing.
        proof: MergeProof,
    },
}

/// A branch that may be deleted if it still is where it was.
#[derive(Clone, Debug)]
pub(crate) struct Deletable {
    branch: String,
    tip: String,
    proof: MergeProof,
}

/// Tells whether a worktree's branch may be deleted, or why not.
pub(crate) fn deletable(
    repo: &Repo,
    worktree: &Worktree,
    worktrees: &[Worktree],
) -> Result<Result<Deletable, String>, GitError> {
    let Some(branch) = worktree.branch.clone() else {
        return Ok(Err("no branch is checked out".to_owned()));
    };
    let full = format!("refs/heads/{branch}");
    let Some(tip) = repo.tip(&full)? else {
        return Ok(Err("it has no commit".to_owned()));
    };
    let ours = worktree.provenance.as_ref().filter(|found| found.branch == branch);
    if ours.is_some_and(|found| !found.branch_is_new) {
        return Ok(Err("it was there before the worktree".to_owned()));
    }
    let is_elsewhere =
        |other: &&Worktree| other.path != worktree.path && other.branch.as_ref() == Some(&branch);
    if let Some(other) = worktrees.iter().find(is_elsewhere) {
        return Ok(Err(format!("it is checked out in {}", other.path.display())));
    }
    let targets = targets(repo, (&branch, worktree), worktrees)?;
    for target in &targets {
        if let Some(proof) = proof(repo, &tip, target)? {
            return Ok(Ok(Deletable { branch, tip, proof }));
        }
    }
    let targets: Vec<String> = targets.iter().map(|target| short(target)).collect();
    Ok(Err(match targets.as_slice() {
        [] => "there is no other branch it could be merged into".to_owned(),
        some => format!("it is not proven merged into {}", some.join(" or ")),
    }))
}

/// Deletes a branch if its tip still is the one that was checked; else it stays.
pub(crate) fn delete(
    repo: &Repo,
    git: &Git,
    Deletable { branch, tip, proof }: Deletable,
) -> Result<BranchFate, GitError> {
    let full = format!("refs/heads/{branch}");
    match git.write(repo.common(), ["update-ref", "-d", &full, &tip]).run() {
        Ok(_) => {}
        Err(error) if error.is_refusal() => {
            let reason = Some("it has moved meanwhile".to_owned());
            return Ok(BranchFate::Kept { branch, reason });
        }
        Err(error) => return Err(error),
    }
    // A branch made later under this name must not inherit its upstream; there may be none.
    let section = format!("branch.{branch}");
    match git.write(repo.common(), ["config", "--local", "--remove-section", &section]).run() {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(BranchFate::Deleted { branch, tip, proof }),
    }
}

/// Returns the refs that a branch may be merged into: where it began, what is checked out in the
/// main worktree, both as remotes have them, and the remotes' default branches.
fn targets(
    repo: &Repo,
    (branch, worktree): (&str, &Worktree),
    worktrees: &[Worktree],
) -> Result<Vec<String>, GitError> {
    let from = worktree.provenance.as_ref().and_then(|found| found.from.as_deref());
    let main = worktrees.iter().find(|other| other.is_main).and_then(|main| main.branch.as_deref());
    let mut wanted: Vec<String> = Vec::new();
    for name in from.iter().chain(main.iter()).filter(|name| **name != branch) {
        wanted.extend(["heads/", "remotes/", "remotes/*/"].map(|dir| format!("refs/{dir}{name}")));
    }
    wanted.push("refs/remotes/*/HEAD".to_owned());
    let refs = repo.git().read(repo.common(), ["for-each-ref", "--format=%(refname)"]);
    let found = refs.args(&wanted).line()?;
    let own = format!("refs/heads/{branch}");
    Ok(found.lines().filter(|full| *full != own).map(str::to_owned).collect())
}

fn proof(repo: &Repo, tip: &str, target: &str) -> Result<Option<MergeProof>, GitError> {
    let read = |args: &[&str]| repo.git().read(repo.common(), args).patience(Patience::Scan);
    if read(&["merge-base", "--is-ancestor", tip, target]).holds()? {
        return Ok(Some(MergeProof::Ancestor { of: short(target) }));
    }
    let base = match read(&["merge-base", tip, target]).line() {
        Ok(base) => base,
        // Two histories without a common commit prove nothing.
        Err(error) if error.is_refusal() => return Ok(None),
        Err(error) => return Err(error),
    };
    let tree = read(&["rev-parse", "--verify", &format!("{target}^{{tree}}")]).line()?;
    // Conflicts, and a git before 2.38, are no proof.
    let merge = repo.git().write(repo.common(), ["merge-tree", "--write-tree", target, tip]);
    match merge.patience(Patience::Scan).line() {
        Ok(merged) if merged == tree => {
            return Ok(Some(MergeProof::NothingToMerge { into: short(target) }));
        }
        Err(error) if !error.is_refusal() => return Err(error),
        _ => {}
    }
    let whole = repo.git().write(
        repo.common(),
        ["commit-tree", &format!("{tip}^{{tree}}"), "-p", &base, "-m", "creel: the whole branch"],
    );
    let mut whole = whole;
    for who in ["AUTHOR", "COMMITTER"] {
        whole = whole
            .env(&format!("GIT_{who}_NAME"), "creel")
            .env(&format!("GIT_{who}_EMAIL"), "creel@localhost");
    }
    let whole = whole.line()?;
    let cherry = read(&["cherry", target, &whole]).line()?;
    // A branch that changes nothing as a whole gives no line, and no proof.
    let is_there = cherry == format!("- {whole}");
    Ok(is_there.then(|| MergeProof::SamePatch { on: short(target) }))
}

fn short(full: &str) -> String {
    full.strip_prefix("refs/heads/")
        .or_else(|| full.strip_prefix("refs/remotes/"))
        .unwrap_or(full)
        .to_owned()
}

#[cfg(test)]
mod tests;
