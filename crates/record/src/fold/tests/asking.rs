//! Questions: what they hold, and where their answers go.

use super::check;
use crate::story::Do::{
    Answer, Ask, Await, Cancel, Defer, Exit, Finish, Observe, Owed, Stop, Take,
};
use crate::story::Story;
use crate::words::EndReason;
use crate::words::Mode::Headless;

#[test]
fn a_finish_makes_its_open_question_moot() {
    let story = Story::after(Headless, &[Owed, Ask, Finish("r")]);
    assert_eq!(story.session.questions, []);
}

#[test]
fn a_turn_that_rests_is_woken_by_the_answer_to_what_it_asked() {
    let mut story = Story::after(Headless, &[Owed, Ask, Await("r"), Exit(0)]);
    assert_eq!(
        story.standing(),
        "awaiting, shelf parked; run 1 completed (returned); owed nothing"
    );
    story.takes(&[Answer(0)]);
    assert_eq!(story.standing(), "awaiting, shelf parked; run 1 completed (returned); owed a wake");
}

#[test]
fn an_answer_that_nobody_took_before_the_return_is_a_wake() {
    let mut story = Story::after(Headless, &[Owed, Ask, Answer(0), Await("r"), Exit(0)]);
    assert_eq!(story.standing(), "awaiting, shelf parked; run 1 completed (returned); owed a wake");
    story.takes(&[Owed]);
    assert_eq!(story.session.questions, []);
    check(
        Headless,
        &[Owed, Ask, Answer(0), Take(0), Await("r"), Exit(0)],
        "awaiting, shelf parked; run 1 completed (returned); owed nothing",
    );
}

#[test]
fn a_verdict_decides_before_an_open_question() {
    for (reason, expected) in [
        (EndReason::Closed, "finished, shelf closed"),
        (EndReason::Parked, "awaiting, shelf parked"),
        (EndReason::Killed, "abandoned, shelf error"),
    ] {
        let run =
            format!("run 1 {}", if reason == EndReason::Killed { "failed" } else { "completed" });
        let steps = [Owed, Ask, Stop(reason), Exit(0)];
        check(Headless, &steps, &format!("{expected}; {run} ({reason}); owed nothing"));
    }
    check(
        Headless,
        &[Owed, Ask, Observe(EndReason::Lost)],
        "abandoned, shelf error; run 1 failed (lost); owed nothing",
    );
}

#[test]
fn a_killed_waiter_leaves_the_question_open_and_no_re_prompt_follows() {
    let steps = [Owed, Ask, Exit(0)];
    check(Headless, &steps, "needs-input, shelf error; run 1 failed (exit-zero); owed nothing");
    let mut story = Story::after(Headless, &steps);
    story.takes(&[Answer(0)]);
    assert_eq!(story.standing(), "working, shelf error; run 1 failed (exit-zero); owed a wake");
    story.takes(&[Owed]);
    assert_eq!(story.standing(), "working, shelf active; run 2 running (live); owed its live run");
    assert_eq!(story.session.questions, []);
}

#[test]
fn an_answer_taken_in_place_is_no_wake() {
    check(
        Headless,
        &[Owed, Ask, Answer(0), Take(0), Exit(0)],
        "working, shelf error; run 1 failed (exit-zero); owed re-prompt 1",
    );
    check(
        Headless,
        &[Owed, Ask, Answer(0)],
        "working, shelf active; run 1 running (live); owed its live run",
    );
    check(
        Headless,
        &[Owed, Ask, Answer(0), Exit(0)],
        "working, shelf error; run 1 failed (exit-zero); owed a wake",
    );
}

#[test]
fn an_answer_in_hand_goes_on_instead_of_a_last_failure() {
    let last = [Owed, Exit(0), Owed, Exit(0), Owed];
    let mut story = Story::after(Headless, &last);
    story.takes(&[Ask, Answer(0), Exit(0)]);
    assert_eq!(story.standing(), "working, shelf error; run 3 failed (exit-zero); owed a wake");
    // A deferred answer is no part of the turn: it neither saves nor re-prompts it.
    let mut story = Story::after(Headless, &last);
    story.takes(&[Defer, Answer(0), Exit(0)]);
    assert_eq!(
        story.standing(),
        "awaiting, shelf error; run 3 failed (failed-unreturned); owed a wake"
    );
    check(
        Headless,
        &[Owed, Defer, Answer(0), Exit(0)],
        "working, shelf error; run 1 failed (exit-zero); owed re-prompt 1",
    );
}

#[test]
fn a_last_run_that_dies_asking_fails_once_its_question_is_gone() {
    let last = [Owed, Exit(0), Owed, Exit(0), Owed, Ask, Exit(0)];
    check(Headless, &last, "needs-input, shelf error; run 3 failed (exit-zero); owed nothing");
    for gone in [vec![Cancel(0)], vec![Answer(0), Take(0)]] {
        let mut story = Story::after(Headless, &last);
        story.takes(&gone);
        assert_eq!(
            story.standing(),
            "awaiting, shelf error; run 3 failed (exit-zero); owed nothing",
            "{gone:?}"
        );
    }
    let mut story = Story::after(Headless, &last);
    story.takes(&[Answer(0)]);
    assert!(story.standing().ends_with("owed a wake"));
}
