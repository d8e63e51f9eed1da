//! Starts and requests that are refused: each says what and why, and nothing else stops.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use creel_record::EndReason;

use crate::scene::Scene;

/// Checks that a start is refused and makes no session that lives.
#[track_caller]
fn check(scene: &Scene, arguments: &[&str], (code, word): (i32, &str), says: &str) {
    let refusal = scene.refused(arguments, code, word);
    assert!(refusal.stderr.contains(says), "{refusal:?}");
    let live = scene.out(&["terminal", "list"]);
    assert_eq!(live, "", "{arguments:?} left something alive");
}

#[test]
fn sizes_that_no_terminal_has_start_nothing() {
    let scene = Scene::new();
    for size in ["0x0", "10000x10000", "1x24", "80x0", "80", "80x", "axb"] {
        check(&scene, &["i", "-d", "--size", size, "sh"], (2, "terminal-size"), size);
    }
    assert_eq!(scene.out(&["list", "--all"]), "");
    let id = scene.start("echo up");
    let id = id.to_string();
    scene.refused(&["terminal", "resize", &id, "0x0"], 2, "terminal-size");
    scene.refused(&["terminal", "resize", &id, "10000x10000"], 2, "terminal-size");
    assert_eq!(scene.terminal(id.parse().expect("an id")).size.columns, 80);
}

#[test]
fn without_a_terminal_nothing_is_started_that_would_need_one() {
    let scene = Scene::new();
    for arguments in [&["i", "sh"][..], &["interactive"], &["shell"]] {
        check(&scene, arguments, (2, "not-a-terminal"), "--detached");
    }
    let id = scene.start("echo up").to_string();
    scene.refused(&["attach", &id], 2, "not-a-terminal");
}

#[test]
fn a_program_that_cannot_run_says_what_stands_in_its_way() {
    let scene = Scene::new();
    let program = |name: &str, text: &str, mode: u32| {
        let path = scene.env.root().join("bin").join(name);
        fs::write(&path, text).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
        path
    };
    program("claude", "#!/no/such/interpreter\n", 0o755);
    check(
        &scene,
        &["i", "-d", "claude"],
        (1, "spawn-failed"),
        "its interpreter /no/such/interpreter is missing",
    );
    check(&scene, &["i", "-d", "codex"], (5, "target-unavailable"), "not on the PATH");
    program("codex", "#!/bin/sh\n", 0o644);
    check(&scene, &["i", "-d", "codex"], (5, "target-unavailable"), "not on the PATH");
}

#[test]
fn a_directory_that_is_none_is_refused_and_one_that_went_away_is_told() {
    let scene = Scene::new();
    check(&scene, &["i", "-d", "--cwd", "/no/such", "sh"], (2, "usage"), "/no/such");
    check(&scene, &["i", "-d", "--cwd", "/etc/passwd", "sh"], (2, "usage"), "no directory");
    let dir = scene.env.work_dir().join("gone");
    fs::create_dir(&dir).expect("a directory");
    let id = scene.out(&["i", "-d", "--cwd", "gone", "sh", "exit 0"]);
    let id = id.parse().expect("an id");
    scene.ended(id);
    fs::remove_dir(&dir).expect("it is empty");
    let refusal = scene.refused(&["restart", "-d", &id.to_string()], 1, "spawn-failed");
    assert!(refusal.stderr.contains("can't enter the working directory"), "{refusal:?}");
    let run = scene.ended(id);
    assert_eq!(run.end_reason, Some(EndReason::SpawnFailed));
}

#[test]
fn a_runtime_directory_that_cannot_be_ours_is_refused() {
    let scene = Scene::new();
    let link = scene.env.root().join("link");
    symlink(scene.env.runtime_dir(), &link).expect("a link");
    let long = scene.env.root().join("x".repeat(90));
    let others = scene.env.root().join("others");
    fs::create_dir(&others).expect("a directory");
    std::os::unix::fs::chown(&others, Some(12345), None).expect("we are root");
    for (dir, says) in
        [(&link, "a symbolic link"), (&long, "more than 103"), (&others, "belongs to user 12345")]
    {
        let call = scene.call(&["i", "-d", "sh"]).env("CREEL_RUNTIME_DIR", dir);
        let output = call.run();
        assert_ne!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
    assert_eq!(scene.out(&["terminal", "list"]), "");
}

#[test]
fn a_run_without_a_terminal_has_none_to_show() {
    let scene = Scene::new();
    let id = scene.out(&["launch", "sh", "sleep 1000"]);
    scene.refused(&["terminal", "read", &id], 4, "no-terminal");
    scene.refused(&["terminal", "send", &id, "x"], 4, "no-terminal");
    let mut viewing = scene.call(&["attach", &id]).on_terminal(80, 24);
    viewing.ended();
    assert!(viewing.text().contains("[no-terminal]"), "{}", viewing.text());
}
