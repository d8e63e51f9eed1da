//! What is not removed, and stays as it was.

use std::path::Path;

use crate::scene::{Scene, check_refused, files, write};

/// Checks that a worktree with work in it is refused, with and without force where force has no
/// say, and is as it was.
#[track_caller]
fn check(scene: &Scene, (name, dir): (&str, &Path), code: &str) {
    write(&dir.join("work"), "work");
    let before = files(dir);
    for flags in [&[][..], &["--force", "--delete-branch", "--drop-ignored"]] {
        let output = scene.worktree(&[&["rm", name], flags].concat());
        check_refused(&output, (4, code));
        assert!(output.stderr.contains("nothing was removed"), "{output:?}");
    }
    assert_eq!(files(dir), before);
    assert!(scene.rescues().is_empty());
    assert!(scene.worktree(&["show", name]).code == 0);
}

#[test]
fn the_main_worktree_is_refused() {
    let scene = Scene::new();
    check(&scene, ("repo", &scene.repo()), "worktree-main");
}

#[test]
fn a_locked_worktree_is_refused() {
    let scene = Scene::new();
    let dir = scene.create("x");
    scene.git(&scene.repo(), &["worktree", "lock", &dir.display().to_string()]);
    check(&scene, ("x", &dir), "worktree-locked");
    scene.git(&scene.repo(), &["worktree", "unlock", &dir.display().to_string()]);
    scene.worktree(&["rm", "x"]).success();
}

#[test]
fn a_worktree_that_holds_a_store_is_refused() {
    let scene = Scene::new();
    let dir = scene.create("x");
    let below = dir.join("sub");
    std::fs::create_dir(&below).unwrap();
    let root = below.join(".orb").display().to_string();
    scene.env.run(&["--orb-root", &root, "--create-store", "list"]).success();
    check(&scene, ("x", &dir), "worktree-holds-store");
}

#[test]
fn a_worktree_that_holds_a_store_of_another_name_is_refused() {
    let scene = Scene::new();
    let dir = scene.create("x");
    let root = dir.join("records").display().to_string();
    scene.env.run(&["--orb-root", &root, "--create-store", "list"]).success();
    check(&scene, ("x", &dir), "worktree-holds-store");
}

#[test]
fn p054_a_worktree_in_which_a_process_stands_is_refused_and_force_saves_all_the_same() {
    let scene = Scene::new();
    let dir = scene.create("x");
    write(&dir.join("src/new"), "work");
    // It blocks on a pipe that the test holds.
    let mut child = std::process::Command::new("cat")
        .current_dir(dir.join("src"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let refused = scene.worktree(&["rm", "x"]);
    check_refused(&refused, (4, "worktree-occupied"));
    assert!(refused.stderr.contains(&format!("cat (pid {})", child.id())), "{refused:?}");
    assert!(dir.join("src/new").exists());
    let removed = scene.json(&["rm", "x", "--force"]);
    assert!(child.try_wait().unwrap().is_none(), "nobody is ended");
    drop(child.stdin.take());
    child.wait().unwrap();
    let back = scene.restore(removed["rescue"]["id"].as_str().unwrap(), "back");
    assert_eq!(std::fs::read_to_string(back.join("src/new")).unwrap(), "work");
}

#[test]
fn a_link_at_the_place_of_a_worktree_is_refused_and_not_followed() {
    let scene = Scene::new();
    let dir = scene.create("x");
    let away = scene.env.work_dir().join("away");
    std::fs::rename(&dir, &away).unwrap();
    std::os::unix::fs::symlink(&away, &dir).unwrap();
    check(&scene, ("x", &dir), "worktree-displaced");
    assert!(away.join("work").exists());
}

#[test]
fn p055_another_directory_at_the_place_of_a_worktree_is_refused() {
    let scene = Scene::new();
    let dir = scene.create("x");
    scene.create("y");
    let y = dir.with_file_name("y");
    std::fs::rename(&dir, scene.env.work_dir().join("away")).unwrap();
    std::fs::create_dir(&dir).unwrap();
    check(&scene, ("x", &dir), "worktree-displaced");
    // Even one that says it is a worktree of the same repository.
    std::fs::copy(y.join(".git"), dir.join(".git")).unwrap();
    check(&scene, ("x", &dir), "worktree-displaced");
}

#[test]
fn a_worktree_inside_of_a_worktree_is_removed_first() {
    let scene = Scene::new();
    let outer = scene.create("outer");
    let at = outer.join("notes/inner").display().to_string();
    scene.worktree(&["create", "inner", "--at", &at]).success();
    check(&scene, ("outer", &outer), "worktree-holds-work");
    scene.worktree(&["rm", "inner"]).success();
    std::fs::remove_dir(outer.join("notes")).unwrap();
    scene.worktree(&["rm", "outer"]).success();
}

#[test]
fn a_repository_inside_goes_only_when_its_remote_has_all_of_it() {
    let scene = Scene::new();
    let dir = scene.create("x");
    let origin = scene.env.work_dir().join("origin.git").display().to_string();
    scene.git(&dir, &["clone", "-q", &origin, "target/dep"]);
    let inner = dir.join("target/dep");
    for spoil in ["change", "stash", "commit"] {
        match spoil {
            "change" => write(&inner.join("a.txt"), "changed"),
            "stash" => {
                scene.git(&inner, &["stash", "-q"]);
            }
            _ => {
                scene.git(&inner, &["stash", "drop", "-q"]);
                scene.commit(&inner, "c", "c");
            }
        }
        check(&scene, ("x", &dir), "worktree-holds-work");
    }
    scene.git(&inner, &["push", "-q", "origin", "HEAD:refs/heads/kept"]);
    let module = dir.join("module");
    scene.git(&dir, &["clone", "-q", &origin, "module"]);
    write(&module.join(".env"), "ignored there");
    check(&scene, ("x", &dir), "worktree-holds-work");
    std::fs::remove_file(module.join(".env")).unwrap();
    scene.worktree(&["rm", "x"]).success();
}

#[test]
fn a_submodule_goes_only_when_its_remote_has_all_of_it() {
    let scene = Scene::new();
    let repo = scene.repo();
    let origin = scene.env.work_dir().join("origin.git").display().to_string();
    scene.git(&repo, &["submodule", "--quiet", "add", &origin, "module"]);
    scene.git(&repo, &["commit", "-qm", "module"]);
    let dir = scene.create("x");
    scene.git(&dir, &["submodule", "--quiet", "update", "--init"]);
    let module = dir.join("module");
    scene.git(&module, &["switch", "-q", "-c", "topic"]);
    scene.commit(&module, "c", "only here");
    check(&scene, ("x", &dir), "worktree-holds-work");
    scene.git(&module, &["push", "-q", "origin", "topic"]);
    let removed = scene.json(&["rm", "x"]);
    assert_eq!(removed["rescue"]["description"]["submodules"][0], "module", "{removed}");
    // The commit that the module was at is in the files of the rescue.
    let reference = removed["rescue"]["ref"].as_str().unwrap();
    let entry = scene.git(&repo, &["ls-tree", reference, "module"]);
    let tip = scene.git(&scene.env.work_dir().join("origin.git"), &["rev-parse", "topic"]);
    assert!(entry.contains(&tip), "{entry}");
}

#[test]
fn a_directory_that_only_looks_like_a_repository_is_refused() {
    let scene = Scene::new();
    let dir = scene.create("x");
    std::fs::create_dir_all(dir.join("odd/.git")).unwrap();
    write(&dir.join("odd/file"), "x");
    check(&scene, ("x", &dir), "worktree-holds-work");
}

#[test]
fn a_name_that_is_no_worktree_removes_nothing() {
    let scene = Scene::new();
    let dir = scene.create("x");
    for name in ["y", "..", "/", "main", &dir.join("src").display().to_string()] {
        let output = scene.env.call(&["worktree", "rm", "--", name]).cwd(scene.repo()).run();
        check_refused(&output, (3, "unknown-worktree"));
    }
    assert!(dir.exists());
}
