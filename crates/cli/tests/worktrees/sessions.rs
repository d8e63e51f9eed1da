//! Sessions that are started in worktrees of their own.

use crate::scene::Scene;

fn start(scene: &Scene, arguments: &[&str]) -> creel_testkit::env::Output {
    let words = [&["interactive", "--detached"], arguments].concat();
    scene.env.call(&words).cwd(scene.repo()).run()
}

#[test]
fn a_session_starts_in_a_worktree_that_is_made_or_was_there() {
    let scene = Scene::new();
    for _ in 0..2 {
        let id = start(&scene, &["--worktree", "fix-login", "shell"]).success().stdout;
        let id = id.trim();
        let found = scene.json(&["show", "fix-login"]);
        let session = scene.env.run(&["inspect", "--json", id]).success().stdout;
        let session: serde_json::Value = serde_json::from_str(&session).unwrap();
        assert_eq!(session["cwd"], found["path"]);
        scene.env.run(&["kill", id]).success();
    }
}

#[test]
fn a_start_that_is_refused_makes_no_worktree() {
    let scene = Scene::new();
    let nothing = start(&scene, &["--worktree", "no/name", "shell"]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    let both = start(&scene, &["--worktree", "one", "--cwd", ".", "shell"]);
    assert_eq!(both.code, 2, "{both:?}");
    let missing = start(&scene, &["--worktree", "one", "--file", "nowhere", "shell"]);
    assert_ne!(missing.code, 0, "{missing:?}");
    let outside = ["interactive", "--detached", "--worktree", "one", "shell"];
    let outside = scene.env.call(&outside).cwd(scene.env.home()).run();
    assert!(outside.stderr.contains("[not-a-repository]"), "{outside:?}");
    let listed = scene.worktree(&["list"]).success().stdout;
    assert!(!listed.contains("one"), "{listed}");
}
