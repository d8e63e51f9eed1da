//! Worktrees and the sessions that work in them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::scene::Scene;

/// Makes the repository `repo` with a commit, and the worktree `x` of it.
fn worktree(scene: &Scene) -> (PathBuf, PathBuf) {
    let repo = scene.env.work_dir().join("repo");
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    let git = |arguments: &[&str]| {
        let all = [&["-C", "repo"], &identity[..], arguments].concat();
        scene.env.call_of("git", &all).run().success();
    };
    scene.env.call_of("git", &["init", "-q", "-b", "main", "repo"]).run().success();
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let made = scene.env.call(&["worktree", "create", "x"]).cwd(&repo).run().success().stdout;
    (repo, PathBuf::from(made.trim_end()))
}

fn rows(scene: &Scene, repo: &Path) -> Vec<Value> {
    let output = scene.env.call(&["worktree", "ps", "--json"]).cwd(repo).run().success();
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_worktree_is_shown_with_the_sessions_that_work_in_it() {
    let scene = Scene::new();
    let (repo, dir) = worktree(&scene);
    std::fs::create_dir(dir.join("sub")).unwrap();
    let inside = scene.unstarted_in("inside", &dir.join("sub"));
    scene.start(inside);
    let idle = scene.unstarted_in("idle", &dir);
    let main = scene.unstarted_in("main", &repo);
    scene.unstarted("elsewhere", None);
    let found: Vec<(String, Vec<(String, bool)>)> = rows(&scene, &repo)
        .iter()
        .map(|row| {
            let session = |session: &Value| {
                (session["id"].as_str().unwrap().to_owned(), session["isLive"].as_bool().unwrap())
            };
            let name = row["worktree"]["name"].as_str().unwrap().to_owned();
            (name, row["sessions"].as_array().unwrap().iter().map(session).collect())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("repo".to_owned(), vec![(main.to_string(), false)]),
            ("x".to_owned(), vec![(idle.to_string(), false), (inside.to_string(), true)]),
        ]
    );
    let table = scene.env.call(&["worktree", "ps"]).cwd(&repo).run();
    insta::assert_snapshot!(table.normal());
}

#[test]
fn p054_the_worktree_of_a_live_session_is_refused_whatever_is_forced() {
    let scene = Scene::new();
    let (repo, dir) = worktree(&scene);
    let id = scene.unstarted_in("live", &dir);
    scene.start(id);
    for flags in [&[][..], &["--force"]] {
        let arguments = [&["worktree", "rm", "x"], flags].concat();
        let refused = scene.env.call(&arguments).cwd(&repo).run();
        assert_eq!(refused.code, 4, "{refused:?}");
        assert!(refused.stderr.contains("[worktree-session-live]"), "{refused:?}");
        assert!(refused.stderr.ends_with(&format!("Next: creel end {id}\n")), "{refused:?}");
        assert!(dir.exists());
    }
    // Once its run has ended, dirty or not, the worktree stays until somebody removes it.
    std::fs::write(dir.join("work"), "p051").unwrap();
    scene.exit(id, 0);
    assert!(dir.join("work").exists());
    assert_eq!(rows(&scene, &repo)[1]["sessions"][0]["isLive"], false);
    let removed = scene.env.call(&["worktree", "rm", "x", "--json"]).cwd(&repo).run().success();
    let removed: Value = serde_json::from_str(&removed.stdout).unwrap();
    assert_eq!(removed["rescue"]["description"]["untrackedCount"], 1);
}

#[test]
fn a_session_of_any_registered_store_counts() {
    let scene = Scene::new();
    let (repo, dir) = worktree(&scene);
    let id = scene.unstarted_in("live", &dir);
    scene.start(id);
    // Another store is the one in use.
    let other = scene.env.work_dir().join("other").display().to_string();
    let arguments = ["--orb-root", &other, "--create-store", "worktree", "rm", "x"];
    let refused = scene.env.call(&arguments).cwd(&repo).run();
    assert!(refused.stderr.contains("[worktree-session-live]"), "{refused:?}");
}
