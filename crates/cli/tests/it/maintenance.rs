//! Checking and repairing.

use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use creel_record::SessionId;

use crate::scene::Scene;

fn snapshot_path(scene: &Scene, id: SessionId) -> PathBuf {
    scene.store.spool_dir().join(format!("{id}.json"))
}

/// Flips a bit of the log, in the line of the event with this sequence.
fn flip(scene: &Scene, id: SessionId, sequence: usize) {
    let path = scene.store.log_path(id);
    let bytes = std::fs::read(&path).unwrap();
    let line_start: usize =
        bytes.split(|b| *b == b'\n').take(sequence - 1).map(|l| l.len() + 1).sum();
    let at = line_start + 30;
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_at(&[bytes[at] ^ 1], at as u64).unwrap();
}

fn told(scene: &Scene) -> SessionId {
    let id = scene.peer("repaired");
    scene.as_agent(id, &["session", "set", "a", "b"]).run().success();
    scene.as_agent(id, &["session", "return", "--await", "kept"]).run().success();
    id
}

#[test]
fn checklist_3_a_deleted_snapshot_is_rebuilt_equal() {
    let scene = Scene::new();
    let id = told(&scene);
    let path = snapshot_path(&scene, id);
    let before = std::fs::read(&path).unwrap();
    let typed = id.to_string();
    let all = ["rebuild-session-snapshots"];
    insta::assert_snapshot!("sound", scene.run(&["rebuild-session-snapshots", &typed]).normal());
    std::fs::remove_file(&path).unwrap();
    insta::assert_snapshot!("missing", scene.run(&["inspect", &typed]).normal());
    let dry = scene.run(&["rebuild-session-snapshots", &typed, "--dry-run"]);
    insta::assert_snapshot!("dry_run", dry.normal());
    assert!(!path.exists());
    insta::assert_snapshot!("made_again", scene.run(&all).normal());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    insta::assert_snapshot!("json", scene.run(&["rebuild-session-snapshots", "--json"]).normal());
    scene.run(&["inspect", &typed]).success();
}

#[test]
fn a_flipped_bit_is_found_and_healed_and_hides_nothing_else() {
    let scene = Scene::new();
    let (id, other) = (told(&scene), told(&scene));
    let typed = id.to_string();
    insta::assert_snapshot!("clean", scene.run(&["verify"]).normal());
    flip(&scene, id, 3);
    insta::assert_snapshot!("found", scene.run(&["verify", &typed]).normal());
    insta::assert_snapshot!("found_json", scene.run(&["verify", &typed, "--json"]).normal());
    let set = scene.as_agent(id, &["session", "set", "c", "d"]).run();
    insta::assert_snapshot!("not_written", set.normal());
    let resumed = scene.run(&["resume", &typed, "go on"]);
    assert!(resumed.stderr.contains("[session-damaged]"), "{resumed:?}");
    assert!(resumed.stderr.contains(&format!("Next: creel heal {typed}")), "{resumed:?}");
    // What was published is still served, and nobody else is affected.
    assert!(scene.run(&["list"]).stdout.contains("[damaged] repaired"));
    scene.run(&["inspect", &typed]).success();
    scene.as_agent(other, &["session", "set", "c", "d"]).run().success();
    let before = std::fs::read(scene.store.log_path(id)).unwrap();
    insta::assert_snapshot!("would_heal", scene.run(&["heal", &typed, "--dry-run"]).normal());
    assert_eq!(std::fs::read(scene.store.log_path(id)).unwrap(), before);
    insta::assert_snapshot!("healed", scene.run(&["heal"]).normal());
    scene.run(&["verify"]).success();
    scene.as_agent(id, &["session", "set", "c", "d"]).run().success();
    assert_eq!(scene.run(&["result", &typed]).stdout, "kept");
    insta::assert_snapshot!("again", scene.run(&["heal", &typed]).normal());
}

#[test]
fn events_before_the_damage_are_printed_before_it_is_told() {
    let scene = Scene::new();
    let id = told(&scene);
    flip(&scene, id, 3);
    insta::assert_snapshot!(scene.run(&["events", &id.to_string()]).normal());
}
