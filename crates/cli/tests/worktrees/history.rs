//! Commits that only a worktree had outlive it, and git's own clearing up.

use crate::scene::{Scene, write};

/// Makes git throw away everything that nothing refers to.
fn collect(scene: &Scene) {
    scene.git(&scene.repo(), &["reflog", "expire", "--expire=now", "--all"]);
    scene.git(&scene.repo(), &["gc", "-q", "--prune=now"]);
}

/// Checks that a commit made in a worktree is there after the worktree and its branch are gone.
#[track_caller]
fn check(make: impl FnOnce(&Scene, &std::path::Path) -> String, (count, key): (u64, &str)) {
    let scene = Scene::new();
    let dir = scene.create("work");
    let commit = make(&scene, &dir);
    let removed = scene.json(&["rm", "work"]);
    assert_eq!(removed["rescue"]["description"][key], count, "{removed}");
    for branch in ["work", "other"] {
        scene.git_holds(&scene.repo(), &["branch", "-D", branch]);
    }
    collect(&scene);
    let holds = scene.git_holds(&scene.repo(), &["cat-file", "-e", &commit]);
    assert!(holds, "the commit is gone: {removed}");
}

#[test]
fn unpushed_commits_are_kept() {
    check(
        |scene, dir| {
            scene.commit(dir, "one", "1");
            scene.commit(dir, "two", "2")
        },
        (2, "unpushedCount"),
    );
}

#[test]
fn commits_on_no_branch_are_kept() {
    check(
        |scene, dir| {
            scene.git(dir, &["switch", "-q", "--detach"]);
            scene.commit(dir, "one", "1")
        },
        (1, "unpushedCount"),
    );
}

#[test]
fn commits_that_were_reset_away_are_kept() {
    check(
        |scene, dir| {
            let commit = scene.commit(dir, "one", "1");
            scene.git(dir, &["reset", "-q", "--hard", "HEAD~1"]);
            commit
        },
        (1, "leftBehindCount"),
    );
}

#[test]
fn commits_that_were_amended_are_kept() {
    check(
        |scene, dir| {
            let commit = scene.commit(dir, "one", "1");
            scene.git(dir, &["commit", "-q", "--amend", "-m", "other words"]);
            commit
        },
        (1, "leftBehindCount"),
    );
}

#[test]
fn commits_of_a_rebase_under_way_are_kept() {
    let make = |scene: &Scene, dir: &std::path::Path| {
        scene.git(dir, &["switch", "-q", "-c", "other"]);
        scene.commit(dir, "a.txt", "theirs\n");
        scene.git(dir, &["switch", "-q", "work"]);
        scene.commit(dir, "a.txt", "ours\n");
        let last = scene.commit(dir, "later", "x\n");
        assert!(!scene.git_holds(dir, &["rebase", "other"]));
        last
    };
    check(make, (1, "conflictCount"));
}

#[test]
fn a_worktree_with_nothing_of_its_own_leaves_no_rescue() {
    let scene = Scene::new();
    let dir = scene.create("work");
    scene.commit(&dir, "one", "1");
    scene.git(&dir, &["push", "-q", "origin", "work"]);
    let removed = scene.json(&["rm", "work"]);
    assert_eq!(removed["rescue"], serde_json::Value::Null, "{removed}");
    assert_eq!(removed["branch"]["isDeleted"], false);
}

#[test]
fn commits_of_another_branch_are_nobodys_own() {
    let scene = Scene::new();
    let dir = scene.create("work");
    scene.commit(&dir, "one", "1");
    scene.git(&dir, &["branch", "elsewhere"]);
    let removed = scene.json(&["rm", "work"]);
    assert_eq!(removed["rescue"], serde_json::Value::Null, "{removed}");
}

#[test]
fn staged_files_and_commits_of_a_worktree_whose_directory_is_gone_are_kept() {
    let scene = Scene::new();
    let dir = scene.create("work");
    scene.commit(&dir, "one", "1");
    write(&dir.join("staged"), "staged\n");
    scene.git(&dir, &["add", "staged"]);
    std::fs::remove_dir_all(&dir).unwrap();
    let removed = scene.json(&["rm", "work"]);
    assert_eq!(removed["rescue"]["description"]["unpushedCount"], 1);
    scene.git(&scene.repo(), &["branch", "-D", "work"]);
    collect(&scene);
    let back = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "back");
    assert_eq!(std::fs::read_to_string(back.join("staged")).unwrap(), "staged\n");
    assert_eq!(std::fs::read_to_string(back.join("one")).unwrap(), "1");
}
