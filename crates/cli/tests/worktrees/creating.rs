//! Making worktrees.

use std::path::Path;

use crate::scene::{Scene, check_refused, files, hash_free, set_mode, write};

#[test]
fn a_worktree_is_made_on_a_new_branch_and_its_path_is_printed() {
    let scene = Scene::new();
    let made = scene.worktree(&["create", "fix"]);
    insta::assert_snapshot!(hash_free(made.normal()));
    let dir = Path::new(made.stdout.trim_end());
    assert_eq!(scene.git(dir, &["branch", "--show-current"]), "fix");
    assert_eq!(scene.status(dir), "");
    assert_eq!(files(dir), files(&scene.repo()));
}

#[test]
fn a_second_creation_answers_with_the_same_worktree() {
    let scene = Scene::new();
    let first = scene.json(&["create", "fix", "--from", "main"]);
    let dir = Path::new(first["worktree"]["path"].as_str().unwrap());
    write(&dir.join("a.txt"), "work");
    scene.commit(&scene.repo(), "new", "main goes on");
    let second = scene.json(&["create", "fix", "--from", "main"]);
    assert_eq!((&first["already"], &second["already"]), (&false.into(), &true.into()));
    assert_eq!(second["worktree"]["path"], first["worktree"]["path"]);
    assert_eq!(second["worktree"]["provenance"], first["worktree"]["provenance"]);
    assert_eq!(std::fs::read_to_string(dir.join("a.txt")).unwrap(), "work");
    // From inside of it, and without the beginning, too.
    let inside = scene.env.call(&["worktree", "create", "fix"]).cwd(dir).run().success();
    assert_eq!(inside.stdout.trim_end(), dir.display().to_string());
}

#[test]
fn another_order_under_a_taken_name_is_refused() {
    let scene = Scene::new();
    scene.create("fix");
    for arguments in [
        &["create", "fix", "--branch", "other"][..],
        &["create", "fix", "--from", "main"],
        &["create", "fix", "--at", "../elsewhere"],
    ] {
        check_refused(&scene.worktree(arguments), (4, "worktree-exists"));
    }
    assert!(!scene.git_holds(&scene.repo(), &["rev-parse", "--verify", "-q", "other"]));
}

#[test]
fn a_branch_that_is_there_is_used_only_by_its_name_and_never_moved() {
    let scene = Scene::new();
    let repo = scene.repo();
    scene.git(&repo, &["branch", "old"]);
    let tip = scene.commit(&repo, "later", "x");
    check_refused(&scene.worktree(&["create", "old"]), (4, "branch-taken"));
    let from = scene.worktree(&["create", "n", "--branch", "old", "--from", "main"]);
    check_refused(&from, (4, "branch-taken"));
    check_refused(&scene.worktree(&["create", "n", "--branch", "main"]), (4, "branch-in-use"));
    let used = scene.json(&["create", "n", "--branch", "old"]);
    assert_eq!(used["worktree"]["provenance"]["branchIsNew"], false);
    assert_ne!(scene.git(&repo, &["rev-parse", "old"]), tip);
}

#[test]
fn a_path_that_is_taken_is_not_touched() {
    let scene = Scene::new();
    let place = scene.env.work_dir().join("taken");
    write(&place.join("mine"), "mine");
    check_refused(&scene.worktree(&["create", "x", "--at", "../taken"]), (4, "path-taken"));
    check_refused(
        &scene.worktree(&["create", "x", "--at", "../taken/mine/below"]),
        (5, "worktree-unusable"),
    );
    assert_eq!(std::fs::read_to_string(place.join("mine")).unwrap(), "mine");
    assert!(!scene.git_holds(&scene.repo(), &["rev-parse", "--verify", "-q", "x"]));
    std::fs::create_dir(scene.env.work_dir().join("empty")).unwrap();
    scene.worktree(&["create", "x", "--at", "../empty"]).success();
}

#[test]
fn what_can_not_be_meant_is_refused() {
    let scene = Scene::new();
    for name in ["a b", "../x", "", "-x", "x.lock", "a..b"] {
        let output = scene.env.call(&["worktree", "create", "--", name]).cwd(scene.repo()).run();
        check_refused(&output, (2, "usage"));
    }
    let branch = scene.worktree(&["create", "x", "--branch", "@{-1}"]);
    check_refused(&branch, (2, "usage"));
    check_refused(&scene.worktree(&["create", "x", "--from", "nowhere"]), (3, "unknown-commit"));
    check_refused(&scene.worktree(&["create", "x", "--from", "--all"]), (2, "usage"));
    let outside = scene.env.run(&["worktree", "create", "x"]);
    check_refused(&outside, (5, "not-a-repository"));
    insta::assert_snapshot!(outside.normal());
    let no_git = scene.env.call(&["worktree", "list"]).cwd(scene.repo()).env("PATH", "/nowhere");
    check_refused(&no_git.run(), (5, "git-missing"));
}

#[test]
fn p056_a_worktree_made_beside_a_dirty_main_leaves_it_as_it_is() {
    let scene = Scene::new();
    let repo = scene.repo();
    write(&repo.join("a.txt"), "changed");
    write(&repo.join("new"), "untracked");
    scene.git(&repo, &["add", "a.txt"]);
    write(&repo.join("a.txt"), "changed again");
    let (before, status) = (files(&repo), scene.status(&repo));
    let index = std::fs::read(repo.join(".git/index")).unwrap();
    let dir = scene.create("x");
    assert_eq!(std::fs::read_to_string(dir.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    scene.worktree(&["rm", "x"]).success();
    assert_eq!(std::fs::read(repo.join(".git/index")).unwrap(), index);
    assert_eq!((files(&repo), scene.status(&repo)), (before, status));
}

#[test]
fn p058_a_worktree_whose_directory_is_gone_is_reported_and_not_made_anew() {
    let scene = Scene::new();
    let dir = scene.create("x");
    std::fs::remove_dir_all(&dir).unwrap();
    let output = scene.worktree(&["create", "x"]);
    check_refused(&output, (4, "worktree-gone"));
    assert!(!dir.exists());
    scene.worktree(&["rm", "x"]).success();
    scene.worktree(&["create", "x", "--branch", "x"]).success();
}

#[test]
fn p055_a_second_worktree_can_not_take_the_branch_or_the_place_of_a_first() {
    let scene = Scene::new();
    let dir = scene.create("x");
    check_refused(&scene.worktree(&["create", "y", "--branch", "x"]), (4, "branch-in-use"));
    let at = dir.display().to_string();
    check_refused(&scene.worktree(&["create", "y", "--at", &at]), (4, "path-taken"));
    // Nor may it be taken while only the directory is gone.
    std::fs::remove_dir_all(&dir).unwrap();
    check_refused(&scene.worktree(&["create", "y", "--at", &at]), (4, "path-taken"));
}

#[test]
fn no_hook_of_the_repository_runs_and_no_variable_of_gits_is_inherited() {
    let scene = Scene::new();
    let hooks = scene.repo().join(".git/hooks");
    let mark = scene.env.work_dir().join("hook-ran");
    for hook in ["post-checkout", "reference-transaction", "pre-commit", "post-index-change"] {
        write(&hooks.join(hook), format!("#!/bin/sh\necho {hook} >> {}\n", mark.display()));
        set_mode(&hooks.join(hook), 0o755);
    }
    let call = |arguments: &[&str]| {
        scene
            .env
            .call(&[&["worktree"], arguments].concat())
            .cwd(scene.repo())
            .env("GIT_DIR", "/nowhere")
            .env("GIT_INDEX_FILE", "/nowhere")
            .env("GIT_TRACE", "1")
            .run()
            .success()
    };
    let dir = call(&["create", "x"]).stdout;
    write(&Path::new(dir.trim_end()).join("new"), "x");
    call(&["list", "--dirty"]);
    call(&["rm", "x", "--delete-branch"]);
    call(&["rescue", "restore", "x"]);
    assert!(!mark.exists(), "{:?}", std::fs::read_to_string(&mark));
}

#[test]
fn a_repository_without_a_commit_gets_a_branch_without_one() {
    let scene = Scene::unborn();
    let dir = scene.create("x");
    assert_eq!(scene.git(&dir, &["branch", "--show-current"]), "x");
    write(&dir.join("first"), "kept");
    let removed = scene.json(&["rm", "x"]);
    let back = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "back");
    assert_eq!(std::fs::read_to_string(back.join("first")).unwrap(), "kept");
}

#[test]
fn a_bare_repository_has_worktrees_too() {
    let scene = Scene::new();
    let bare = scene.env.work_dir().join("origin.git");
    let call = |arguments: &[&str]| scene.env.call(arguments).cwd(&bare).run().success().stdout;
    let dir = call(&["worktree", "create", "x", "--from", "main"]);
    let dir = Path::new(dir.trim_end());
    write(&dir.join("a.txt"), "changed");
    insta::assert_snapshot!(hash_free(&scene.env.normal(&table(&call(&["worktree", "list"])))));
    call(&["worktree", "rm", "x"]);
    let back = call(&["worktree", "rescue", "restore", "x"]);
    let text = std::fs::read_to_string(Path::new(back.trim_end()).join("a.txt")).unwrap();
    assert_eq!(text, "changed");
}

/// Replaces commits, which differ by the time they were made.
fn table(text: &str) -> String {
    let words = |line: &str| {
        let word =
            |word: &str| match word.len() == 10 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
                true => "<commit>".to_owned(),
                false => word.to_owned(),
            };
        line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_worktree_can_be_made_and_removed_from_inside_of_another() {
    let scene = Scene::new();
    let outer = scene.create("outer");
    scene.commit(&outer, "c", "committed in outer");
    let made = scene.env.call(&["worktree", "create", "inner"]).cwd(&outer).run().success();
    let inner = Path::new(made.stdout.trim_end());
    // It begins where the caller stands.
    assert!(inner.join("c").exists());
    assert!(!inner.starts_with(&outer));
    scene.env.call(&["worktree", "rm", "inner"]).cwd(&outer).run().success();
    assert!(outer.join("c").exists() && !inner.exists());
}

#[test]
fn a_session_is_recorded_with_the_worktree_it_asked_for() {
    let scene = Scene::new();
    let id = "aaaa0000-0000-4000-8000-000000000001";
    let call = scene.env.call(&["worktree", "create", "x", "--json"]).cwd(scene.repo());
    let made = call.env("ORBH_SESSION_ID", id).run().success().stdout;
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["worktree"]["provenance"]["sessionId"], id);
    let dir = Path::new(made["worktree"]["path"].as_str().unwrap());
    assert_eq!(files(dir), files(&scene.repo()), "nothing of ours is in the tree");
}
