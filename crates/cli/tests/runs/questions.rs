//! Questions and their answers.

use creel_sys::process::{ProcessIdentity, Signal};

use crate::world::{World, ends, shelf};

#[test]
fn an_answer_reaches_the_waiting_agent_in_place() {
    let world = World::new();
    let id = world.launch("creel session return \"$(creel session ask 'which one?')\"");
    world.until(id, |session| session.work_state().as_str() == "needs-input");
    world.run(&["respond", &id.to_string(), "the left one"]).success();
    world.until(id, |session| session.result_count == 1);
    let session = world.at_rest(id);
    assert_eq!(world.out(&["result", &id.to_string()]), "the left one");
    assert_eq!((session.run_count, session.questions.len()), (1, 0));
    world.refused(&["respond", &id.to_string(), "again"], 4, "no-question");
}

#[test]
fn an_answer_whose_waiter_was_killed_arrives_by_a_wake() {
    let world = World::new();
    let script = "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > digest; \
                  creel session return --finish \"answered\"; exit; fi; \
                  creel session ask 'which one?' & echo $! > asker; wait";
    let id = world.launch(script);
    world.until(id, |session| session.work_state().as_str() == "needs-input");
    let pid = world.file("asker").trim().parse().expect("a pid");
    let asker = ProcessIdentity::of(pid).expect("readable").expect("it waits");
    asker.signal(Signal::KILL).expect("it is ours");
    let session = world.at_rest(id);
    assert_eq!(ends(&session), ["exit-zero"]);
    assert_eq!(session.work_state().as_str(), "needs-input", "no re-prompt while it asks");
    world.run(&["respond", &id.to_string(), "the right one"]).success();
    let session = world.until(id, |session| session.result_count == 1);
    assert_eq!(session.runs[1].cause.as_str(), "wake");
    let digest = world.file("digest");
    assert!(digest.contains("Question: which one?"), "{digest}");
    assert!(digest.contains("Answer: the right one"), "{digest}");
    assert_eq!(world.at_rest(id).questions, []);
}

#[test]
fn a_deferred_question_is_answered_by_a_wake_after_an_await() {
    let world = World::new();
    let script = "if [ -n \"$ORBH_PROMPT\" ]; then creel session return --finish \"$ORBH_PROMPT\"; \
                  exit; fi; creel request \"$ORBH_SESSION_ID\" 'which one?' > request; \
                  creel session return --await 'asked'";
    let id = world.launch(script);
    world.until(id, |session| session.result_count == 1);
    let session = world.at_rest(id);
    assert_eq!(session.work_state().as_str(), "awaiting");
    let request = session.questions[0].id.to_string();
    assert_eq!(world.file("request").trim(), request);
    let answer = ["respond", &id.to_string(), "--request", &request, "neither"];
    world.run(&answer).success();
    world.until(id, |session| session.result_count == 2);
    assert!(world.out(&["result", &id.to_string()]).contains("Answer: neither"));
    world.refused(&answer, 4, "no-question");
}

#[test]
fn a_long_text_of_a_wake_arrives_on_standard_input_alone() {
    let world = World::new();
    let script = "if [ -e asked ]; then cat > input; \
                  creel session return \"${ORBH_PROMPT-none}\"; exit; fi; \
                  touch asked; creel request \"$ORBH_SESSION_ID\" 'which one?' > request; \
                  creel session return --await 'asked'";
    let id = world.launch(script);
    world.until(id, |session| session.result_count == 1);
    world.at_rest(id);
    let answer = "x".repeat(100_000);
    world.call(&["respond", &id.to_string(), "-"]).stdin(answer.clone()).run().success();
    world.until(id, |session| session.result_count == 2);
    assert_eq!(world.out(&["result", &id.to_string()]), "none");
    assert!(world.file("input").contains(&answer));
}

#[test]
fn an_answer_whose_waiter_is_dead_reaches_the_turn_that_rests() {
    for is_answered_before in [true, false] {
        let world = World::new();
        let gate = world.gate("gate");
        let script = "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > digest; \
                      creel session return --finish woken; exit; fi; \
                      creel session ask --timeout 0 'which door?'; creel session set phase asked; \
                      read go < gate; creel session return --await resting";
        let id = world.launch(script);
        world.until_phase(id, "asked");
        let respond = || world.out(&["respond", &id.to_string(), "the red one"]);
        if is_answered_before {
            respond();
            gate.open();
        } else {
            gate.open();
            assert_eq!(shelf(&world.at_rest(id)), ("awaiting", "parked"));
            respond();
        }
        let session = world.until(id, |session| session.result_count == 2);
        assert_eq!(session.runs[1].cause.as_str(), "wake");
        let digest = world.file("digest");
        assert!(digest.contains("which door?") && digest.contains("the red one"), "{digest}");
    }
}
