//! A branch goes only when somebody asked, and with proof that it was merged.

use serde_json::Value;

use crate::scene::Scene;

/// Works in a worktree, has it removed with `--delete-branch`, and returns what became of the
/// branch.
#[track_caller]
fn check(work: impl FnOnce(&Scene, &std::path::Path), is_deleted: bool, reason: &str) {
    let scene = Scene::new();
    let dir = scene.create("work");
    work(&scene, &dir);
    let tip = scene.git(&scene.repo(), &["rev-parse", "work"]);
    let removed = scene.json(&["rm", "work", "--delete-branch"]);
    let branch = &removed["branch"];
    assert_eq!(branch["isDeleted"], is_deleted, "{removed}");
    assert_eq!(branch["reason"], reason, "{removed}");
    let is_there = scene.git_holds(&scene.repo(), &["rev-parse", "--verify", "-q", "work"]);
    assert_eq!(is_there, !is_deleted);
    if is_deleted {
        // Its tip can be had back, whatever the proof was worth.
        assert_eq!(branch["tip"], tip.as_str());
        let reference = removed["rescue"]["ref"].as_str().unwrap();
        assert!(scene.git_holds(&scene.repo(), &["merge-base", "--is-ancestor", &tip, reference]));
    }
}

#[test]
fn a_merged_branch_is_deleted() {
    check(
        |scene, dir| {
            scene.commit(dir, "one", "1");
            scene.git(&scene.repo(), &["merge", "-q", "--no-ff", "-m", "merge", "work"]);
        },
        true,
        "all of it is in main",
    );
}

#[test]
fn a_squashed_branch_is_deleted() {
    check(
        |scene, dir| {
            scene.commit(dir, "one", "1");
            scene.commit(dir, "two", "2");
            scene.git(&scene.repo(), &["merge", "-q", "--squash", "work"]);
            scene.git(&scene.repo(), &["commit", "-qm", "squashed"]);
            scene.commit(&scene.repo(), "later", "main goes on");
        },
        true,
        "merging it into main would change nothing",
    );
}

#[test]
fn a_squashed_branch_whose_lines_changed_since_is_deleted() {
    check(
        |scene, dir| {
            scene.commit(dir, "a.txt", "one\nTWO\nthree\n");
            scene.commit(dir, "b.txt", "b\n");
            scene.git(&scene.repo(), &["merge", "-q", "--squash", "work"]);
            scene.git(&scene.repo(), &["commit", "-qm", "squashed"]);
            scene.commit(&scene.repo(), "a.txt", "one\nTwo, again\nthree\n");
        },
        true,
        "a commit on main makes the same change",
    );
}

#[test]
fn an_unmerged_branch_is_kept() {
    let reason = "it is not proven merged into main or origin/main";
    check(
        |scene, dir| {
            scene.commit(dir, "one", "1");
        },
        false,
        reason,
    );
    check(
        |scene, dir| {
            scene.commit(dir, "one", "1");
            scene.git(&scene.repo(), &["merge", "-q", "--squash", "work"]);
            scene.git(&scene.repo(), &["commit", "-qm", "squashed"]);
            scene.commit(dir, "one", "and one more");
        },
        false,
        reason,
    );
    // Merged, then taken back: what it does is not there any more.
    check(
        |scene, dir| {
            scene.commit(dir, "one", "1");
            scene.git(&scene.repo(), &["merge", "-q", "--squash", "work"]);
            scene.git(&scene.repo(), &["commit", "-qm", "squashed"]);
            scene.git(&scene.repo(), &["revert", "--no-edit", "HEAD"]);
            scene.git(&scene.repo(), &["commit", "-q", "--amend", "-m", "reverted"]);
            scene.commit(dir, "two", "2");
        },
        false,
        reason,
    );
}

#[test]
fn a_branch_that_was_pushed_only_is_kept() {
    check(
        |scene, dir| {
            scene.commit(dir, "one", "1");
            scene.git(dir, &["push", "-q", "-u", "origin", "work"]);
        },
        false,
        "it is not proven merged into main or origin/main",
    );
}

#[test]
fn a_branch_from_before_the_worktree_is_kept() {
    let scene = Scene::new();
    scene.git(&scene.repo(), &["branch", "old"]);
    scene.worktree(&["create", "x", "--branch", "old"]).success();
    let removed = scene.json(&["rm", "x", "--delete-branch"]);
    assert_eq!(removed["branch"]["isDeleted"], false);
    assert_eq!(removed["branch"]["reason"], "it was there before the worktree");
}

#[test]
fn a_branch_is_kept_when_nobody_asked() {
    let scene = Scene::new();
    scene.create("x");
    let removed = scene.json(&["rm", "x"]);
    assert_eq!(
        (&removed["branch"]["isDeleted"], &removed["branch"]["reason"]),
        (&false.into(), &Value::Null)
    );
    // Its name is free for a new worktree on it.
    scene.worktree(&["create", "x", "--branch", "x"]).success();
}
