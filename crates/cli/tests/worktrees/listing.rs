//! What is listed, whoever made it.

use serde_json::Value;

use crate::scene::{Scene, check_refused, write};

fn rows(scene: &Scene, arguments: &[&str]) -> Vec<Value> {
    let output = scene.worktree(&[&["list", "--json"], arguments].concat()).success();
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn external_locked_missing_detached_and_dirty_worktrees_are_told_apart() {
    let scene = Scene::new();
    let repo = scene.repo();
    let ours = scene.create("ours");
    write(&ours.join("new"), "x");
    scene.git(&repo, &["worktree", "add", "-q", "../external"]);
    scene.git(&repo, &["worktree", "add", "-q", "--detach", "../detached"]);
    scene.git(&repo, &["worktree", "lock", "--reason", "on a stick", "../detached"]);
    scene.git(&repo, &["worktree", "add", "-q", "../missing"]);
    std::fs::remove_dir_all(scene.env.work_dir().join("missing")).unwrap();
    let state = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
        let is = |key: &str| row[key].as_bool().unwrap();
        let words = ["isMain", "isDetached", "isLocked", "isMissing"].into_iter();
        let mut words: Vec<String> = words.filter(|key| is(key)).map(str::to_owned).collect();
        words.extend((!row["provenance"].is_null()).then(|| "ours".to_owned()));
        words.extend((!row["prunable"].is_null()).then(|| "prunable".to_owned()));
        words.extend((row["changes"]["isClean"] == false).then(|| "dirty".to_owned()));
        format!("{} {} {}", text("name"), text("branch"), words.join(","))
    };
    let mut found: Vec<String> = rows(&scene, &["--dirty"]).iter().map(state).collect();
    found[1..].sort();
    assert_eq!(
        found,
        [
            "repo main isMain",
            "detached - isDetached,isLocked",
            "external external ",
            "missing missing isMissing,prunable",
            "ours ours ours,dirty",
        ]
    );
    // Nobody is asked about changes unasked.
    assert!(rows(&scene, &[]).iter().all(|row| row["changes"].is_null()));
    let shown = scene.worktree(&["show", "detached"]).success().stdout;
    assert!(shown.contains("on a stick"), "{shown}");
    check_refused(&scene.worktree(&["show", "nothing"]), (3, "unknown-worktree"));
}

#[test]
fn paths_of_any_bytes_are_listed() {
    let scene = Scene::new();
    scene.git(&scene.repo(), &["worktree", "add", "-q", "-b", "x", "../two\nlines"]);
    let found = rows(&scene, &[]);
    let path = found[1]["path"].as_str().unwrap();
    assert!(path.ends_with("/two\nlines"), "{path}");
    // By its path it is found, and in a table it is one line.
    let shown = scene.json(&["show", "../two\nlines"]);
    assert_eq!(shown["branch"], "x");
    assert_eq!(scene.worktree(&["list"]).success().stdout.lines().count(), 3);
    scene.worktree(&["rm", "../two\nlines"]).success();
    assert_eq!(rows(&scene, &[]).len(), 1);
}

#[test]
fn a_list_runs_two_git_processes_and_changes_nothing() {
    let scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.create(name);
    }
    let log = scene.env.work_dir().join("calls");
    let bin = scene.env.work_dir().join("shim");
    write(
        &bin.join("git"),
        format!(
            "#!/bin/sh\necho x >> {}\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
            log.display()
        ),
    );
    crate::scene::set_mode(&bin.join("git"), 0o755);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let index = std::fs::read(scene.repo().join(".git/index")).unwrap();
    let call = scene.env.call(&["worktree", "list"]).cwd(scene.repo()).env("PATH", path);
    assert_eq!(call.run().success().stdout.lines().count(), 5);
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 2);
    assert_eq!(std::fs::read(scene.repo().join(".git/index")).unwrap(), index);
}
