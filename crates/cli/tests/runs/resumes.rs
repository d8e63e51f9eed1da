//! Further runs of a session.

use std::process::Child;

use crate::world::{World, ends, shelf};

/// Waits for both and returns their exit codes, sorted, with the loser's talk.
fn outcomes(children: Vec<Child>) -> (Vec<i32>, String) {
    let mut codes = Vec::new();
    let mut talk = String::new();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        codes.push(output.status.code().expect("an exit"));
        talk.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    codes.sort_unstable();
    (codes, talk)
}

#[test]
fn two_resumes_at_the_same_instant_start_one_runtime() {
    const ROUNDS: u64 = 20;
    let world = World::new();
    let gate = world.gate("gate");
    let id = world.launch("creel session return ready");
    let text = id.to_string();
    let script = format!("echo run >> runs; {}; creel session return again", gate.wait());
    for round in 1..=ROUNDS {
        world.at_rest(id);
        let both = (0..2).map(|_| world.call(&["resume", &text, &script]).spawn()).collect();
        let (codes, talk) = outcomes(both);
        assert_eq!(codes, [0, 4], "{talk}");
        assert!(talk.contains("[run-live]"), "{talk}");
        gate.open();
        let session = world.until(id, |s| s.run_count == 1 + round && s.live_run().is_none());
        assert_eq!(session.run_count, 1 + round);
    }
    assert_eq!(world.file("runs").lines().count() as u64, ROUNDS);
}

#[test]
fn a_live_run_is_not_resumed() {
    let world = World::new();
    let id = world.launch("creel session set phase ready; exec sleep 600");
    world.until_phase(id, "ready");
    let refusal = world.refused(&["resume", &id.to_string(), "true"], 4, "run-live");
    assert!(refusal.contains("run 1"), "{refusal}");
    assert_eq!(world.session(id).run_count, 1);
}

#[test]
fn a_run_that_has_returned_and_lingers_is_waited_for() {
    let world = World::new();
    let id = world.launch("creel session return first; exec sleep 600");
    world.until(id, |session| session.result_count == 1);
    world.out(&["resume", &id.to_string(), "creel session return second"]);
    world.until(id, |session| session.result_count == 2);
    let session = world.at_rest(id);
    assert_eq!(ends(&session), ["returned", "returned"]);
}

#[test]
fn a_discarded_session_is_taken_back_only_when_asked_to() {
    let world = World::new();
    let id = world.launch("creel session return once");
    world.at_rest(id);
    let text = id.to_string();
    world.run(&["discard", &text]).success();
    let refusal = world.refused(&["resume", &text, "true"], 4, "discarded");
    assert!(refusal.contains("--undiscard"), "{refusal}");
    world.out(&["resume", &text, "--undiscard", "creel session return twice"]);
    world.until(id, |session| session.result_count == 2);
    assert_eq!(shelf(&world.at_rest(id)), ("finished", "finished"));
}

#[test]
fn a_follow_up_request_waits_for_the_new_turn() {
    let world = World::new();
    let first = world.run(&["request", "-q", "sh", "creel session return --await one"]).success();
    let id = first.stderr.trim().strip_prefix("Session: ").expect("id").to_owned();
    let second = world.run(&["request", "-q", "-c", &id[..8], "creel session return --finish two"]);
    assert_eq!(second.success().stdout, "two");
    let session = world.at_rest(id.parse().expect("an id"));
    assert_eq!(session.run_count, 2);
    assert_eq!(session.runs[1].cause.as_str(), "request");
    assert_eq!(world.out(&["result", &id, "--run", "1"]), "one");
    assert_eq!(world.out(&["result", &id]), "two");
}

#[test]
fn a_resume_needs_a_prompt_and_an_existing_session() {
    let world = World::new();
    let id = world.launch("creel session return x");
    world.at_rest(id);
    world.refused(&["resume", &id.to_string()], 2, "usage");
    world.refused(&["resume", "00000000", "true"], 3, "unknown-id");
    world.refused(&["resume", &id.to_string(), "  "], 4, "empty");
    assert_eq!(world.session(id).run_count, 1);
}
