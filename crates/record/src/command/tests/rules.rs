//! Refusals that are not about length, and answers that append nothing.

use super::check;
use crate::command::end::{self, AskedEnd, record_end, request_end};
use crate::command::returning::{Return, return_turn};
use crate::command::{Verdict, create, dispatch, keep, question};
use crate::event::fact::{Fact, LaunchKey, SessionEnded};
use crate::ids::{RequestId, SessionId};
use crate::story::Do::{
    Answer, Ask, Await, Claim, Clock, Defer, EndWith, Exit, Finish, Intend, Interrupt, Message,
    Note, Owed, Register, Restore, Resume, ReturnOf, Set, Slice, Stop, Turn,
};
use crate::story::{Do, Story, created, run_id, session_id};
use crate::words::Mode::{Headless, Interactive, Subagent};
use crate::words::{Authority, Disposition, EndReason};

fn refused(mode: crate::words::Mode, steps: &[Do], last: &Do, expected: &str) {
    let mut story = Story::after(mode, steps);
    let before = story.session.clone();
    check(&format!("{last:?} after {steps:?}"), story.take(last), expected);
    assert_eq!(story.session, before, "a refusal changes nothing");
}

/// Takes the step and expects it to append nothing.
fn repeated(steps: &[Do], last: &Do) {
    let mut story = Story::after(Headless, steps);
    let length = story.log.len();
    story.takes(std::slice::from_ref(last));
    assert_eq!(story.log.len(), length, "{last:?} after {steps:?}");
}

#[test]
fn checklist_05_a_return_is_a_finish_unless_it_says_await() {
    let story = Story::after(Headless, &[Owed]);
    let request = Return { run_id: None, disposition: Disposition::default(), payload: "done" };
    let fact = return_turn(&story.session, &request).unwrap().into_fact().unwrap();
    let Fact::RunReturned(returned) = fact else { panic!("{fact:?}") };
    assert_eq!(returned.disposition, Disposition::Finish);
}

#[test]
fn checklist_15_core_keys_are_refused() {
    for key in ["core:", "core:interface", "core:wake-at", "core:anything"] {
        let session = Story::new(Headless).session;
        check(key, keep::set(&session, key, "v"), "reserved-key");
    }
    for key in ["core", "Core:x", "score:x", " core:x"] {
        check(key, keep::set(&Story::new(Headless).session, key, "v"), "taken");
    }
    refused(Headless, &[], &Slice("core:interface", "{}"), "reserved-key");
    refused(Headless, &[], &Slice("core:dispatches", "[]"), "reserved-key");
    refused(Headless, &[], &Slice("free", "1"), "reserved-key");
}

#[test]
fn lines_hold_no_control_characters_and_are_not_empty() {
    let session = Story::new(Headless).session;
    for text in ["a\nb", "\u{1b}[31m", "\0"] {
        check("key", keep::set(&session, text, "v"), "control-character");
        check("title", keep::register(&session, text, ""), "control-character");
        check("artifact", keep::artifact(text), "control-character");
    }
    check("key", keep::set(&session, "", "v"), "empty");
    check("value", keep::set(&session, "k", "a\nb\u{1b}"), "taken");
    check("title", keep::register(&session, "", ""), "empty");
    check("note", keep::note(""), "empty");
    check("prompt", create::prompt(" \n"), "empty");
    let id = RequestId::from_uuid(uuid::Uuid::from_u128(4));
    check("question", question::defer(&session, id, "  "), "empty");
}

#[test]
fn the_same_again_appends_nothing() {
    repeated(&[Set("phase", "one")], &Set("phase", "one"));
    repeated(&[Register("t", "d")], &Register("t", "d"));
    repeated(&[Owed, Finish("r")], &Finish("r"));
    repeated(&[Owed, Finish("r"), Exit(0)], &Finish("r"));
    repeated(&[Owed, Exit(0), ReturnOf(1, Disposition::Await, "late")], &Await("late"));
    repeated(&[Owed, Stop(EndReason::Killed)], &Stop(EndReason::Killed));
    repeated(&[Owed, Stop(EndReason::Discarded), Exit(0)], &Stop(EndReason::Killed));
    repeated(&[], &Restore);
    let mut story = Story::after(Headless, &[Owed, Note]);
    story.takes(&[Note]);
    assert_eq!(story.session.note_count, 2, "notes are kept each");
}

#[test]
fn a_second_different_return_is_refused_and_names_the_first() {
    for second in [Finish("other"), Await("r")] {
        refused(Headless, &[Owed, Finish("r")], &second, "already-returned");
        refused(Headless, &[Owed, Finish("r"), Exit(0)], &second, "already-returned");
    }
    let late = ReturnOf(1, Disposition::Finish, "late");
    let other = ReturnOf(1, Disposition::Finish, "later");
    refused(Headless, &[Owed, Exit(0), Owed, late], &other, "already-returned");
    let story = Story::after(Headless, &[Owed, Finish("r")]);
    let request = Return { run_id: None, disposition: Disposition::Await, payload: "x" };
    assert_eq!(
        return_turn(&story.session, &request).unwrap_err().to_string(),
        "run 1 has already returned (finish, at 2026-01-01T00:00:01.000Z); its result stands"
    );
    let again = Return { run_id: Some(run_id(1)), disposition: Disposition::Finish, payload: "r" };
    let Verdict::Already(first) = return_turn(&story.session, &again).unwrap() else {
        panic!("the same return appends nothing")
    };
    assert_eq!(Some(first), story.session.latest_result);
}

#[test]
fn a_return_needs_a_run() {
    refused(Headless, &[], &Finish("r"), "no-run");
    refused(Headless, &[Owed], &ReturnOf(9, Disposition::Finish, "r"), "unknown-run");
}

#[test]
fn a_run_starts_only_when_it_may() {
    refused(Headless, &[Owed], &Resume, "run-live");
    refused(Headless, &[Owed], &Owed, "no-run");
    refused(Headless, &[Owed, Stop(EndReason::Closed)], &Resume, "run-live");
    refused(Headless, &[Stop(EndReason::Discarded)], &Resume, "discarded");
    let mut story = Story::after(Headless, &[Stop(EndReason::Discarded), Restore, Resume]);
    assert!(!story.session.discarded);
    let mut delivered = created(Subagent);
    delivered.authority = Authority::Delivery;
    story = Story::created(delivered);
    check("delivery", story.take(&Resume), "delivery-owned");
}

#[test]
fn a_run_needs_a_prompt_from_somewhere_and_a_debt_for_a_re_prompt() {
    use crate::command::start::{Start, start};
    use crate::words::Cause;
    let session = Story::after(Headless, &[Owed, Exit(0)]).session;
    let begin = |session: &_, cause, prompt: Option<&str>| {
        start(
            session,
            Start {
                run_id: run_id(77),
                turn_id: session_turn(),
                cause,
                prompt: prompt.map(str::to_owned),
                machine_id: "m".to_owned(),
                boot_id: "b".to_owned(),
            },
        )
    };
    check("no prompt", begin(&session, Cause::Reprompt, None), "empty");
    check("re-prompt", begin(&session, Cause::Reprompt, Some("return")), "taken");
    let twice = [Owed, Exit(0), Owed, Exit(0), Owed, Exit(0)];
    for steps in [&twice[..], &[Owed, Finish("r"), Exit(0)], &[]] {
        let session = Story::after(Headless, steps).session;
        check("third", begin(&session, Cause::Reprompt, Some("return")), "wrong-state");
    }
}

fn session_turn() -> crate::ids::TurnId {
    crate::ids::TurnId::from_uuid(uuid::Uuid::from_u128(8))
}

#[test]
fn a_wake_is_refused_unless_it_is_owed() {
    let dormant = [Owed, Await("r"), Exit(0)];
    refused(Headless, &dormant, &Intend, "wrong-state");
    refused(Headless, &[Owed, Message], &Intend, "wrong-state");
    let mut story = Story::after(Headless, &dormant);
    story.takes(&[Message, Intend]);
    check("twice", story.take(&Intend), "wrong-state");
    let mut story = Story::after(Headless, &dormant);
    story.takes(&[Do::WakeAt(90_000), Clock(89_999)]);
    check("early", story.take(&Intend), "wrong-state");
    story.takes(&[Clock(90_000), Intend]);
}

#[test]
fn a_further_turn_needs_a_returned_live_run_that_nobody_ends() {
    refused(Headless, &[], &Turn, "no-run");
    refused(Headless, &[Owed], &Turn, "run-live");
    refused(Headless, &[Owed, Await("r"), Exit(0)], &Turn, "no-run");
    refused(Headless, &[Owed, Await("r"), Stop(EndReason::Closed)], &Turn, "run-live");
    refused(Headless, &[Owed, Await("r"), Stop(EndReason::Discarded)], &Turn, "discarded");
}

#[test]
fn only_deliberate_ends_can_be_asked_for() {
    for reason in EndReason::ALL {
        let told = request_end(&Story::after(Headless, &[Owed]).session, &(*reason).into());
        let expected = match reason {
            EndReason::Interrupted => "empty",
            r if r.is_deliberate() => "taken",
            _ => "not-askable",
        };
        check(reason.as_str(), told, expected);
    }
}

#[test]
fn an_interrupt_needs_a_live_unattended_run() {
    let interrupt = Interrupt("rather this");
    refused(Headless, &[], &interrupt, "wrong-state");
    refused(Headless, &[Owed, Await("r"), Exit(0)], &interrupt, "wrong-state");
    refused(Interactive, &[Owed], &interrupt, "wrong-mode");
    refused(Headless, &[Owed, Stop(EndReason::Discarded)], &interrupt, "discarded");
    refused(Headless, &[Owed], &Interrupt(" "), "empty");
}

#[test]
fn the_result_of_an_end_is_the_turns_only_one() {
    refused(Headless, &[], &EndWith("last"), "no-run");
    refused(Headless, &[Owed, Finish("r")], &EndWith("other"), "already-returned");
    refused(Headless, &[Owed, Await("r"), Exit(0)], &EndWith("other"), "already-returned");
    refused(Headless, &[Stop(EndReason::Discarded)], &EndWith("x"), "discarded");
    let story = Story::after(Headless, &[Owed, Finish("r"), EndWith("r"), Exit(0)]);
    assert_eq!(story.session.result_count, 1);
    let story = Story::after(Headless, &[Owed, Exit(1), EndWith("last")]);
    assert_eq!(
        (story.session.result_count, story.standing().as_str()),
        (1, "finished, shelf closed; run 1 failed (exit-nonzero); owed nothing")
    );
    repeated(&[Owed, Exit(1), EndWith("last")], &EndWith("last"));
    let session = Story::after(Headless, &[Owed, Finish("r"), Exit(0)]).session;
    let asked =
        AskedEnd { reason: EndReason::Ended, result: Some("r".to_owned()), follow_up: None };
    let fact = request_end(&session, &asked).unwrap().into_fact().unwrap();
    assert_eq!(fact, SessionEnded { result: None }.into());
}

#[test]
fn a_run_ends_once() {
    let story = Story::after(Headless, &[Owed, Exit(0)]);
    assert_eq!(record_end(&story.session, run_id(1), end::Exit::default()), None);
    assert_eq!(record_end(&story.session, run_id(9), end::Exit::default()), None);
}

#[test]
fn a_question_needs_a_live_run_that_has_not_returned() {
    refused(Headless, &[], &Ask, "no-run");
    refused(Headless, &[Owed, Finish("r")], &Ask, "wrong-state");
    refused(Headless, &[Owed, Exit(0)], &Ask, "wrong-state");
    let story = Story::after(Headless, &[Defer]);
    assert_eq!(story.session.questions.len(), 1, "a deferred one needs none");
}

#[test]
fn an_answer_finds_its_question() {
    refused(Headless, &[Owed], &Answer(0), "no-question");
    refused(Headless, &[Owed, Ask, Answer(0)], &Answer(0), "already-answered");
    let none = Story::after(Headless, &[Owed]).session;
    check("none", question::open_question(&none, None), "no-question");
    let two = Story::after(Headless, &[Owed, Defer, Defer]).session;
    check("two", question::open_question(&two, None), "which-question");
    let blocking = Story::after(Headless, &[Owed, Defer, Ask, Defer]).session;
    let found = question::open_question(&blocking, None).unwrap();
    assert_eq!(found, &blocking.questions[1], "the blocking one is meant");
    let only = Story::after(Headless, &[Owed, Defer, Defer, Answer(0)]).session;
    assert_eq!(question::open_question(&only, None).unwrap(), &only.questions[1]);
}

#[test]
fn a_discarded_parent_dispatches_nothing() {
    refused(Headless, &[Stop(EndReason::Discarded)], &Claim(2), "discarded");
    let story = Story::after(Headless, &[Owed, Claim(2)]);
    assert_eq!(dispatch::materialize(&story.session, session_id(9), run_id(2)), None);
    assert_eq!(dispatch::materialize(&story.session, session_id(2), run_id(9)), None);
}

#[test]
fn a_launch_key_names_one_session_for_ever() {
    let id = SessionId::from_key("/store", "nightly");
    assert_eq!(id, SessionId::from_key("/store", "nightly"));
    assert_ne!(id, SessionId::from_key("/other", "nightly"));
    assert_ne!(SessionId::from_key("/s", "tk"), SessionId::from_key("/st", "k"));
    assert_eq!(id.to_string(), "8bd995de-79f5-86b4-93d5-b5e004f5c424");
    let keyed = |key: &str, hash: &str| {
        let mut launch = created(Headless);
        let (key, arguments_hash) = (key.to_owned(), hash.to_owned());
        launch.key = Some(LaunchKey { key, arguments_hash });
        launch
    };
    let session = Story::created(keyed("nightly", "aa")).session;
    check("same", create::same_key(&session, &keyed("nightly", "aa")), "taken");
    check("other arguments", create::same_key(&session, &keyed("nightly", "bb")), "key-taken");
    check("no key", create::same_key(&session, &created(Headless)), "key-taken");
    check(
        "unkeyed",
        create::same_key(&Story::new(Headless).session, &keyed("n", "a")),
        "key-taken",
    );
}

#[test]
fn an_intended_runs_prompt_is_stored_once() {
    use crate::command::start::{Start, start};
    let session = Story::new(Headless).session;
    let first = session.unstarted_first_run().unwrap();
    let begin = Start {
        run_id: first.run_id,
        turn_id: first.turn_id,
        cause: crate::words::Cause::Launch,
        prompt: Some("do it".to_owned()),
        machine_id: "m".to_owned(),
        boot_id: "b".to_owned(),
    };
    assert_eq!(start(&session, begin).unwrap().prompt, None);
}
