//! Reading verbs, and their shapes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::scene::Scene;

/// A session with something in every part.
fn told(scene: &Scene) -> creel_record::SessionId {
    let id = scene.peer("Say hello");
    for arguments in [
        ["session", "register", "Say hello", "A greeting, and its end"],
        ["session", "set", "phase", "writing"],
    ] {
        scene.as_agent(id, &arguments).run().success();
    }
    scene.as_agent(id, &["session", "return", "--await", "hello"]).run().success();
    scene.identify(id, "native-1");
    scene.exit(id, 0);
    id
}

#[test]
fn a_list_has_one_line_for_each_session() {
    let scene = Scene::new();
    assert_eq!(scene.run(&["list"]).normal(), "exit 0\n");
    told(&scene);
    scene.unstarted("evil \u{202e}\u{200b}title", None);
    insta::assert_snapshot!("table", scene.run(&["list"]).normal());
    insta::assert_snapshot!("json", scene.run(&["list", "--json"]).normal());
}

#[test]
fn a_list_within_a_session_is_json() {
    let scene = Scene::new();
    let id = told(&scene);
    let within = scene.as_agent(id, &["list"]).run();
    assert_eq!(within.stdout, scene.run(&["list", "--json"]).stdout);
}

#[test]
fn a_list_shows_what_is_asked_for() {
    let scene = Scene::new();
    let id = told(&scene);
    scene.peer("Other");
    let check = |arguments: &[&str], count: usize| {
        let all = [&["list", "--json"], arguments].concat();
        assert_eq!(scene.run(&all).stdout.lines().count(), count, "{arguments:?}");
    };
    check(&[], 2);
    check(&["-S", "awaiting"], 1);
    check(&["-S", "finished"], 0);
    check(&["-r", "sh"], 2);
    check(&["-r", "claude"], 0);
    check(&["-q", "GREETING"], 1);
    check(&["-q", &id.to_string()[..8]], 1);
    check(&["--limit", "1"], 1);
    let wrong = scene.run(&["list", "-S", "asleep"]);
    insta::assert_snapshot!(wrong.normal());
}

#[test]
fn checklist_14_a_discarded_session_is_hidden_from_the_list() {
    let scene = Scene::new();
    let id = told(&scene);
    scene.append(id, |_| creel_record::event::fact::SessionDiscarded::default().into());
    assert_eq!(scene.run(&["list", "--json"]).stdout, "");
    assert_eq!(scene.run(&["list", "--json", "--all"]).stdout.lines().count(), 1);
}

#[test]
fn a_session_is_shown_whole() {
    let scene = Scene::new();
    let id = told(&scene).to_string();
    insta::assert_snapshot!("inspect", scene.run(&["inspect", &id, "--results"]).normal());
    let json = scene.run(&["inspect", &id, "--json", "--results"]);
    insta::assert_snapshot!("inspect_json", json.normal());
    insta::assert_snapshot!("peek", scene.run(&["peek", &id]).normal());
    let peek = scene.run(&["peek", &id, "--json"]);
    assert_eq!(peek.stdout, scene.run(&["list", "--json"]).stdout);
    insta::assert_snapshot!("events", scene.run(&["events", &id]).normal());
    insta::assert_snapshot!("result_json", scene.run(&["result", &id, "--json"]).normal());
}

#[test]
fn checklist_8_each_run_keeps_its_own_result() {
    let scene = Scene::new();
    let id = scene.peer("turns");
    for turn in 1..=12 {
        if turn > 1 {
            scene.start(id);
        }
        if turn != 3 {
            scene
                .as_agent(id, &["session", "return", "--await", &format!("r{turn}")])
                .run()
                .success();
        }
        scene.exit(id, 0);
    }
    let id = id.to_string();
    let check = |run: Option<&str>, expected: &str| {
        let mut arguments = vec!["result", &id];
        arguments.extend(run.iter().flat_map(|run| ["--run", run]));
        assert_eq!(scene.run(&arguments).stdout, expected, "{run:?}");
    };
    check(None, "r12");
    check(Some("1"), "r1");
    check(Some("12"), "r12");
    insta::assert_snapshot!(
        "of_a_run_that_returned_nothing",
        scene.run(&["result", &id, "--run", "3"]).normal()
    );
    insta::assert_snapshot!("of_no_run", scene.run(&["result", &id, "--run", "13"]).normal());
}

#[test]
fn a_follower_sees_what_is_written_later() {
    let scene = Scene::new();
    let id = scene.peer("followed");
    let mut follower = scene.env.call(&["events", &id.to_string(), "--follow", "--json"]).spawn();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().contains("orbh.session.created"));
    assert!(next().contains("orbh.run.started"));
    scene.as_agent(id, &["session", "set", "a", "b"]).run().success();
    let line = next();
    assert!(line.contains("orbh.session.interface_set"), "{line}");
    assert!(line.contains("\"sequence\":\"0000000000000003\""), "{line}");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_follower_whom_nobody_reads_ends_without_another_event() {
    let scene = Scene::new();
    let id = scene.peer("followed");
    let mut follower = scene.env.call(&["events", &id.to_string(), "--follow"]).spawn();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("orbh.session.created"));
    drop(lines);
    assert!(follower.wait().unwrap().success());
}

#[test]
fn a_closed_pipe_is_quiet_success() {
    let scene = Scene::new();
    let id = scene.peer("quiet");
    let long = "x".repeat(4 * 1024 * 1024);
    scene.as_agent(id, &["session", "return", "-"]).stdin(long).run().success();
    let mut call = scene.env.call(&["result", &id.to_string()]).spawn();
    let mut out = call.stdout.take().unwrap();
    let mut some = [0; 10];
    out.read_exact(&mut some).unwrap();
    drop(out);
    let output = call.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let scene = Scene::new();
    let id = scene.peer("full");
    let line = format!("creel inspect {id} >/dev/full");
    let full = scene.env.call_of("sh", &["-c", &line]).run();
    insta::assert_snapshot!(full.normal());
}

#[test]
fn both_names_run_the_same_verbs() {
    let scene = Scene::new();
    told(&scene);
    let expected = scene.run(&["list", "--json"]);
    let check = |program: &str, arguments: &[&str]| {
        let output = scene.env.call_of(program, arguments).run();
        assert_eq!(output.stdout, expected.stdout, "{program} {arguments:?}");
    };
    check("creel", &["orbh", "list", "--json"]);
    check("flint", &["orbh", "list", "--json"]);
    check(env!("CARGO_BIN_EXE_flint"), &["orbh", "list", "--json"]);
    let other = scene.env.call_of("flint", &["list"]).run();
    insta::assert_snapshot!(other.normal());
}

/// Every file of the store with its bytes.
fn bytes(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(bytes(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn checklist_2_a_mutation_is_one_line_and_a_read_is_none() {
    let scene = Scene::new();
    let id = scene.peer("lines");
    let lines = || std::fs::read_to_string(scene.store.log_path(id)).unwrap().lines().count();
    for arguments in [
        &["session", "register", "Lines", "One each"][..],
        &["session", "set", "phase", "counting"],
        &["session", "note", "a\nb"],
        &["session", "artifact", "out"],
        &["session", "return", "--await", "done"],
    ] {
        let before = lines();
        scene.as_agent(id, arguments).run().success();
        assert_eq!(lines(), before + 1, "{arguments:?}");
        // The snapshot is what the log adds up to, each time.
        scene.run(&["verify", &id.to_string()]).success();
    }
    // The feed is a cache, which the first list completes.
    scene.run(&["list"]).success();
    let before = bytes(scene.store.root());
    let typed = id.to_string();
    let reads = [
        &["list"][..],
        &["list", "--json", "--all"],
        &["inspect", &typed, "--results"],
        &["peek", &typed],
        &["events", &typed],
        &["result", &typed],
        &["session", &typed, "get", "phase"],
        &["wait", &typed],
        &["verify"],
        &["heal"],
        &["rebuild-session-snapshots", "--dry-run"],
        &["scope"],
    ];
    for arguments in reads {
        scene.run(arguments).success();
        assert!(bytes(scene.store.root()) == before, "{arguments:?} changed the store");
    }
    // No read folds the log: one line of it that is nobody's text may as well be damaged.
    let log = scene.store.log_path(id);
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replace("counting", "conuting")).unwrap();
    for arguments in reads.iter().filter(|read| !["events", "verify", "heal"].contains(&read[0])) {
        if arguments[0] != "rebuild-session-snapshots" {
            scene.run(arguments).success();
        }
    }
    assert_eq!(scene.run(&["session", &typed, "get", "phase"]).stdout, "counting\n");
}

/// Puts an earlier snapshot of a session back, as a power loss does that comes before its rename is
/// on the disk.
fn stale(scene: &Scene, id: creel_record::SessionId, later: impl FnOnce()) {
    let log = scene.store.log_path(id);
    let path = log.with_extension("json");
    let earlier = std::fs::read(&path).unwrap();
    later();
    std::fs::write(&path, earlier).unwrap();
}

#[test]
fn what_is_read_of_a_stale_session_is_said_to_be() {
    let scene = Scene::new();
    let id = scene.peer("stale");
    let id_text = id.to_string();
    let set = |value: &str| {
        scene.as_agent(id, &["session", "set", "k", value]).run().success();
    };
    set("old");
    scene.as_agent(id, &["session", "return", "--await", "one"]).run().success();
    stale(&scene, id, || set("new"));
    for arguments in [&["session", &id_text, "get", "k"][..], &["result", &id_text]] {
        let output = scene.run(arguments).success();
        let next = format!("creel rebuild-session-snapshots {id}");
        assert!(output.stderr.contains(&next), "{arguments:?}: {output:?}");
    }
    let peeked = scene.run(&["peek", &id_text]).success().stdout;
    assert!(peeked.contains("stale: "), "{peeked}");
    scene.run(&["rebuild-session-snapshots", &id_text]).success();
    let output = scene.run(&["session", &id_text, "get", "k"]).success();
    assert_eq!((output.stdout.trim(), output.stderr.as_str()), ("new", ""));
}

#[test]
fn a_wait_tells_no_outcome_that_the_log_has_gone_past() {
    let scene = Scene::new();
    let id = scene.peer("stale");
    scene.as_agent(id, &["session", "return", "--await", "one"]).run().success();
    scene.exit(id, 0);
    stale(&scene, id, || {
        scene.start(id);
    });
    let output = scene.run(&["wait", &id.to_string(), "--timeout", "0"]);
    assert_eq!((output.code, output.stdout.as_str()), (7, &*format!("{id} pending\n")));
}
