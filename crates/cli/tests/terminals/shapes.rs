//! One session through restarts and in both shapes, under one id.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use creel_record::{EndReason, Mode, SessionId};

use crate::scene::Scene;

/// Puts an agent on the PATH that shows how it was started, and stays.
fn agent(scene: &Scene, name: &str) {
    let path = scene.env.root().join("bin").join(name);
    let script = "#!/bin/sh\nprintf 'started with:'; printf ' <%s>' \"$@\"; echo; read line\n";
    fs::write(&path, script).expect("it can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn reasons(scene: &Scene, id: SessionId) -> Vec<Option<EndReason>> {
    scene.session(id).runs.iter().map(|run| run.end_reason).collect()
}

#[test]
fn a_restart_is_a_new_run_of_the_same_session_and_refused_while_one_lives() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let text = id.to_string();
    scene.refused(&["restart", "-d", &text], 4, "run-live");
    scene.out(&["terminal", "send", &text, "exit 4", "-e"]);
    scene.ended(id);
    let restarted = scene.call(&["restart", "-d", &text]).run().success();
    assert_eq!(restarted.stdout.trim(), text);
    assert!(restarted.stderr.contains("sh starts over: it keeps no conversation"));
    scene.wait_for(id, "ready");
    let session = scene.session(id);
    assert_eq!((session.run_count, session.retention.as_str()), (2, "active"));
}

#[test]
fn a_restart_continues_the_agents_own_conversation_once_there_is_one() {
    let scene = Scene::new();
    agent(&scene, "claude");
    let id = scene.out(&["i", "-d", "claude", "the task"]).parse().expect("an id");
    scene.wait_for(id, "do what it says.>");
    let native = scene.until(id, |session| session.native_session_id.is_some());
    let native = native.native_session_id.expect("an id");
    let prompt = fs::read_to_string(scene.run_dir(id).join("prompt")).expect("a file");
    assert!(prompt.ends_with("the task"), "{prompt}");
    let text = id.to_string();
    scene.out(&["terminal", "send", &text, "-e"]);
    scene.ended(id);
    scene.out(&["restart", "-d", &text]);
    scene.wait_for(id, &format!("started with: <--resume> <{}", &native[..8]));
    scene.out(&["kill", &text]);
    scene.ended(id);
    let fresh = scene.call(&["restart", "-d", "--fresh", &text]).run().success();
    assert_eq!(fresh.stderr, "");
    scene.wait_for(id, "do what it says.>");
}

#[test]
fn a_conversation_counts_from_the_first_line_that_was_typed() {
    let scene = Scene::new();
    agent(&scene, "claude");
    let id = scene.out(&["i", "-d", "claude"]).parse().expect("an id");
    scene.wait_for(id, "started with: <--session-id>");
    let text = id.to_string();
    scene.out(&["terminal", "send", &text, "half a line"]);
    assert_eq!(scene.session(id).native_session_id, None);
    scene.out(&["terminal", "send", &text, "-e"]);
    scene.until(id, |session| session.native_session_id.is_some());
}

#[test]
fn a_session_switches_its_shape_and_keeps_its_id() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let text = id.to_string();
    scene.wait_for(id, "ready");
    scene.out(&["switch", "headless", &text, "creel session return --finish 'from alone'"]);
    scene.until(id, |session| session.result_count == 1);
    scene.ended(id);
    assert_eq!(scene.out(&["result", &text]), "from alone");
    assert_eq!(scene.session(id).mode, Mode::Headless);
    scene.out(&["switch", "interactive", &text, "--detached", "--size", "66x20", "echo back"]);
    scene.wait_for(id, "back");
    assert_eq!(scene.session(id).mode, Mode::Interactive);
    assert_eq!(scene.terminal(id).size.columns, 66);
    let expected = [Some(EndReason::Switched), Some(EndReason::Returned), None];
    assert_eq!(reasons(&scene, id), expected);
    let again = scene.call(&["switch", "interactive", &text, "-d"]).run().success();
    assert!(again.stderr.contains("Already: interactive"), "{again:?}");
}

#[test]
fn an_agent_does_not_switch_itself_into_nothing() {
    let scene = Scene::new();
    let id = scene.start("creel switch headless \"$ORBH_SESSION_ID\" go; echo switched-$?");
    scene.wait_for(id, "switched-4");
    assert_eq!(scene.session(id).mode, Mode::Interactive);
}

#[test]
fn inspect_tells_what_can_be_done_with_a_terminal() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    scene.wait_for(id, "ready");
    let inspect = || -> serde_json::Value {
        serde_json::from_str(&scene.out(&["inspect", &id.to_string(), "--json"])).expect("JSON")
    };
    let live = inspect();
    assert_eq!(live["terminal"]["state"], "live");
    assert_eq!(live["terminal"]["status"]["size"]["columns"], 80);
    assert_eq!((&live["canReattach"], &live["canRestart"]), (&true.into(), &false.into()));
    assert!(live["lastObserved"].as_str() >= live["updated"].as_str());
    scene.out(&["kill", &id.to_string()]);
    scene.ended(id);
    let ended = inspect();
    assert_eq!(ended["terminal"]["state"], "ended");
    assert_eq!((&ended["canReattach"], &ended["canRestart"]), (&false.into(), &true.into()));
}

#[test]
fn an_agent_types_for_itself_never_and_for_strangers_neither() {
    let scene = Scene::new();
    let other = scene.start("echo other").to_string();
    let script = format!(
        "creel terminal send \"$ORBH_SESSION_ID\" y; echo own-$?; creel terminal send {other} y; \
         echo other-$?; creel terminal read {other} >/dev/null; echo read-$?"
    );
    let id = scene.start(&script);
    scene.wait_for(id, "own-4");
    scene.wait_for(id, "other-4");
    scene.wait_for(id, "read-0");
}
