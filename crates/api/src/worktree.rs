//! The shapes of `creel worktree … --json`. Paths that are not UTF-8 have their bytes replaced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One worktree: a line of `worktree list`, and what `worktree show` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeView {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// The directory that all worktrees of its repository share.
    pub repository: String,
    /// The branch that is checked out; none when detached.
    pub branch: Option<String>,
    /// The commit that is checked out; none before the first one.
    pub head: Option<String>,
    /// True for the one that the repository came with.
    pub is_main: bool,
    /// True for the entry of a bare repository, which has no files.
    pub is_bare: bool,
    /// True when no branch is checked out.
    pub is_detached: bool,
    /// True when it is locked.
    pub is_locked: bool,
    /// Why it is locked.
    pub lock_reason: Option<String>,
    /// Why git would forget it; none when it would not.
    pub prunable: Option<String>,
    /// True when nothing is at its path.
    pub is_missing: bool,
    /// How it came to be; none when Creel did not make it.
    pub provenance: Option<ProvenanceView>,
    /// What is not committed, where it was asked for and can be told.
    pub changes: Option<ChangesView>,
}

/// How a worktree of Creel's came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvenanceView {
    /// When it was created.
    pub created: String,
    /// The branch it began on.
    pub branch: String,
    /// True when the branch was made for it.
    pub branch_is_new: bool,
    /// The commit it began at.
    pub base_commit: Option<String>,
    /// What `--from` named.
    pub from: Option<String>,
    /// The session it was created for.
    pub session_id: Option<String>,
}

/// What of a worktree is not committed, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesView {
    /// False when anything but ignored files would be lost with the files.
    pub is_clean: bool,
    /// Staged files.
    pub staged_count: usize,
    /// Tracked files that differ from the index, those in conflict included.
    pub unstaged_count: usize,
    /// Files that git doesn't know.
    pub untracked_count: usize,
    /// Files, and whole directories, that git was told to ignore.
    pub ignored_count: usize,
}

/// What `worktree create` made or found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedView {
    /// The worktree.
    pub worktree: WorktreeView,
    /// True when an earlier call had made it.
    pub already: bool,
}

/// A line of `worktree ps`: a worktree and who works in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OccupiedView {
    /// The worktree.
    pub worktree: WorktreeView,
    /// The sessions whose runs have their working directory in it, the last changed one first.
    pub sessions: Vec<SessionInView>,
}

/// A session in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInView {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The harness.
    pub runtime: String,
    /// Its work state.
    pub work_state: String,
    /// True while it has a run that has not ended.
    pub is_live: bool,
    /// The working directory of its runs.
    pub cwd: String,
}

/// What `worktree rm` did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedView {
    /// What it was called.
    pub name: String,
    /// Where it was.
    pub path: String,
    /// Where its work is; none when all of it was elsewhere already.
    pub rescue: Option<RescueView>,
    /// What became of its branch; none when none was checked out.
    pub branch: Option<BranchView>,
    /// Ignored files and whole directories that were not saved.
    pub ignored_left_count: usize,
    /// The first of them.
    pub ignored_left: Vec<String>,
}

/// What became of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchView {
    /// Its name.
    pub name: String,
    /// True when it was deleted.
    pub is_deleted: bool,
    /// Where it was, when it was deleted.
    pub tip: Option<String>,
    /// Why it was kept although its deletion was asked for, or why deleting it lost nothing.
    pub reason: Option<String>,
}

/// One rescue: a line of `worktree rescue list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RescueView {
    /// Its id.
    pub id: String,
    /// The ref that keeps it.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit: its tree is the files as they were.
    pub commit: String,
    /// What it says about itself; none when another version made it.
    pub description: Option<RescueDescription>,
    /// The command that gives the work back.
    pub restore: String,
}

/// What a rescue says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RescueDescription {
    /// The worktree's name.
    pub worktree: String,
    /// Where it was.
    pub path: String,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The commit that was checked out.
    pub head: Option<String>,
    /// When it was made.
    pub at: String,
    /// The session that the worktree was created for.
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
    /// What was not saved.
    pub left_out: Vec<LeftOutView>,
}

/// Something that a rescue doesn't hold, or that was not given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutView {
    /// Its path below the worktree's top.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// `worktree rescue show`: one rescue with its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RescueContentsView {
    /// The rescue.
    pub rescue: RescueView,
    /// The files that differ from the commit it began from.
    pub files: Vec<RescuedFileView>,
}

/// One file of a rescue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RescuedFileView {
    /// `A` added, `M` changed, `T` of another type, `D` deleted.
    pub status: String,
    /// Its path below the worktree's top.
    pub path: String,
}

/// What `worktree rescue restore` gave back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoredView {
    /// The rescue; it stays.
    pub rescue: String,
    /// The new worktree.
    pub worktree: WorktreeView,
    /// Files that were written or removed in it.
    pub file_count: usize,
    /// What was not given back.
    pub left_out: Vec<LeftOutView>,
}

/// What `worktree rescue drop` forgot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DroppedView {
    /// The rescue.
    pub rescue: String,
    /// The ref it was under.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its commit, which git keeps until it collects what nothing refers to.
    pub commit: String,
}
