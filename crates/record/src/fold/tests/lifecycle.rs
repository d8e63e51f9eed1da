//! Work state, shelf, ends and turns.

use super::check;
use crate::story::Do::{
    Ask, Await, EndWith, Exit, Finish, Interrupt, Message, Observe, Owed, Restore, Resume,
    ReturnOf, Signal, Spawn, Stop, Turn,
};
use crate::story::{Do, Story};
use crate::words::Mode::{Headless, Interactive, Subagent};
use crate::words::{Authority, Disposition, EndReason};

#[test]
fn a_created_session_works_and_is_owed_its_first_run_by_its_own_id() {
    check(Headless, &[], "working, shelf active; no run; owed its launch run");
    let mut story = Story::new(Headless);
    let first = story.session.unstarted_first_run().unwrap();
    story.takes(&[Owed]);
    let run = story.session.current_run().unwrap();
    assert_eq!((run.id, run.turn_id), (first.run_id, first.turn_id));
    assert_eq!(run.prompt, story.session.prompt);
    assert_eq!(story.session.unstarted_first_run(), None);
}

#[test]
fn checklist_09_a_return_decides_then_a_question_then_working() {
    for mode in [Headless, Subagent, Interactive] {
        let live = "owed its live run";
        let finished = format!("finished, shelf active; run 1 running (live); {live}");
        check(mode, &[Owed], &format!("working, shelf active; run 1 running (live); {live}"));
        check(
            mode,
            &[Owed, Ask],
            &format!("needs-input, shelf active; run 1 suspended (live); {live}"),
        );
        check(mode, &[Owed, Ask, Finish("r")], &finished);
        check(
            mode,
            &[Owed, Ask, Await("r")],
            &format!("awaiting, shelf active; run 1 running (live); {live}"),
        );
    }
}

#[test]
fn a_verdict_moves_what_returned_and_stands_against_a_parting_return() {
    use EndReason::{Closed, Ended, Killed, Parked};
    let live = "run 1 running (live); owed its live run";
    check(Headless, &[Owed, Await("r"), Stop(Closed)], &format!("finished, shelf closed; {live}"));
    check(Headless, &[Owed, Finish("r"), Stop(Parked)], &format!("awaiting, shelf parked; {live}"));
    for (verdict, expected) in [
        (Parked, "awaiting, shelf parked; run 1 completed (parked); owed nothing"),
        (Closed, "finished, shelf closed; run 1 completed (closed); owed nothing"),
        (Ended, "finished, shelf closed; run 1 completed (ended); owed nothing"),
        (Killed, "abandoned, shelf error; run 1 failed (killed); owed nothing"),
    ] {
        for parting in [Finish("r"), Await("r")] {
            let story = Story::after(Headless, &[Owed, Stop(verdict), parting, Exit(0)]);
            assert_eq!(story.standing(), expected);
            let result = story.session.latest_result.as_ref().expect("the work is kept");
            assert!(result.is_late);
        }
    }
    check(
        Headless,
        &[Owed, Finish("r"), Stop(Parked), Exit(0)],
        "awaiting, shelf parked; run 1 completed (returned); owed nothing",
    );
}

#[test]
fn checklist_11_every_end_has_its_shelf() {
    use EndReason::{Closed, Discarded, Ended, Killed, Lost, Parked, ProviderError, SpawnFailed};
    for mode in [Headless, Subagent] {
        let check = |steps: &[Do], expected: &str| check(mode, steps, expected);
        check(
            &[Owed, Finish("r"), Exit(0)],
            "finished, shelf finished; run 1 completed (returned); owed nothing",
        );
        check(
            &[Owed, Await("r"), Exit(1)],
            "awaiting, shelf parked; run 1 completed (returned); owed nothing",
        );
        check(
            &[Owed, Stop(Closed), Signal(15)],
            "finished, shelf closed; run 1 completed (closed); owed nothing",
        );
        check(
            &[Owed, Stop(Parked), Signal(15)],
            "awaiting, shelf parked; run 1 completed (parked); owed nothing",
        );
        check(
            &[Owed, Stop(Discarded), Signal(15)],
            "abandoned, shelf closed, hidden; run 1 completed (discarded); owed nothing",
        );
        check(
            &[Owed, Stop(Killed), Signal(9)],
            "abandoned, shelf error; run 1 failed (killed); owed nothing",
        );
        check(
            &[Owed, Stop(Ended), Exit(0)],
            "finished, shelf closed; run 1 completed (ended); owed nothing",
        );
        check(
            &[Owed, EndWith("last"), Exit(0)],
            "finished, shelf closed; run 1 completed (ended); owed nothing",
        );
        check(&[Owed, Observe(Lost)], "abandoned, shelf error; run 1 failed (lost); owed nothing");
        check(
            &[Owed, Observe(ProviderError)],
            "awaiting, shelf error; run 1 failed (provider-error); owed nothing",
        );
        check(
            &[Owed, Observe(SpawnFailed)],
            "awaiting, shelf error; run 1 failed (spawn-failed); owed nothing",
        );
        check(&[Owed, Exit(0)], "working, shelf error; run 1 failed (exit-zero); owed re-prompt 1");
        check(
            &[Owed, Finish("r"), Exit(0), Resume],
            "working, shelf active; run 2 running (live); owed its live run",
        );
        check(
            &[Owed, Exit(0), Owed],
            "working, shelf active; run 2 running (live); owed its live run",
        );
    }
}

#[test]
fn checklist_11_without_a_live_run_a_verb_sets_state_and_shelf_at_once() {
    use EndReason::{Closed, Discarded, Ended, Killed, Parked};
    let dormant = [Owed, Await("r"), Exit(0)];
    for (reason, expected) in [
        (Closed, "finished, shelf closed"),
        (Parked, "awaiting, shelf parked"),
        (Discarded, "abandoned, shelf closed, hidden"),
        (Killed, "abandoned, shelf parked"),
        (Ended, "finished, shelf closed"),
    ] {
        let mut story = Story::after(Headless, &dormant);
        story.takes(&[Stop(reason)]);
        let run = "run 1 completed (returned); owed nothing";
        assert_eq!(story.standing(), format!("{expected}; {run}"), "{reason}");
        // The same end again appends nothing.
        let length = story.log.len();
        story.takes(&[Stop(reason)]);
        assert_eq!(story.log.len(), length, "{reason} twice");
    }
}

#[test]
fn a_session_that_never_ran_takes_every_verdict_and_is_then_owed_nothing() {
    use EndReason::{Closed, Discarded, Ended, Killed, Parked};
    for (reason, expected) in [
        (Closed, "finished, shelf closed"),
        (Parked, "awaiting, shelf parked"),
        (Discarded, "abandoned, shelf closed, hidden"),
        (Killed, "abandoned, shelf active"),
        (Ended, "finished, shelf closed"),
    ] {
        let steps = [Stop(reason)];
        check(Headless, &steps, &format!("{expected}; no run; owed nothing"));
    }
    check(Headless, &[Stop(Parked), Message], "awaiting, shelf parked; no run; owed a wake");
}

#[test]
fn checklist_11_interactive_sessions_never_shelve_themselves() {
    for (steps, expected) in [
        (vec![Owed, Exit(0)], "working, shelf active; run 1 failed (exit-zero); owed nothing"),
        (vec![Owed, Exit(3)], "working, shelf active; run 1 failed (exit-nonzero); owed nothing"),
        (
            vec![Owed, Finish("r"), Exit(0)],
            "finished, shelf active; run 1 completed (returned); owed nothing",
        ),
        (
            vec![Owed, Stop(EndReason::Killed), Signal(9)],
            "abandoned, shelf active; run 1 failed (killed); owed nothing",
        ),
        (
            vec![Owed, Stop(EndReason::Closed), Exit(0)],
            "finished, shelf closed; run 1 completed (closed); owed nothing",
        ),
        (
            vec![Owed, Stop(EndReason::Parked), Exit(0)],
            "awaiting, shelf parked; run 1 completed (parked); owed nothing",
        ),
    ] {
        check(Interactive, &steps, expected);
    }
}

#[test]
fn every_unreturned_exit_stays_working_and_is_re_prompted() {
    use EndReason::{Hangup, Unknown};
    for (end, name) in [
        (Exit(0), "exit-zero"),
        (Exit(7), "exit-nonzero"),
        (Signal(11), "signal"),
        (Observe(Hangup), "hangup"),
        (Observe(Unknown), "unknown"),
    ] {
        let expected = format!("working, shelf error; run 1 failed ({name}); owed re-prompt 1");
        check(Headless, &[Owed, end], &expected);
    }
}

#[test]
fn boundary_ends_keep_state_and_shelf_and_owe_nothing() {
    use EndReason::{Compacted, Migrated, ProfileSwitched, Switched};
    for reason in [Compacted, Migrated, ProfileSwitched, Switched] {
        let run = format!("run 1 completed ({reason}); owed nothing");
        let steps = [Owed, Stop(reason), Signal(15)];
        check(Headless, &steps, &format!("working, shelf active; {run}"));
    }
}

#[test]
fn checklist_06_two_re_prompts_then_failed_and_never_a_third() {
    let mut story = Story::after(Headless, &[Owed, Exit(0)]);
    for attempt in [1, 2] {
        assert!(story.standing().ends_with(&format!("owed re-prompt {attempt}")));
        story.takes(&[Owed]);
        assert_eq!(story.session.current_run().unwrap().attempt, attempt);
        story.takes(&[Exit(0)]);
    }
    assert_eq!(
        story.standing(),
        "awaiting, shelf error; run 3 failed (failed-unreturned); owed nothing"
    );
    assert!(story.take(&Owed).is_err(), "a third re-prompt");
    let mut odd = Story::after(Headless, &[Owed, Exit(0), Owed, Exit(0), Owed]);
    odd.push_end(EndReason::ExitZero);
    assert!(odd.standing().ends_with("owed nothing"), "whatever the last end was called");
    story.takes(&[Resume, Exit(1)]);
    assert_eq!(
        story.standing(),
        "working, shelf error; run 4 failed (exit-nonzero); owed re-prompt 1"
    );
    story.takes(&[Owed, Finish("late but well"), Exit(0)]);
    assert_eq!(
        story.standing(),
        "finished, shelf finished; run 5 completed (returned); owed nothing"
    );
}

#[test]
fn a_turn_that_returns_resets_the_count_of_re_prompts() {
    let twice = [Owed, Exit(0), Owed, Exit(0), Owed];
    let mut story = Story::after(Headless, &twice);
    story.takes(&[Await("r"), Turn, Exit(0)]);
    assert_eq!(
        story.standing(),
        "working, shelf error; run 3 failed (exit-zero); owed re-prompt 1"
    );
}

#[test]
fn checklist_07_a_deliberate_end_is_never_re_prompted() {
    use EndReason::{Closed, Discarded, Ended, Killed, Parked};
    for reason in [Killed, Closed, Parked, Discarded, Ended] {
        for steps in [
            vec![Owed, Stop(reason), Exit(0)],
            vec![Owed, Stop(reason), Observe(EndReason::Lost)],
            vec![Owed, Exit(0), Stop(reason)],
            vec![Owed, Exit(0), Owed, Exit(0), Stop(reason)],
        ] {
            let story = Story::after(Headless, &steps);
            assert!(story.standing().ends_with("owed nothing"), "{steps:?}: {}", story.standing());
        }
        let story = Story::after(Headless, &[Owed, Stop(reason), Exit(0)]);
        assert_eq!(story.session.current_run().unwrap().end_reason, Some(reason));
    }
}

#[test]
fn a_kill_after_a_stored_return_keeps_the_return() {
    check(
        Headless,
        &[Owed, Finish("r"), Stop(EndReason::Killed), Signal(9)],
        "finished, shelf finished; run 1 completed (returned); owed nothing",
    );
    check(
        Headless,
        &[Owed, Finish("r"), Interrupt("again"), Stop(EndReason::Killed), Signal(9)],
        "finished, shelf finished; run 1 completed (returned); owed nothing",
    );
}

#[test]
fn a_tombstone_stays_whatever_the_dying_agent_returns() {
    use EndReason::{Discarded, Killed};
    let steps = [Owed, Stop(Discarded), Finish("r"), Exit(0)];
    check(
        Headless,
        &steps,
        "abandoned, shelf closed, hidden; run 1 completed (returned); owed nothing",
    );
    let mut story = Story::after(Headless, &steps);
    assert!(story.take(&Resume).is_err());
    assert!(story.take(&Stop(EndReason::Closed)).is_err());
    story.takes(&[Stop(Killed), Restore]);
    assert_eq!(
        story.standing(),
        "finished, shelf closed; run 1 completed (returned); owed nothing"
    );
    story.takes(&[Resume]);
    assert_eq!(story.standing(), "working, shelf active; run 2 running (live); owed its live run");
}

#[test]
fn an_interrupted_run_owes_its_follow_up_until_it_starts() {
    let mut story = Story::after(Headless, &[Owed, Interrupt("rather this")]);
    assert_eq!(story.standing(), "working, shelf active; run 1 running (live); owed its live run");
    let intent = story.session.intent.clone().unwrap();
    story.takes(&[Signal(2)]);
    assert_eq!(
        story.standing(),
        "working, shelf active; run 1 completed (interrupted); owed its interrupt run"
    );
    story.takes(&[Owed]);
    let run = story.session.current_run().unwrap();
    assert_eq!((run.id, run.prompt), (intent.run_id, intent.prompt));
    assert_eq!(story.session.operator_prompt, story.session.prompt);
    // Lost, killed or returned in the meantime: the follow-up stands, unless a verdict took it.
    check(
        Headless,
        &[Owed, Interrupt("x"), Observe(EndReason::Lost)],
        "working, shelf active; run 1 completed (interrupted); owed its interrupt run",
    );
    check(
        Headless,
        &[Owed, Finish("r"), Interrupt("x"), Exit(0)],
        "finished, shelf finished; run 1 completed (returned); owed its interrupt run",
    );
    check(
        Headless,
        &[Owed, Interrupt("x"), Stop(EndReason::Closed), Exit(0)],
        "finished, shelf closed; run 1 completed (closed); owed nothing",
    );
}

#[test]
fn an_end_that_was_asked_for_first_is_not_interrupted() {
    use EndReason::{Closed, Interrupted, Killed, Parked, Switched};
    for first in [Stop(Killed), Stop(Closed), Stop(Parked), Stop(Switched), Interrupt("first")] {
        let mut story = Story::after(Headless, &[Owed, first]);
        let before = story.session.clone();
        let refusal = story.take(&Interrupt("second")).expect_err("refused");
        assert_eq!(refusal.code(), "being-ended");
        assert_eq!(story.session, before);
    }
    let mut story = Story::after(Headless, &[Owed, Interrupt("first"), Signal(15), Owed]);
    story.takes(&[Interrupt("second")]);
    assert_eq!(story.session.live_run().and_then(|run| run.end_requested), Some(Interrupted));
}

#[test]
fn a_late_return_is_stored_on_its_run_and_moves_nothing() {
    let mut story = Story::after(Headless, &[Owed, Exit(0), Owed]);
    let before = (story.standing(), story.session.state_since);
    story.takes(&[ReturnOf(1, Disposition::Finish, "late")]);
    assert_eq!((story.standing(), story.session.state_since), before);
    let run = &story.session.runs[0];
    assert!(run.result.as_ref().unwrap().is_late);
    assert!(!run.is_returned());
    assert_eq!(story.session.latest_result, run.result);
    story.takes(&[Finish("own"), Exit(0)]);
    assert_eq!(story.session.result_count, 2);
    assert_eq!(
        story.standing(),
        "finished, shelf finished; run 2 completed (returned); owed nothing"
    );
}

#[test]
fn a_return_after_its_runs_end_is_late_even_with_no_run_since() {
    check(
        Headless,
        &[Owed, Exit(0), Finish("late")],
        "working, shelf error; run 1 failed (exit-zero); owed re-prompt 1",
    );
    check(
        Headless,
        &[Owed, Stop(EndReason::Killed), Signal(9), Finish("late")],
        "abandoned, shelf error; run 1 failed (killed); owed nothing",
    );
}

#[test]
fn only_the_newest_run_moves_the_session() {
    let mut story = Story::after(Headless, &[Owed]);
    story.push_start();
    let before = story.standing();
    story.takes(&[ReturnOf(1, Disposition::Finish, "old")]);
    assert_eq!(story.standing(), before);
}

#[test]
fn an_end_that_completes_changes_nothing_once_something_did() {
    for reason in [EndReason::Lost, EndReason::ProviderError, EndReason::FailedUnreturned] {
        let mut story = Story::after(Headless, &[Owed, Finish("r")]);
        story.push_end(reason);
        assert!(story.standing().starts_with("finished, shelf finished"), "{reason}");
    }
}

#[test]
fn a_return_of_another_turn_moves_nothing() {
    let mut story = Story::after(Headless, &[Owed, Await("first"), Turn]);
    let before = story.standing();
    story.push_return_of_turn(77);
    assert_eq!(story.standing(), before);
}

#[test]
fn a_delivery_rules_its_own_run_ends() {
    let mut created = crate::story::created(Headless);
    created.authority = Authority::Delivery;
    let mut story = Story::created(created);
    assert!(story.take(&Resume).is_err(), "the record starts no run of it");
    assert_eq!(story.standing(), "working, shelf active; no run; owed nothing");
}

#[test]
fn result_numbers_count_every_run() {
    let steps = [Owed, Await("one"), Exit(0), Resume, Exit(1), Owed, Finish("three"), Exit(0)];
    let story = Story::after(Headless, &steps);
    let numbers: Vec<_> =
        story.session.runs.iter().map(|r| (r.number, r.result.is_some())).collect();
    assert_eq!(numbers, [(1, true), (2, false), (3, true)]);
    assert_eq!(story.session.result_count, 2);
    assert_eq!(story.session.run_count, 3);
    let chain: Vec<_> = story.session.runs.iter().map(|r| r.continues_run_id).collect();
    let ids: Vec<_> = story.session.runs.iter().map(|r| r.id).collect();
    assert_eq!(chain, [None, Some(ids[0]), Some(ids[1])]);
}

#[test]
fn the_state_carries_the_time_of_its_last_change() {
    let mut story = Story::after(Headless, &[Owed, Spawn]);
    let at_start = story.session.started;
    assert_eq!(story.session.state_since, at_start);
    let finished_at = story.now();
    story.takes(&[Finish("r")]);
    story.takes(&[Exit(0), Do::Set("phase", "done")]);
    assert_eq!(story.session.state_since, finished_at);
    assert_ne!(story.session.updated, finished_at);
}

#[test]
fn a_run_whose_return_is_lost_awaits_and_nothing_is_asked_again() {
    check(
        Headless,
        &[Owed, Observe(EndReason::Returned)],
        "awaiting, shelf error; run 1 completed (returned); owed nothing",
    );
}
