//! What comes in from outside: wakes, dispatches, moves, and what a terminal shows.

use super::check;
use crate::event::fact::DispatchSettled;
use crate::limits::MAX_RECENT_RUNS;
use crate::observed::{Activity, Watched, observed_state};
use crate::story::Do::{
    Account, Answer, Await, Claim, Clock, Collect, Defer, Exit, Finish, Intend, Interrupt,
    Materialize, Message, Observe, Owed, Profile, Register, Resume, Room, Set, Settle, Slice, Stop,
    Switch, WakeAt,
};
use crate::story::{Do, Story, run_id, session_id};
use crate::words::Mode::{Headless, Interactive, Subagent};
use crate::words::{EndReason, Outcome, WorkState};

const DORMANT: [Do; 3] = [Owed, Await("r"), Exit(0)];

fn dormant_after(steps: &[Do]) -> Story {
    let mut story = Story::after(Headless, &DORMANT);
    story.takes(steps);
    story
}

#[test]
fn checklist_01_the_id_never_changes() {
    let mut story = Story::after(Headless, &[Owed, Await("r"), Exit(0)]);
    story.takes(&[Resume, Stop(EndReason::Compacted), Exit(0)]);
    story.takes(&[Account("second"), Profile("large"), Resume, Stop(EndReason::Migrated), Exit(0)]);
    story.takes(&[Resume, Finish("done"), Exit(0)]);
    assert_eq!(story.session.id, session_id(1));
    assert!(story.log.iter().all(|(event, _)| event.subject == session_id(1)));
    assert_eq!(story.session.account.as_deref(), Some("second"));
    assert_eq!(story.session.target(), "sh/large");
}

#[test]
fn checklist_10_observed_override_writes_nothing() {
    let story = Story::after(Interactive, &[Owed]);
    let before = story.snapshot().encode().unwrap();
    let stored = story.session.work_state();
    let shown = |mode, activity, live_subagent_count| {
        observed_state(stored, mode, Some(Watched { activity, live_subagent_count }))
    };
    assert_eq!(shown(Interactive, Activity::Busy, 0), WorkState::Working);
    assert_eq!(shown(Interactive, Activity::Busy, 2), WorkState::Working);
    assert_eq!(shown(Interactive, Activity::Idle, 2), WorkState::Working);
    assert_eq!(shown(Interactive, Activity::Idle, 0), WorkState::NeedsInput);
    for mode in [Headless, Subagent] {
        assert_eq!(shown(mode, Activity::Idle, 0), stored);
    }
    for state in WorkState::ALL {
        assert_eq!(observed_state(*state, Interactive, None), *state);
    }
    assert_eq!(story.snapshot().encode().unwrap(), before);
}

#[test]
fn checklist_12_awaiting_wakes_by_message_child_result_room_event_and_time() {
    let woken = "awaiting, shelf parked; run 1 completed (returned); owed a wake";
    let asleep = "awaiting, shelf parked; run 1 completed (returned); owed nothing";
    assert_eq!(dormant_after(&[]).standing(), asleep);
    assert_eq!(dormant_after(&[Message]).standing(), woken);
    assert_eq!(dormant_after(&[Room]).standing(), woken);
    let child = [Claim(2), Materialize(2)];
    assert_eq!(dormant_after(&child).standing(), asleep);
    let mut story = dormant_after(&child);
    story.takes(&[Settle(2, Outcome::Result)]);
    assert_eq!(story.standing(), woken);
    let mut story = dormant_after(&child);
    story.takes(&[Collect(2, Outcome::Result)]);
    assert_eq!(story.standing(), asleep, "a collected result wakes nobody");
    let mut story = dormant_after(&[WakeAt(60_000), Clock(59_999)]);
    assert_eq!(story.standing(), asleep);
    story.takes(&[Clock(60_000)]);
    assert_eq!(story.standing(), woken);
    story.takes(&[Owed]);
    assert_eq!(story.standing(), "working, shelf active; run 2 running (live); owed its live run");
    story.takes(&[Await("r"), Exit(0)]);
    assert_eq!(
        story.standing(),
        "awaiting, shelf parked; run 2 completed (returned); owed nothing"
    );
}

#[test]
fn every_dormant_state_wakes_and_every_other_one_does_not() {
    for (steps, expected) in [
        (
            vec![Owed, Stop(EndReason::Parked), Exit(0), Message],
            "awaiting, shelf parked; run 1 completed (parked); owed a wake",
        ),
        (
            vec![Owed, Observe(EndReason::ProviderError), Message],
            "awaiting, shelf error; run 1 failed (provider-error); owed a wake",
        ),
        (
            vec![Owed, Exit(0), Owed, Exit(0), Owed, Exit(0), Message],
            "awaiting, shelf error; run 3 failed (failed-unreturned); owed a wake",
        ),
        (
            vec![Owed, Finish("r"), Exit(0), Message],
            "finished, shelf finished; run 1 completed (returned); owed nothing",
        ),
        (
            vec![Owed, Stop(EndReason::Killed), Exit(0), Message],
            "abandoned, shelf error; run 1 failed (killed); owed nothing",
        ),
        (
            vec![Owed, Exit(0), Message],
            "working, shelf error; run 1 failed (exit-zero); owed re-prompt 1",
        ),
    ] {
        check(Headless, &steps, expected);
    }
    check(
        Interactive,
        &[Owed, Stop(EndReason::Parked), Exit(0), Message],
        "awaiting, shelf parked; run 1 completed (parked); owed nothing",
    );
}

#[test]
fn checklist_13_switch_keeps_the_id() {
    let mut story = Story::after(Headless, &[Owed, Set("phase", "one"), Await("r"), Exit(0)]);
    story.takes(&[Switch(Interactive)]);
    assert_eq!(
        (story.session.id, story.session.mode, story.session.runs.len()),
        (session_id(1), Interactive, 1)
    );
    story.takes(&[Resume, Stop(EndReason::Switched), Exit(0), Switch(Headless), Resume]);
    assert_eq!((story.session.id, story.session.mode), (session_id(1), Headless));
    assert_eq!(story.session.interface["phase"], "one");
}

#[test]
fn checklist_15_free_keys_and_titles_survive_a_resume() {
    let steps = [Owed, Register("title", "what"), Set("phase", "one"), Finish("r"), Exit(0)];
    let mut story = Story::after(Headless, &steps);
    let kept = (
        story.session.title.clone(),
        story.session.description.clone(),
        story.session.interface.clone(),
        story.session.latest_result.clone(),
    );
    story.takes(&[Resume]);
    assert_eq!(
        (
            story.session.title.clone(),
            story.session.description.clone(),
            story.session.interface.clone(),
            story.session.latest_result.clone(),
        ),
        kept
    );
}

#[test]
fn one_wake_delivers_everything_that_waits_and_once() {
    let mut story = dormant_after(&[Message, Room, Message]);
    let waiting = story.session.pending.clone();
    assert_eq!(
        (waiting.count, waiting.first_sequence, waiting.last_sequence),
        (3, Some(5), Some(7))
    );
    story.takes(&[Intend]);
    assert_eq!(
        story.standing(),
        "awaiting, shelf parked; run 1 completed (returned); owed its wake run"
    );
    story.takes(&[Message, Owed]);
    let pending = story.session.pending.clone();
    assert_eq!(
        (pending.delivered_sequence, pending.count, pending.first_sequence, pending.last_sequence),
        (7, 1, Some(9), Some(9)),
        "what came in after the digest waits for the next wake"
    );
}

#[test]
fn a_wake_delivers_only_what_its_maker_saw() {
    let mut story = dormant_after(&[Defer, Answer(0), Message]);
    let seen = story.session.clone();
    story.takes(&[Message, Defer, Answer(1)]);
    let digest = crate::command::start::Wake {
        run_id: run_id(70),
        turn_id: seen.runs[0].turn_id,
        prompt: "digest".to_owned(),
        through_sequence: seen.pending.last_sequence,
        request_ids: vec![seen.questions[0].id],
    };
    let now = story.now();
    story.push(crate::command::start::wake(&story.session, digest, now).unwrap());
    story.takes(&[Owed]);
    let pending = &story.session.pending;
    assert_eq!((pending.delivered_sequence, pending.last_sequence), (7, Some(8)));
    assert_eq!(story.session.questions.len(), 1);
    story.takes(&[Await("r"), Exit(0)]);
    assert!(story.standing().ends_with("owed a wake"));
}

#[test]
fn a_wake_that_never_started_gives_back_what_it_was_to_deliver() {
    for (steps, count) in [
        (vec![Stop(EndReason::Parked)], 2),
        (vec![Resume, Await("r"), Exit(0)], 2),
        (vec![Message, Resume, Await("r"), Exit(0)], 3),
    ] {
        let mut story = dormant_after(&[Message, Message, Defer, Answer(0), Intend]);
        story.takes(&steps);
        assert!(story.standing().ends_with("owed a wake"), "{steps:?}: {}", story.standing());
        let pending = &story.session.pending;
        assert_eq!(
            (pending.delivered_sequence, pending.first_sequence, pending.count),
            (1, Some(5), count)
        );
        assert_eq!(story.session.questions.len(), 1, "its answer too");
    }
}

#[test]
fn a_return_retires_a_scheduled_wake() {
    let dormant = "awaiting, shelf parked; run 1 completed (returned)";
    let before = [Owed, WakeAt(0), Await("r"), Exit(0)];
    check(Headless, &before, &format!("{dormant}; owed nothing"));
    let after = [Owed, Await("r"), WakeAt(0), Exit(0)];
    check(Headless, &after, &format!("{dormant}; owed a wake"));
}

#[test]
fn a_terminal_verdict_retires_a_scheduled_wake() {
    use EndReason::{Closed, Ended, Killed};
    for reason in [Closed, Ended, Killed] {
        let story = dormant_after(&[WakeAt(5), Stop(reason)]);
        assert_eq!(story.session.pending.wake_at, None, "{reason}");
    }
    let story = dormant_after(&[WakeAt(5), Stop(EndReason::Parked)]);
    assert!(story.session.pending.wake_at.is_some(), "a park rests and wakes");
}

#[test]
fn a_deferred_question_leaves_the_lifecycle_alone_and_its_answer_wakes() {
    check(
        Headless,
        &[Owed, Defer],
        "working, shelf active; run 1 running (live); owed its live run",
    );
    check(
        Headless,
        &[Owed, Defer, Await("asked"), Exit(0)],
        "awaiting, shelf parked; run 1 completed (returned); owed nothing",
    );
    check(
        Headless,
        &[Owed, Defer, Await("asked"), Exit(0), Answer(0)],
        "awaiting, shelf parked; run 1 completed (returned); owed a wake",
    );
    let story = Story::after(Headless, &[Owed, Defer, Await("asked"), Exit(0), Answer(0), Owed]);
    assert_eq!(story.session.questions, [], "the wake carried it");
}

#[test]
fn a_dispatch_is_owed_until_an_outcome_discharges_it() {
    for (outcome, is_discharged) in [
        (Outcome::Result, true),
        (Outcome::ApiError, true),
        (Outcome::FailedUnreturned, true),
        (Outcome::Abandoned, true),
        (Outcome::Hangup, true),
        (Outcome::Adopted, false),
        (Outcome::Pending, false),
    ] {
        let mut story = Story::after(Headless, &[Owed, Claim(2), Claim(3), Materialize(2)]);
        story.takes(&[Settle(2, outcome)]);
        let (child_session_id, initiated_run_id) = (session_id(3), run_id(3));
        story.push(DispatchSettled {
            child_session_id,
            initiated_run_id,
            outcome,
            run_number: None,
            is_collected: false,
        });
        let left = if is_discharged { 0 } else { 2 };
        assert_eq!(story.session.live_dispatch_count(), left, "{outcome}");
    }
}

#[test]
fn a_claim_written_twice_takes_one_slot() {
    let mut story = Story::after(Headless, &[Owed, Claim(2)]);
    story.takes(&[Claim(2)]);
    assert_eq!(story.session.live_dispatch_count(), 1);
}

#[test]
fn a_slice_event_never_stands_in_for_the_free_keys() {
    let mut story = Story::after(Headless, &[Set("phase", "one"), Slice("core:rooms", "[1.5]")]);
    let before = story.session.clone();
    for name in crate::snapshot::DERIVED_SLICES {
        let value = serde_json::json!({ "phase": "forged" });
        story.push(crate::event::fact::SliceSet { slice: name.to_owned(), value });
    }
    assert_eq!(story.session.interface, before.interface);
    assert_eq!(story.session.slices, before.slices);
}

#[test]
fn older_runs_leave_the_session_one_by_one_and_oldest_first() {
    let mut story = Story::after(Headless, &[Owed, Await("r"), Exit(0)]);
    for _ in 0..MAX_RECENT_RUNS + 1 {
        story.takes(&[Resume, Await("r"), Exit(0)]);
    }
    let evicted: Vec<_> = story.evicted.iter().map(|r| r.number).collect();
    assert_eq!(evicted, [1, 2]);
    assert_eq!(story.session.runs.len(), MAX_RECENT_RUNS);
    assert_eq!(story.session.run_count, MAX_RECENT_RUNS as u64 + 2);
}

#[test]
fn a_resume_supersedes_a_run_that_never_started() {
    let mut story = Story::after(Headless, &[Resume, Finish("r"), Exit(0)]);
    assert_eq!(
        story.standing(),
        "finished, shelf finished; run 1 completed (returned); owed nothing"
    );
    story.takes(&[Resume, Interrupt("x"), Exit(0), Resume, Finish("r"), Exit(0)]);
    assert_eq!(
        story.standing(),
        "finished, shelf finished; run 3 completed (returned); owed nothing"
    );
}
