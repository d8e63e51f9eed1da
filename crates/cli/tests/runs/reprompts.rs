//! Turns that return nothing.

use std::process::Child;

use creel_record::SessionId;

use crate::recovery::kill_machinery;
use crate::world::{World, ends, shelf};

#[test]
fn a_script_that_never_returns_is_prompted_again_exactly_twice_and_can_be_resumed() {
    let world = World::new();
    let script = "echo run >> runs; printf '%s\\n' \"$ORBH_PROMPT\" >> prompts; cat >> inputs";
    let id = world.launch(script);
    world.until(id, |session| session.work_state().as_str() == "awaiting");
    let session = world.at_rest(id);
    assert_eq!(shelf(&session), ("awaiting", "error"));
    assert_eq!(ends(&session), ["exit-zero", "exit-zero", "failed-unreturned"]);
    let attempts: Vec<_> = session.runs.iter().map(|run| run.attempt).collect();
    assert_eq!(attempts, [0, 1, 2]);
    for pair in session.runs.windows(2) {
        assert_eq!(pair[1].continues_run_id, Some(pair[0].id));
    }
    assert_eq!(world.file("runs").lines().count(), 3);
    for text in [world.file("prompts"), world.file("inputs")] {
        assert!(text.contains("re-prompt 1 of 2"), "{text}");
        assert!(text.contains("re-prompt 2 of 2"), "{text}");
        assert_eq!(text.matches("re-prompt").count(), 3, "the second one says it twice: {text}");
    }

    let resumed = world.out(&["resume", &id.to_string(), "creel session return --finish fine"]);
    assert_eq!(resumed, id.to_string());
    world.until(id, |session| session.work_state().as_str() == "finished");
    let session = world.at_rest(id);
    assert_eq!(shelf(&session), ("finished", "finished"));
    assert_eq!(session.run_count, 4);
    assert_eq!(world.out(&["result", &id.to_string()]), "fine");
}

#[test]
fn a_turn_that_returns_after_a_reprompt_settles_the_request_that_waits() {
    let world = World::new();
    let script = "if [ -n \"$ORBH_PROMPT\" ]; then creel session return second; fi";
    let output = world.run(&["request", "-q", "sh", script]).success();
    assert_eq!(output.stdout, "second");
}

#[test]
fn a_request_whose_turn_returns_nothing_fails_with_the_outcome() {
    let world = World::new();
    let refusal = world.refused(&["request", "-q", "sh", "exit 3"], 1, "no-outcome");
    assert!(refusal.contains("failed-unreturned"), "{refusal}");
}

#[test]
fn an_exit_code_is_the_verdict_where_the_target_says_so() {
    let world = World::new();
    let passed = world.run(&["request", "-q", "sh/verdict", "echo all well"]).success();
    assert!(passed.stdout.contains("all well"), "{passed:?}");
    let failed = world.run(&["request", "-q", "sh/verdict", "echo oh no; exit 3"]).success();
    assert!(failed.stdout.contains("exit code 3"), "{failed:?}");
    let id = failed.stderr.trim().strip_prefix("Session: ").expect("id").parse().expect("an id");
    let session = world.at_rest(id);
    assert_eq!(ends(&session), ["returned"]);
    let result = session.latest_result.expect("a result");
    assert_eq!(result.source.to_string(), "/keeper");
}

/// Ends a run without a return while the catalog is wrong; returns the session and who waits for it.
fn blocked(world: &World) -> (SessionId, Child) {
    let gate = world.gate("gate");
    let id = world.launch(&format!("[ -n \"$ORBH_PROMPT\" ] || {{ {}; }}", gate.wait()));
    world.configure("catalog.toml", "x = =\n");
    gate.open();
    world.until(id, |session| ends(session) == ["exit-zero"]);
    let waiting = world.call(&["wait", &id.to_string()]).spawn();
    (id, waiting)
}

#[test]
fn a_turn_goes_on_once_the_users_mistake_is_mended() {
    let world = World::new();
    let (id, waiting) = blocked(&world);
    let log = world.until_logged(id, "can't start what is owed yet");
    assert!(log.contains("catalog-invalid") && log.contains("catalog.toml:1"), "{log}");
    let seen = world.out(&["inspect", &id.to_string()]);
    assert!(seen.contains("Trouble") && seen.contains("catalog.toml:1"), "{seen}");
    world.configure("catalog.toml", "");
    let output = waiting.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{id} failed-unreturned run 3\n"));
}

#[test]
fn who_waits_starts_what_is_owed_and_nobody_starts() {
    let world = World::new();
    let (id, waiting) = blocked(&world);
    world.until_logged(id, "can't start what is owed yet");
    // Now nobody is left who would: the call that waits takes over.
    kill_machinery(&world.session(id));
    let output = waiting.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(stderr.contains("catalog.toml:1") && stderr.contains("Next: "), "{stderr}");
    world.configure("catalog.toml", "");
    let output = world.run(&["wait", &id.to_string()]);
    assert_eq!(output.stdout, format!("{id} failed-unreturned run 3\n"));
}
