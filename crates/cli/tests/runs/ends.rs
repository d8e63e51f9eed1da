//! Deliberate ends: each its own, and none followed by a re-prompt.

use creel_record::{EndReason, SessionId};

use crate::world::{World, ends, shelf};

const DEAF: &str = "trap '' TERM HUP INT; exec < /dev/null; creel session set phase ready; \
                    while :; do sleep 600 & wait; done";

/// Launches an agent that hangs, ends it, and returns what is left.
#[track_caller]
fn check(verb: &[&str], reason: &str, expected: (&str, &str)) {
    let world = World::new();
    let id = world.launch("echo run >> runs; creel session set phase ready; exec sleep 600");
    world.until_phase(id, "ready");
    let text = id.to_string();
    let arguments: Vec<&str> = [&[verb[0], text.as_str()], &verb[1..]].concat();
    world.run(&arguments).success();
    let session = world.session(id);
    assert_eq!(ends(&session), [reason], "recorded before the verb answers");
    let session = world.at_rest(id);
    assert_eq!((shelf(&session), session.run_count), (expected, 1));
    assert_eq!(world.file("runs").lines().count(), 1);
    // Again it changes nothing.
    world.run(&arguments).success();
    assert_eq!(shelf(&world.session(id)), expected);
}

#[test]
fn kill_ends_the_run_and_abandons_the_session() {
    check(&["kill"], "killed", ("abandoned", "error"));
}

#[test]
fn close_ends_the_run_and_finishes_the_session() {
    check(&["close"], "closed", ("finished", "closed"));
}

#[test]
fn park_ends_the_run_and_leaves_the_session_awaiting() {
    check(&["park"], "parked", ("awaiting", "parked"));
}

#[test]
fn discard_ends_the_run_and_hides_the_session() {
    check(&["discard"], "discarded", ("abandoned", "closed"));
}

#[test]
fn end_ends_the_run_with_its_last_result() {
    check(&["end", "--result", "last words"], "ended", ("finished", "closed"));
    let world = World::new();
    let id = world.launch("creel session set phase ready; exec sleep 600");
    world.until_phase(id, "ready");
    world.run(&["end", &id.to_string(), "--result", "last words"]).success();
    assert_eq!(world.out(&["result", &id.to_string()]), "last words");
}

#[test]
fn an_agent_that_ignores_every_polite_signal_is_ended() {
    let world = World::new();
    world.configure("catalog.toml", "[harness.sh]\nend_grace_ms = 1\n");
    world.refused(&["launch", "sh", "true"], 5, "catalog-invalid");
    world.configure("catalog.toml", "[harness.sh]\nend-grace-ms = 100\n");
    let id = world.launch(DEAF);
    world.until_phase(id, "ready");
    world.run(&["kill", &id.to_string()]).success();
    assert_eq!(ends(&world.session(id)), ["killed"]);
    world.out(&["resume", &id.to_string(), "creel session return alive"]);
    world.until(id, |session| session.result_count == 1);
}

#[test]
fn an_end_is_recorded_although_nothing_runs() {
    let world = World::new();
    let cases = [
        ("kill", ("abandoned", "parked")),
        ("close", ("finished", "closed")),
        ("park", ("awaiting", "parked")),
        ("end", ("finished", "closed")),
        ("discard", ("abandoned", "closed")),
    ];
    for (verb, expected) in cases {
        let id = world.launch("creel session return --await rest");
        world.at_rest(id);
        world.run(&[verb, &id.to_string()]).success();
        let session = world.session(id);
        assert_eq!((verb, shelf(&session)), (verb, expected));
        assert_eq!(session.run_count, 1);
    }
}

#[test]
fn a_session_ends_itself_without_naming_itself() {
    let cases = [
        ("kill", "killed"),
        ("close", "closed"),
        ("park", "parked"),
        ("end", "ended"),
        ("discard", "discarded"),
    ];
    let world = World::new();
    for (verb, reason) in cases {
        let id = world.launch(&format!("creel {verb}; exec sleep 600"));
        world.until(id, |session| session.live_run().is_none() && session.run_count == 1);
        let session = world.at_rest(id);
        assert_eq!((verb, ends(&session)), (verb, vec![reason]));
    }
}

#[test]
fn a_kill_after_a_return_keeps_the_return() {
    let world = World::new();
    let id = world.launch("creel session return --await kept; exec sleep 600");
    world.until(id, |session| session.result_count == 1);
    let told = world.run(&["kill", &id.to_string()]).success().stderr;
    assert!(!told.contains("killed"), "{told}");
    assert!(told.contains("run 1, which had returned") && told.contains("awaiting"), "{told}");
    let session = world.at_rest(id);
    assert_eq!(ends(&session), ["returned"]);
    assert_eq!(shelf(&session), ("awaiting", "parked"));
    assert_eq!(world.out(&["result", &id.to_string()]), "kept");
}

#[test]
fn an_interrupt_cuts_the_run_and_goes_on_with_the_instruction() {
    let world = World::new();
    let script = "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > instruction; \
                  creel session return turned; fi; creel session set phase ready; exec sleep 600";
    let id = world.launch(script);
    world.until_phase(id, "ready");
    assert_eq!(world.out(&["interrupt", &id.to_string(), "turn", "left"]), id.to_string());
    let session = world.until(id, |session| session.result_count == 1);
    assert_eq!(session.runs[0].end_reason, Some(EndReason::Interrupted));
    assert_eq!(session.runs[1].cause.as_str(), "interrupt");
    let instruction = world.file("instruction");
    assert!(instruction.contains("turn left"), "{instruction}");
    assert!(instruction.contains("interrupted by the operator"), "{instruction}");
    let session = world.at_rest(id);
    assert_eq!((session.run_count, shelf(&session)), (2, ("finished", "finished")));
    let refusal = world.refused(&["interrupt", &id.to_string(), "again"], 4, "wrong-state");
    assert!(refusal.contains("creel resume"), "{refusal}");
}

#[test]
fn interrupts_at_the_same_time_are_all_delivered() {
    let world = World::new();
    let id = world.launch("creel session set phase ready; exec sleep 600");
    world.until_phase(id, "ready");
    let texts = ["turn left", "turn right", "turn round"];
    let callers = texts.map(|text| world.call(&["interrupt", &id.to_string(), text]).spawn());
    for caller in callers {
        let output = caller.wait_with_output().expect("an interrupt");
        assert!(output.status.success(), "{output:?}");
    }
    let session = world.session(id);
    assert_eq!(session.run_count, 4);
    let prompts: Vec<String> = session.runs[1..]
        .iter()
        .map(|run| world.store().text(id, run.prompt).expect("a prompt"))
        .collect();
    for text in texts {
        let count = prompts.iter().filter(|prompt| prompt.contains(text)).count();
        assert_eq!(count, 1, "{text}: {prompts:?}");
    }
}

#[test]
fn a_kill_is_not_undone_by_an_interrupt_at_the_same_time() {
    let world = World::new();
    let id = world.launch("creel session set phase ready; exec sleep 600");
    world.until_phase(id, "ready");
    let kill = world.call(&["kill", &id.to_string()]).spawn();
    let interrupt = world.call(&["interrupt", &id.to_string(), "go on"]).spawn();
    let kill = kill.wait_with_output().expect("a kill");
    let interrupt = interrupt.wait_with_output().expect("an interrupt");
    assert!(kill.status.success(), "{kill:?}");
    assert!(matches!(interrupt.status.code(), Some(0 | 4)), "{interrupt:?}");
    // Whoever came first: what was killed stays killed.
    let session = world.at_rest(id);
    assert_eq!(shelf(&session).0, "abandoned");
    assert_eq!(session.intent, None);
}

#[test]
fn what_a_closed_agent_returns_in_parting_is_kept_and_undoes_nothing() {
    let world = World::new();
    let script = "trap 'creel session return --await parting; exit 0' TERM HUP; \
                  creel session set phase ready; while :; do sleep 600 & wait; done";
    let id = world.launch(script);
    world.until_phase(id, "ready");
    world.run(&["close", &id.to_string()]).success();
    let session = world.at_rest(id);
    assert_eq!((ends(&session), shelf(&session)), (vec!["closed"], ("finished", "closed")));
    assert_eq!(world.out(&["result", &id.to_string()]), "parting");
    world.refused(&["interrupt", &id.to_string(), "wake up"], 4, "wrong-state");
}

#[test]
fn an_interrupt_wakes_a_session_at_rest() {
    let world = World::new();
    let script = "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > digest; \
                  creel session return --finish woken; else creel session return --await one; fi";
    let id = world.launch(script);
    world.at_rest(id);
    world.out(&["interrupt", &id.to_string(), "wake up"]);
    let session = world.until(id, |session| session.result_count == 2);
    assert_eq!(session.runs[1].cause.as_str(), "wake");
    assert!(world.file("digest").contains("wake up"));
    assert_eq!(world.at_rest(id).pending.count, 0);
}

#[test]
fn children_that_still_work_stand_in_the_way_of_an_end() {
    let world = World::new();
    let child = "creel session set phase ready; exec sleep 600";
    let id = world.launch(&format!("creel request -q sh '{child}'"));
    let parent = world.until(id, |session| {
        session.dispatches.first().is_some_and(|dispatch| dispatch.is_materialized)
    });
    let child: SessionId = parent.dispatches[0].child_session_id;
    world.until_phase(child, "ready");
    for verb in ["kill", "close", "park"] {
        let refusal = world.refused(&[verb, &id.to_string()], 4, "children-live");
        assert!(refusal.contains(&child.to_string()), "{refusal}");
        assert!(world.session(id).live_run().is_some());
    }
    world.run(&["kill", "--force", &id.to_string()]).success();
    assert_eq!(ends(&world.at_rest(id)), ["killed"]);
    assert!(world.session(child).live_run().is_some(), "the child runs on");
    world.run(&["kill", &child.to_string()]).success();
}

#[test]
fn an_agent_returns_and_asks_only_for_itself() {
    let world = World::new();
    let hangs = "creel session set phase ready; exec sleep 600";
    let other = world.launch(hangs);
    world.until_phase(other, "ready");
    // What anybody may write to another session, attributed, stays allowed.
    let forges = |whom: &str, code: &str| {
        format!(
            "creel session {whom} return --finish forged 2>> refusals; echo $? >> {code}; \
             ORBH_SESSION_ID={whom} CREEL_RUN_ID= creel session return forged 2>> refusals; \
             echo $? >> {code}"
        )
    };
    let script = format!(
        "{}; creel session {other} ask --timeout 1 q 2>> refusals; echo $? >> codes; \
         creel session {other} note seen && creel session return own",
        forges(&other.to_string(), "codes")
    );
    let id = world.launch(&script);
    world.until(id, |session| session.result_count == 1);
    let refusals = world.file("refusals");
    assert_eq!(world.file("codes"), "4\n4\n4\n", "{refusals}");
    assert_eq!(refusals.matches("[not-yours]").count(), 3, "{refusals}");
    let session = world.session(other);
    assert!(session.live_run().is_some_and(|run| !run.is_returned()), "{session:?}");
    assert_eq!((session.result_count, session.questions.len(), session.note_count), (0, 0, 1));

    // A parent doesn't write its child's result either.
    let script = format!(
        "creel request -q sh '{hangs}' > /dev/null 2>&1 & until read child < child; do :; done; \
         {}; creel kill $child; creel session return parent",
        forges("$child", "child-codes")
    );
    let gate = world.gate("child");
    let id = world.launch(&script);
    let parent = world.until(id, |session| {
        session.dispatches.first().is_some_and(|dispatch| dispatch.is_materialized)
    });
    let child = parent.dispatches[0].child_session_id;
    world.until_phase(child, "ready");
    gate.say(&child.to_string());
    world.until(id, |session| session.result_count == 1);
    assert_eq!(world.file("child-codes"), "4\n4\n", "{}", world.file("refusals"));
    assert_eq!(ends(&world.at_rest(child)), ["killed"]);

    world.configure("config.toml", "[agents]\nmay-act-on-others = true\n");
    world.launch(&format!("creel session {other} return --finish allowed"));
    world.until(other, |session| session.result_count == 1);
}

#[test]
fn an_agent_ends_and_answers_only_what_is_its_own() {
    let world = World::new();
    let other = world.launch("creel session set phase ready; exec sleep 600");
    world.until_phase(other, "ready");
    // Neither another session's name in its environment nor none at all hides who calls.
    let script = format!(
        "for with in ORBH_SESSION_ID=$ORBH_SESSION_ID ORBH_SESSION_ID={other} ORBH_SESSION_ID=; do \
         for verb in kill close park discard end 'interrupt {other} x' 'respond {other} x'; do \
         env $with creel $verb {other} 2>> refusals; echo $? >> codes; done; done; \
         creel session return done"
    );
    let id = world.launch(&script);
    world.until(id, |session| session.result_count == 1);
    let codes = world.file("codes");
    let refusals = world.file("refusals");
    assert_eq!(refusals.matches("[not-yours]").count(), 21, "{codes}{refusals}");
    assert!(codes.lines().all(|code| code == "4"), "{codes}");
    assert!(world.session(other).live_run().is_some());

    world.configure("config.toml", "[agents]\nmay-act-on-others = true\n");
    let id = world.launch(&format!("creel kill {other} && creel session return killed"));
    world.until(id, |session| session.result_count == 1);
    assert_eq!(ends(&world.at_rest(other)), ["killed"]);

    let gate = world.gate("gate");
    let wait = gate.wait();
    let id =
        world.launch(&format!("{wait}; creel kill {other} 2> mistake; creel session return done"));
    world.configure("config.toml", "[agents]\nmay = true\n");
    gate.open();
    world.until(id, |session| session.result_count == 1);
    assert!(world.file("mistake").contains("config.toml:2:1"), "{}", world.file("mistake"));
    world.refused(&["launch", "sh", "true"], 5, "settings-invalid");
}
