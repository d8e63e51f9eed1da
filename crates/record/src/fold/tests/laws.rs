//! Laws over arbitrary stories.

use proptest::prelude::*;

use crate::fold::{FoldError, apply, fold};
use crate::limits::{MAX_RECENT_ARTIFACTS, MAX_RECENT_RUNS, MAX_REPROMPTS, MAX_SNAPSHOT_BYTES};
use crate::snapshot::Snapshot;
use crate::story::{Do, Story};
use crate::words::{Cause, Disposition, EndReason, Mode, Outcome};

fn text() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["one", "two", "größer", "a\"b\\c\n\u{1}", " "])
}

fn step() -> impl Strategy<Value = Do> {
    let number = 0_usize..3;
    let child = 2_u128..6;
    prop_oneof![
        6 => Just(Do::Owed),
        2 => Just(Do::Resume),
        1 => Just(Do::Intend),
        1 => Just(Do::Spawn),
        2 => text().prop_map(Do::Finish),
        2 => text().prop_map(Do::Await),
        1 => (1_u64..5, prop::sample::select(Disposition::ALL), text())
            .prop_map(|(n, disposition, text)| Do::ReturnOf(n, disposition, text)),
        1 => Just(Do::Turn),
        5 => (0..2).prop_map(Do::Exit),
        1 => (1..16).prop_map(Do::Signal),
        1 => prop::sample::select(EndReason::ALL).prop_map(Do::Observe),
        2 => prop::sample::select(EndReason::ALL).prop_map(Do::Stop),
        1 => text().prop_map(Do::Interrupt),
        1 => text().prop_map(Do::EndWith),
        1 => Just(Do::Restore),
        1 => Just(Do::Ask),
        1 => Just(Do::Defer),
        2 => number.clone().prop_map(Do::Answer),
        1 => number.clone().prop_map(Do::Take),
        1 => number.prop_map(Do::Cancel),
        2 => Just(Do::Message),
        1 => Just(Do::Room),
        1 => (0_i64..90_000).prop_map(Do::WakeAt),
        1 => (0_i64..90_000).prop_map(Do::Clock),
        1 => child.clone().prop_map(Do::Claim),
        1 => child.clone().prop_map(Do::Materialize),
        1 => (child.clone(), prop::sample::select(Outcome::ALL))
            .prop_map(|(n, outcome)| Do::Settle(n, outcome)),
        1 => (child, prop::sample::select(Outcome::ALL))
            .prop_map(|(n, outcome)| Do::Collect(n, outcome)),
        1 => prop::sample::select(Mode::ALL).prop_map(Do::Switch),
        1 => text().prop_map(Do::Account),
        1 => text().prop_map(Do::Profile),
        1 => (text(), text()).prop_map(|(title, what)| Do::Register(title, what)),
        1 => (text(), text()).prop_map(|(key, value)| Do::Set(key, value)),
        1 => prop::sample::select(vec!["[0.1,1e300,-0.0]", "{\"a\":{\"b\":null}}", "null", "7"])
            .prop_map(|json| Do::Slice("core:rooms", json)),
        1 => Just(Do::Note),
        1 => text().prop_map(Do::Artifact),
    ]
}

fn told(mode: Mode, steps: &[Do]) -> Story {
    let mut story = Story::new(mode);
    for step in steps {
        let before = story.session.clone();
        let events = story.log.len();
        if story.take(step).is_err() && story.log.len() == events {
            assert_eq!(story.session, before, "a refusal changes nothing");
        }
        invariants(&story);
    }
    story
}

fn invariants(story: &Story) {
    let session = &story.session;
    assert!(session.runs.len() <= MAX_RECENT_RUNS);
    assert!(session.artifacts.len() <= MAX_RECENT_ARTIFACTS);
    assert!(session.runs.iter().filter(|r| r.is_live()).count() <= 1, "two live runs");
    assert!(session.runs.iter().rev().skip(1).all(|r| !r.is_live()));
    assert!(session.runs.windows(2).all(|w| w[1].number == w[0].number + 1));
    assert!(session.runs.iter().all(|r| r.attempt <= MAX_REPROMPTS), "a third re-prompt");
    assert!(session.runs.iter().all(|r| (r.attempt > 0) <= (r.cause == Cause::Reprompt)));
    assert!(session.pending.last_sequence.is_some() == session.pending.first_sequence.is_some());
    assert!(session.pending.first_sequence <= session.pending.last_sequence);
    assert!(session.pending.first_sequence.is_none_or(|f| f > session.pending.delivered_sequence));
    assert!((session.pending.count > 0) == session.pending.last_sequence.is_some());
    let sequences = story.log.iter().map(|(event, _)| event.sequence);
    assert!(sequences.eq(1..=story.log.len() as u64), "sequences are contiguous");
    assert!(story.snapshot().encode().unwrap().len() <= MAX_SNAPSHOT_BYTES);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn folding_on_from_any_snapshot_equals_folding_everything(
        mode in prop::sample::select(Mode::ALL),
        steps in prop::collection::vec(step(), 0..48),
    ) {
        let story = told(mode, &steps);
        let whole = fold(story.log.iter().map(|(event, line)| (event, *line))).unwrap().unwrap();
        prop_assert_eq!(&whole, &story.session);
        for cut in 1..story.log.len() {
            let (before, after) = story.log.split_at(cut);
            let begun = fold(before.iter().map(|(event, line)| (event, *line))).unwrap().unwrap();
            let bytes = Snapshot { session: begun, ..story.snapshot() }.encode().unwrap();
            let mut session =
                Some(Snapshot::decode(&bytes, story.session.id).unwrap().session);
            for (event, line) in after {
                apply(&mut session, event, *line).unwrap();
            }
            prop_assert_eq!(session.as_ref(), Some(&story.session), "cut at {}", cut);
        }
    }

    #[test]
    fn any_facts_in_any_order_fold_without_a_panic(
        steps in prop::collection::vec(step(), 0..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let story = told(Mode::Headless, &steps);
        let mut session = None;
        apply(&mut session, &story.log[0].0, story.log[0].1).unwrap();
        for index in order {
            let (event, line) = index.get(&story.log);
            let before = session.clone();
            if let Err(error) = apply(&mut session, event, *line) {
                prop_assert_eq!(error, FoldError::CreatedTwice { sequence: 1 });
                prop_assert_eq!(&session, &before);
            }
            let session = session.clone().unwrap();
            Snapshot { session, ..story.snapshot() }.encode().unwrap();
        }
    }
}

#[test]
fn a_log_begins_with_its_creation() {
    let story = Story::after(Mode::Headless, &[Do::Owed]);
    assert_eq!(fold([]), Ok(None));
    let (event, line) = &story.log[1];
    assert_eq!(
        fold([(event, *line)]),
        Err(FoldError::NotCreated { type_name: "orbh.run.started".to_owned() })
    );
}
