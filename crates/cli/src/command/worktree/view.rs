//! From what the host found to what is printed.

use creel_api::worktree::{
    BranchView, ChangesView, LeftOutView, ProvenanceView, RescueDescription, RescueView,
    WorktreeView,
};
use creel_host::worktree::{
    BranchFate, Changes, LeftOut, MergeProof, Repo, Rescue, RescueMeta, Worktree,
};

/// Shows a worktree.
pub(super) fn worktree(repo: &Repo, found: &Worktree, changes: Option<&Changes>) -> WorktreeView {
    WorktreeView {
        name: found.name(),
        path: found.path.display().to_string(),
        repository: repo.common().display().to_string(),
        branch: found.branch.clone(),
        head: found.head.clone(),
        is_main: found.is_main,
        is_bare: found.is_bare,
        is_detached: found.branch.is_none() && !found.is_bare,
        is_locked: found.locked.is_some(),
        lock_reason: found.locked.clone(),
        prunable: found.prunable.clone(),
        is_missing: found.is_missing,
        provenance: found.provenance.as_ref().map(|found| ProvenanceView {
            created: found.created_at.clone(),
            branch: found.branch.clone(),
            branch_is_new: found.branch_is_new,
            base_commit: found.base_commit.clone(),
            from: found.from.clone(),
            session_id: found.session_id.clone(),
        }),
        changes: changes.map(|changes| ChangesView {
            is_clean: changes.is_clean(),
            staged_count: changes.staged_count(),
            unstaged_count: changes.unstaged_count(),
            untracked_count: changes.untracked_count(),
            ignored_count: changes.ignored_count(),
        }),
    }
}

/// Says in words what is not committed.
pub(super) fn changes_text(changes: &ChangesView) -> String {
    let counts = [
        (changes.staged_count, "staged"),
        (changes.unstaged_count, "unstaged"),
        (changes.untracked_count, "untracked"),
        (changes.ignored_count, "ignored"),
    ];
    counted(&counts, "none")
}

/// Shows a rescue.
pub(super) fn rescue(repo: &Repo, found: &Rescue) -> RescueView {
    RescueView {
        id: found.id.clone(),
        reference: found.reference.clone(),
        commit: found.commit.clone(),
        description: found.meta.as_ref().map(description),
        restore: format!(
            "creel worktree rescue restore {} --repo {}",
            found.id,
            shell_word(&repo.common().display().to_string())
        ),
    }
}

fn description(meta: &RescueMeta) -> RescueDescription {
    RescueDescription {
        worktree: meta.name.clone(),
        path: meta.path.clone(),
        branch: meta.branch.clone(),
        head: meta.head.clone(),
        at: meta.at.clone(),
        session_id: meta.session_id.clone(),
        staged_count: meta.staged_count,
        unstaged_count: meta.unstaged_count,
        untracked_count: meta.untracked_count,
        ignored_count: meta.ignored_count,
        conflict_count: meta.conflict_count,
        unpushed_count: meta.unpushed_count,
        left_behind_count: meta.left_behind_count,
        operation: meta.operation.clone(),
        submodules: meta.submodules.clone(),
        left_out: left_out(&meta.left_out),
    }
}

/// Shows what was left out.
pub(super) fn left_out(found: &[LeftOut]) -> Vec<LeftOutView> {
    found
        .iter()
        .map(|left| LeftOutView { path: left.path.clone(), reason: left.reason.clone() })
        .collect()
}

/// Says in words what a rescue holds.
pub(super) fn rescue_text(found: &RescueDescription) -> String {
    let counts = [
        (found.staged_count, "staged"),
        (found.unstaged_count, "unstaged"),
        (found.untracked_count, "untracked"),
        (found.ignored_count, "ignored"),
        (found.conflict_count, "in conflict"),
        (found.unpushed_count, "unpushed commits"),
        (found.left_behind_count, "commits left behind"),
    ];
    let mut text = counted(&counts, "no change");
    if let Some(operation) = &found.operation {
        text.push_str(&format!(", a {operation} under way"));
    }
    text
}

fn counted(counts: &[(usize, &str)], none: &str) -> String {
    let shown: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if shown.is_empty() { none.to_owned() } else { shown.join(", ") }
}

/// Shows what became of a branch.
pub(super) fn branch(fate: BranchFate) -> Option<BranchView> {
    match fate {
        BranchFate::None => None,
        BranchFate::Kept { branch, reason } => {
            Some(BranchView { name: branch, is_deleted: false, tip: None, reason })
        }
        BranchFate::Deleted { branch, tip, proof } => {
            let reason = match proof {
                MergeProof::Ancestor { of } => format!("all of it is in {of}"),
                MergeProof::NothingToMerge { into } => {
                    format!("merging it into {into} would change nothing")
                }
                MergeProof::SamePatch { on } => format!("a commit on {on} makes the same change"),
            };
            Some(BranchView {
                name: branch,
                is_deleted: true,
                tip: Some(tip),
                reason: Some(reason),
            })
        }
    }
}

/// Writes a text so that a shell reads it as one word.
pub(super) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        let check = |text: &str, expected: &str| assert_eq!(shell_word(text), expected);
        check("/home/me/x.git", "/home/me/x.git");
        check("/home/my work/x", "'/home/my work/x'");
        check("it's $HOME", r"'it'\''s $HOME'");
        check("", "''");
    }
}
