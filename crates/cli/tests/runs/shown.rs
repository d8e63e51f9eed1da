//! What the README's first command shows.

use crate::recovery::kill_machinery;
use crate::world::{World, told};

#[test]
fn the_first_command_prints_the_result_and_nothing_else() {
    let world = World::new();
    let script = "creel session set phase demo; \
                  creel session return --finish \"hello from $(basename \"$PWD\")\"";
    let output = world.run(&["request", "-q", "sh", script]).success();
    let dir = world.env.work_dir();
    let expected = format!("hello from {}", dir.file_name().expect("a name").to_string_lossy());
    assert_eq!(output.stdout, expected);
    let id = output.stderr.trim().strip_prefix("Session: ").expect("its id is told").to_owned();
    assert_eq!(world.out(&["result", &id]), expected);
    let inspected: serde_json::Value =
        serde_json::from_str(&world.out(&["inspect", &id, "--json"])).expect("JSON");
    assert_eq!(inspected["interface"]["phase"], "demo");
    assert_eq!(inspected["workState"], "finished");
    assert!(world.out(&["list"]).contains(&id[..8]));
    assert!(world.out(&["events", &id]).contains("orbh.run.returned"));
}

#[test]
fn without_quiet_the_result_is_still_alone_on_standard_output() {
    let world = World::new();
    let script = "creel session set phase one; creel session return done";
    let output = world.run(&["request", "sh", script]).success();
    assert_eq!(output.stdout, "done");
    assert!(output.stderr.contains("finished: run 1, one"), "{output:?}");
}

#[test]
fn both_names_are_on_the_path_of_an_agent() {
    let world = World::new();
    let script = "flint orbh session set name \"$(basename \"$(command -v flint)\")\"; \
                  flint orbh session return --await \"$ORBH_SESSION_ID $ORBH_CWD\"";
    let output = world.run(&["request", "-q", "sh", script]).success();
    let id = output.stderr.trim().strip_prefix("Session: ").expect("its id is told");
    assert_eq!(output.stdout, format!("{id} {}", world.env.work_dir().display()));
    assert_eq!(world.out(&["session", id, "get", "name"]), "flint");
}

#[test]
fn a_prompt_comes_from_standard_input_or_a_file_and_is_in_no_arguments() {
    let world = World::new();
    let script = "creel session return \"$(tr '\\0' ' ' < /proc/$PPID/cmdline | grep -c SECRET)\" \
                  # SECRET";
    let output = world.call(&["request", "-q", "sh", "-"]).stdin(script).run().success();
    assert_eq!(output.stdout, "0");
    std::fs::write(world.env.work_dir().join("p"), "creel session return filed").expect("a file");
    assert_eq!(world.run(&["request", "-q", "sh", "--file", "p"]).success().stdout, "filed");
    world.refused(&["request", "-q", "sh", "--file", "p", "and text"], 2, "usage");
    world.refused(&["request", "-q", "sh"], 2, "usage");
    world.refused(&["launch", "sh", ""], 4, "empty");
}

#[test]
fn a_timed_out_request_leaves_the_session_running_and_its_result_is_collected_later() {
    let world = World::new();
    let gate = world.gate("gate");
    let script = format!("{}; creel session return late", gate.wait());
    let output = world.run(&["request", "-q", "--timeout", "1", "sh", &script]);
    assert_eq!(output.code, 7, "{output:?}");
    assert!(output.stderr.contains("pending"), "{output:?}");
    let id = output.stderr.lines().next().expect("a line").strip_prefix("Session: ").expect("id");
    gate.open();
    world.run(&["wait", id]).success();
    assert_eq!(world.out(&["result", id]), "late");
}

#[test]
fn an_interrupted_request_leaves_the_session_running_and_says_how_to_collect() {
    use creel_sys::process::{ProcessIdentity, Signal};
    let world = World::new();
    let gate = world.gate("gate");
    let script =
        format!("creel session set phase ready; {}; creel session return late", gate.wait());
    let mut request = world.call(&["request", "-q", "sh", &script]).spawn();
    let id = told(&mut request);
    world.until_phase(id.parse().expect("an id"), "ready");
    let pid = i32::try_from(request.id()).expect("a pid");
    let process = ProcessIdentity::of(pid).expect("readable").expect("it waits");
    process.signal(Signal::INT).expect("it is ours");
    let output = request.wait_with_output().expect("it ends");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{talk}");
    assert!(talk.contains(&format!("Next: creel wait {id}")), "{talk}");
    gate.open();
    world.run(&["wait", &id]).success();
    assert_eq!(world.out(&["result", &id]), "late");
}

#[test]
fn an_inspection_tells_who_has_the_lease_and_what_bounds_the_run() {
    let world = World::new();
    let id = world.launch("creel session set phase ready; exec sleep 600");
    world.until_phase(id, "ready");
    let look = || {
        let text = world.out(&["inspect", &id.to_string(), "--json"]);
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["lease"].clone()
    };
    // Nothing but the lease itself tells before its processes are recorded.
    assert_eq!(look()["held"], true);
    let session = world.until(id, |s| s.live_run().is_some_and(|run| run.holder.is_some()));
    let group = session.live_run().and_then(|run| run.cgroup.clone());
    let boundary = group.unwrap_or_else(|| "process session".to_owned());
    assert_eq!(look()["boundary"], boundary);
    let text = world.out(&["inspect", &id.to_string()]);
    assert!(text.contains(&format!("Boundary     {boundary}")), "{text}");
    world.run(&["kill", &id.to_string()]).success();
    world.at_rest(id);
    assert_eq!((look()["held"].clone(), look().get("boundary").cloned()), (false.into(), None));
    let lease = world.store().lease(id).expect("it can be asked for").expect("it is free");
    assert_eq!(look()["held"], true, "whoever has it, and whatever for");
    drop(lease);
}

#[test]
fn a_lease_is_not_held_by_an_agent_that_nobody_keeps() {
    let world = World::new();
    let id = world.launch(
        "trap '' TERM HUP; creel session set phase ready; while :; do sleep 600 & wait; done",
    );
    world.until_phase(id, "ready");
    let session = world.until(id, |s| s.live_run().is_some_and(|run| run.agent.is_some()));
    kill_machinery(&session);
    let text = world.out(&["inspect", &id.to_string(), "--json"]);
    let view: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(view["lease"]["held"], false);
    world.run(&["kill", &id.to_string()]).success();
}
