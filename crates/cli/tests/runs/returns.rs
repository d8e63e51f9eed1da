//! Returning a turn, once.

use std::time::Duration;

use creel_sys::process::ProcessIdentity;

use crate::world::{World, ends};

#[test]
fn the_same_return_sent_twice_is_answered_alike() {
    let world = World::new();
    let script = "creel session return --await text && creel session return --await text; \
                  creel session set codes $?";
    let id = world.launch(script);
    world.until(id, |session| session.interface.contains_key("codes"));
    let session = world.at_rest(id);
    assert_eq!(session.interface["codes"], "0");
    assert_eq!(session.result_count, 1);
}

#[test]
fn a_return_whose_first_caller_was_killed_before_it_answered_is_answered_and_stored_once() {
    let world = World::new();
    // Some die before anything is stored, some after: each at another instant of its life.
    for millis in (0..48).step_by(4) {
        let id = world.launch("creel session set phase ready; exec sleep 600");
        let run = world.until_phase(id, "ready").runs[0].id;
        let returns = || {
            world
                .call(&["session", "return", "--await", "kept"])
                .env("ORBH_SESSION_ID", id.to_string())
                .env("CREEL_RUN_ID", run.to_string())
        };
        let mut first = returns().spawn();
        let pid = i32::try_from(first.id()).expect("a pid is one");
        let process = ProcessIdentity::of(pid).expect("readable").expect("it is not collected");
        process.wait_gone(Duration::from_millis(millis)).expect("a wait");
        first.kill().expect("it is ours");
        first.wait().expect("it ends");
        let second = returns().run().success();
        assert_eq!((second.stdout.as_str(), second.stderr.as_str()), ("", ""), "{millis} ms");
        let session = world.at_rest(id);
        assert_eq!((session.result_count, ends(&session)), (1, vec!["returned"]), "{millis} ms");
        assert_eq!(world.out(&["result", &id.to_string()]), "kept");
    }
}

#[test]
fn a_different_second_return_is_refused_and_names_the_first() {
    let world = World::new();
    let script = "creel session return one; creel session return two 2> refusal; \
                  creel session set code $?";
    let id = world.launch(script);
    world.until(id, |session| session.interface.contains_key("code"));
    let session = world.at_rest(id);
    assert_eq!(session.interface["code"], "4");
    let refusal = world.file("refusal");
    assert!(refusal.contains("[already-returned]"), "{refusal}");
    assert!(refusal.contains("run 1"), "{refusal}");
    assert!(refusal.contains("--run 1"), "{refusal}");
    assert_eq!(world.out(&["result", &id.to_string()]), "one");
}

#[test]
fn a_late_return_is_stored_on_its_run_and_moves_nothing() {
    let world = World::new();
    let id = world.launch("creel session return --await early");
    let first = world.at_rest(id).runs[0].id;
    let script = "creel session set phase ready; exec sleep 600";
    world.out(&["resume", &id.to_string(), script]);
    world.until_phase(id, "ready");
    world.run(&["kill", &id.to_string()]).success();
    let killed = world.at_rest(id);
    assert_eq!(killed.work_state().as_str(), "abandoned");
    let second = killed.runs[1].id;

    let text = id.to_string();
    let late = |run: &str, payload: &str| {
        world
            .call(&["session", "return", payload])
            .env("ORBH_SESSION_ID", &text)
            .env("CREEL_RUN_ID", run)
            .run()
    };
    late(&second.to_string(), "too late").success();
    let session = world.session(id);
    assert_eq!(session.work_state().as_str(), "abandoned");
    assert_eq!(ends(&session), ["returned", "killed"]);
    assert_eq!(world.out(&["result", &text, "--run", "2"]), "too late");
    assert_eq!(world.out(&["result", &text, "--run", "1"]), "early");
    assert_eq!(late(&first.to_string(), "other").code, 4);
}
