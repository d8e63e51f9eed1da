use crate::dispatch::{Settlement, settlement};
use crate::ids::RunId;
use crate::story::Do::{
    Await, EndWith, Exit, Finish, Interrupt, Observe, Owed, Resume, ReturnOf, Stop, Switch,
};
use crate::story::{Do, Story, run_id};
use crate::words::Mode::{Interactive, Subagent};
use crate::words::{Disposition, EndReason};

fn settled(story: &Story, anchor: RunId) -> Settlement {
    let chain: Vec<_> = story.evicted.iter().chain(&story.session.runs).cloned().collect();
    settlement(&story.session, &chain, anchor)
}

/// Settles the dispatch of a child's first run after the steps.
fn check(steps: &[Do], expected: &str) {
    let story = Story::after(Subagent, steps);
    let settlement = settled(&story, run_id(1));
    let run = settlement.run_number.map_or(String::new(), |n| format!(" of run {n}"));
    assert_eq!(format!("{}{run}", settlement.outcome), expected, "after {steps:?}");
    let has_result = settlement.result.is_some();
    assert_eq!(has_result, expected.starts_with("result"), "after {steps:?}");
}

#[test]
fn only_a_result_or_an_end_that_nothing_follows_settles() {
    check(&[], "pending");
    check(&[Owed], "pending");
    check(&[Owed, Exit(0)], "pending");
    check(&[Owed, Finish("r")], "result of run 1");
    check(&[Owed, Await("r")], "result of run 1");
    check(&[Owed, Stop(EndReason::Parked), Exit(0)], "pending");
    check(&[Owed, Interrupt("x"), Exit(0)], "pending");
    check(&[Owed, Observe(EndReason::Hangup)], "pending");
}

#[test]
fn the_rescue_chain_is_followed_to_its_first_result() {
    check(&[Owed, Exit(0), Owed, Finish("r")], "result of run 2");
    check(&[Owed, Exit(0), Owed, Exit(0), Owed, Finish("r"), Exit(0)], "result of run 3");
    check(&[Owed, Exit(0), Owed, Exit(0), Owed, Exit(0)], "failed-unreturned of run 3");
    check(&[Owed, Exit(0), Owed, Exit(0), Owed, Exit(0), Resume], "pending");
    check(&[Owed, Exit(0), Owed, Exit(0), Owed, Exit(0), Resume, Finish("r")], "result of run 4");
    check(&[Owed, Await("a"), Exit(0), Resume, Finish("b")], "result of run 1");
    check(&[Owed, Interrupt("x"), Exit(0), Owed, Finish("r")], "result of run 2");
    let late = ReturnOf(1, Disposition::Finish, "late");
    check(&[Owed, Exit(0), Owed, late], "result of run 1");
}

#[test]
fn an_anchor_is_never_settled_by_an_older_turn() {
    let story = Story::after(Subagent, &[Owed, Await("old"), Exit(0), Resume]);
    let anchor = story.session.current_run().unwrap().id;
    assert_eq!(settled(&story, anchor), Settlement::PENDING);
}

#[test]
fn a_run_that_continues_nothing_is_no_rescue() {
    let mut story = Story::after(Subagent, &[Owed, Exit(0)]);
    story.push_start();
    story.takes(&[Finish("of something else")]);
    assert_eq!(settled(&story, run_id(1)), Settlement::PENDING);
}

#[test]
fn a_settlement_does_not_depend_on_how_many_runs_the_snapshot_keeps() {
    let mut story = Story::after(Subagent, &[Owed, Await("first"), Exit(0)]);
    for _ in 0..6 {
        story.takes(&[Resume, Await("more"), Exit(0)]);
    }
    assert!(!story.evicted.is_empty());
    let first = settled(&story, run_id(1));
    assert_eq!(first.run_number, Some(1));
}

#[test]
fn provider_and_spawn_failures_are_api_errors() {
    check(&[Owed, Observe(EndReason::ProviderError)], "api-error of run 1");
    check(&[Owed, Observe(EndReason::SpawnFailed)], "api-error of run 1");
}

#[test]
fn a_verdict_without_a_result_abandons() {
    use EndReason::{Closed, Discarded, Ended, Killed, Lost};
    check(&[Owed, Observe(Lost)], "abandoned of run 1");
    for reason in [Killed, Discarded, Closed, Ended] {
        check(&[Owed, Stop(reason), Exit(0)], "abandoned of run 1");
        check(&[Owed, Exit(0), Stop(reason)], "abandoned of run 1");
        check(&[Stop(reason)], "abandoned");
        check(&[Owed, Finish("r"), Exit(0), Stop(reason)], "result of run 1");
    }
    check(&[Owed, EndWith("last")], "result of run 1");
}

#[test]
fn a_child_that_a_person_took_over_is_adopted_and_its_hangup_is_told() {
    check(
        &[Owed, Stop(EndReason::Switched), Exit(0), Switch(Interactive), Resume],
        "adopted of run 2",
    );
    check(&[Owed, Switch(Interactive), Observe(EndReason::Hangup)], "hangup of run 1");
    check(&[Owed, Switch(Interactive), Stop(EndReason::Killed), Exit(0)], "abandoned of run 1");
    check(&[Owed, Switch(Interactive), Finish("r")], "result of run 1");
}
