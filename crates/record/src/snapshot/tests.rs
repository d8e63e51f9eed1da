use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::dispatch::Dispatch;
use crate::event::fact::{LaunchKey, Parent, ProcessFacts};
use crate::ids::{EventId, RequestId, RunId, SessionId, ThreadId, TurnId};
use crate::limits::{
    MAX_CGROUP_BYTES, MAX_DESCRIPTION_BYTES, MAX_DETAIL_BYTES, MAX_DISPATCHES, MAX_INTERFACE_BYTES,
    MAX_LAUNCH_KEY_BYTES, MAX_MACHINE_ID_BYTES, MAX_NAME_BYTES, MAX_NATIVE_ID_BYTES,
    MAX_OPEN_QUESTIONS, MAX_PATH_BYTES, MAX_RECENT_ARTIFACTS, MAX_RECENT_RUNS, MAX_SLICES_BYTES,
    MAX_SNAPSHOT_BYTES, MAX_TITLE_BYTES,
};
use crate::question::Question;
use crate::run::{LineRef, ResultRef, Run, TextRef};
use crate::session::{Completion, Intent, Pending, Session};
use crate::snapshot::{IndexPosition, LogPosition, Snapshot, SnapshotError};
use crate::source::Source;
use crate::story::{Do, Story, session_id};
use crate::time::Timestamp;
use crate::words::{
    Authority, Cause, Disposition, EndReason, Mode, Outcome, QuestionKind, Retention,
};

/// Decodes and tells how it went, a good snapshot as its log sequence.
fn check(bytes: &[u8], id: SessionId, expected: &str) {
    let told = match Snapshot::decode(bytes, id) {
        Ok(snapshot) => format!("snapshot at {}", snapshot.log.sequence),
        Err(error) => error.to_string(),
    };
    assert_eq!(told, expected);
}

fn rich() -> Story {
    let mut created = crate::story::created(Mode::Subagent);
    created.account = Some("work".to_owned());
    created.key = Some(LaunchKey { key: "nightly".to_owned(), arguments_hash: "00ff".to_owned() });
    created.continues = Some(session_id(55));
    let mut story = Story::created(created);
    story.takes(&[
        Do::Register("Title", "What it \"does\"."),
        Do::Owed,
        Do::Spawn,
        Do::Set("phase", "one"),
        Do::Slice("core:rooms", "{\"lobby\":4}"),
        Do::Note,
        Do::Artifact("/w/out.txt"),
        Do::Claim(2),
        Do::Materialize(2),
        Do::Claim(3),
        Do::Defer,
        Do::Ask,
        Do::Answer(1),
        Do::Take(1),
        Do::Message,
        Do::Await("so far"),
        Do::WakeAt(3_600_000),
        Do::Exit(0),
        Do::Resume,
        Do::Spawn,
        Do::Exit(3),
        Do::Owed,
        Do::Observe(EndReason::ProviderError),
        Do::Intend,
    ]);
    story
}

#[test]
fn a_snapshot_is_stored_like_this() {
    let bytes = rich().snapshot().encode().unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let crc = value["crc"].take();
    assert_eq!(crc.as_str().unwrap().len(), 8);
    insta::assert_json_snapshot!(value);
}

#[test]
fn the_stored_bytes_begin_with_version_and_place_and_end_with_the_checksum() {
    let bytes = Story::new(Mode::Headless).snapshot().encode().unwrap();
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap());
}

#[test]
fn a_snapshot_reads_back_equal() {
    let snapshot = rich().snapshot();
    let bytes = snapshot.encode().unwrap();
    assert_eq!(Snapshot::decode(&bytes, snapshot.session.id).unwrap(), snapshot);
}

#[test]
fn what_is_no_snapshot_of_this_session_is_told_apart() {
    let story = Story::new(Mode::Headless);
    let (bytes, id) = (story.snapshot().encode().unwrap(), story.session.id);
    let unfit = "snapshot checksum does not fit";
    check(&bytes, id, "snapshot at 1");
    check(&bytes, session_id(2), unfit);
    check(&[], id, unfit);
    check(&bytes[..bytes.len() - 1], id, unfit);
    check(&vec![0; bytes.len()], id, unfit);
    check(
        &vec![b' '; MAX_SNAPSHOT_BYTES + 1],
        id,
        "snapshot of 65537 bytes is over the bound of 65536",
    );
    let sealed = |text: &str| {
        let mut bytes = text.as_bytes()[..text.len() - 1].to_vec();
        let crc = crc32c::crc32c_append(crate::line::chain_seed(id), &bytes);
        bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
        bytes
    };
    check(
        &sealed("{\"schemaVersion\":\"2.0\",\"ext\":7}"),
        id,
        "snapshot schemaVersion is 2.0, expected 1.0",
    );
    check(&sealed("{\"schemaVersion\":\"1.0\",\"ext\":7}"), id, "snapshot is not readable");
}

#[test]
fn every_flipped_bit_is_detected() {
    let story = rich();
    let (bytes, id) = (story.snapshot().encode().unwrap(), story.session.id);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Snapshot::decode(&flipped, id).is_err(), "bit {bit}");
    }
}

fn uuid() -> uuid::Uuid {
    uuid::Uuid::from_u128(u128::MAX)
}

fn filled(len_bytes: usize) -> String {
    "m".repeat(len_bytes)
}

fn latest() -> Timestamp {
    Timestamp::from_millis(i64::MAX)
}

fn text_ref() -> TextRef {
    let line = LineRef { offset_bytes: u64::MAX, len_bytes: u64::MAX, previous: u32::MAX };
    TextRef { line, len_bytes: u64::MAX }
}

fn result() -> ResultRef {
    ResultRef {
        event_id: EventId::from_uuid(uuid()),
        turn_id: TurnId::from_uuid(uuid()),
        run_number: u64::MAX,
        disposition: Disposition::Finish,
        payload: text_ref(),
        sha256: filled(64),
        source: Source::Other(filled(MAX_NAME_BYTES)),
        at: latest(),
        is_late: true,
    }
}

fn run() -> Run {
    let process = ProcessFacts { pid: i32::MIN, start_ticks: u64::MAX, boot_id: filled(36) };
    Run {
        id: RunId::from_uuid(uuid()),
        number: u64::MAX,
        turn_id: TurnId::from_uuid(uuid()),
        turn_count: u64::MAX,
        cause: Cause::Interrupt,
        attempt: u32::MAX,
        continues_run_id: Some(RunId::from_uuid(uuid())),
        prompt: text_ref(),
        started: latest(),
        ended: Some(latest()),
        machine_id: filled(MAX_MACHINE_ID_BYTES),
        boot_id: filled(MAX_MACHINE_ID_BYTES),
        agent: Some(process.clone()),
        holder: Some(process),
        cgroup: Some(filled(MAX_CGROUP_BYTES)),
        native_session_id: Some(filled(MAX_NATIVE_ID_BYTES)),
        end_requested: Some(EndReason::ProfileSwitched),
        end_reason: Some(EndReason::FailedUnreturned),
        exit_code: Some(i32::MIN),
        signal: Some(i32::MIN),
        detail: Some(filled(MAX_DETAIL_BYTES)),
        result: Some(result()),
    }
}

fn pending() -> Pending {
    Pending {
        delivered_sequence: u64::MAX,
        first_sequence: Some(u64::MAX),
        last_sequence: Some(u64::MAX),
        count: u64::MAX,
        wake_at: Some(latest()),
    }
}

fn question() -> Question {
    Question {
        id: RequestId::from_uuid(uuid()),
        kind: QuestionKind::Deferred,
        run_id: Some(RunId::from_uuid(uuid())),
        text: text_ref(),
        asked: latest(),
        answer: Some(text_ref()),
    }
}

/// Two entries that together take the bound, as the commands count them.
fn full_map(len_bytes: usize) -> BTreeMap<String, String> {
    let half = len_bytes / 2 - 7;
    BTreeMap::from([("a".to_owned(), filled(half)), ("b".to_owned(), filled(half))])
}

fn maximal() -> Session {
    let id = SessionId::from_uuid(uuid());
    let run_id = RunId::from_uuid(uuid());
    Session {
        id,
        root_thread_id: ThreadId::from_uuid(uuid()),
        runtime: filled(MAX_NAME_BYTES),
        profile: Some(filled(MAX_NAME_BYTES)),
        account: Some(filled(MAX_NAME_BYTES)),
        mode: Mode::Interactive,
        authority: Authority::Delivery,
        cwd: filled(MAX_PATH_BYTES),
        key: Some(LaunchKey {
            key: filled(MAX_LAUNCH_KEY_BYTES),
            arguments_hash: filled(MAX_NAME_BYTES),
        }),
        prompt: text_ref(),
        operator_prompt: text_ref(),
        title: Some(filled(MAX_TITLE_BYTES)),
        description: Some(filled(MAX_DESCRIPTION_BYTES)),
        interface: full_map(MAX_INTERFACE_BYTES),
        slices: BTreeMap::from([(
            "core:x".to_owned(),
            serde_json::Value::String(filled(MAX_SLICES_BYTES - 14)),
        )]),
        parent: Some(Parent { session_id: id, run_id: Some(run_id) }),
        root_session_id: id,
        depth: u32::MAX,
        continues: Some(id),
        started: latest(),
        updated: latest(),
        state_since: latest(),
        retention: Retention::Finished,
        discarded: false,
        completion: Some(Completion::Ended(EndReason::FailedUnreturned)),
        intent: Some(Intent {
            run_id,
            turn_id: TurnId::from_uuid(uuid()),
            cause: Cause::Interrupt,
            prompt: text_ref(),
            held: Some(pending()),
            request_ids: vec![question().id; MAX_OPEN_QUESTIONS],
        }),
        native_session_id: Some(filled(MAX_NATIVE_ID_BYTES)),
        run_count: u64::MAX,
        runs: vec![run(); MAX_RECENT_RUNS],
        result_count: u64::MAX,
        latest_result: Some(result()),
        questions: vec![question(); MAX_OPEN_QUESTIONS],
        dispatches: vec![
            Dispatch {
                child_session_id: id,
                initiated_run_id: run_id,
                started_at: latest(),
                is_materialized: false,
            };
            MAX_DISPATCHES
        ],
        note_count: u64::MAX,
        artifact_count: u64::MAX,
        artifacts: vec![filled(MAX_PATH_BYTES); MAX_RECENT_ARTIFACTS],
        pending: pending(),
    }
}

#[test]
fn a_session_with_everything_at_its_bound_fits_the_snapshot() {
    let snapshot = Snapshot {
        log: LogPosition {
            len_bytes: u64::MAX,
            sequence: u64::MAX,
            event_id: EventId::from_uuid(uuid()),
            chain: u32::MAX,
        },
        run_index: IndexPosition { len_bytes: u64::MAX, run_count: u64::MAX },
        session: maximal(),
    };
    let bytes = snapshot.encode().unwrap();
    // Room for the fields that later builds add.
    assert!(bytes.len() + 512 <= MAX_SNAPSHOT_BYTES, "{} bytes", bytes.len());
    assert_eq!(Snapshot::decode(&bytes, snapshot.session.id).unwrap(), snapshot);
}

#[test]
fn a_session_over_its_bounds_is_not_encoded() {
    let mut snapshot = Story::new(Mode::Headless).snapshot();
    snapshot.session.artifacts = vec![filled(MAX_SNAPSHOT_BYTES)];
    assert!(matches!(snapshot.encode(), Err(SnapshotError::TooLong { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        prop_assert!(Snapshot::decode(&bytes, session_id(1)).is_err());
    }

    #[test]
    fn well_sealed_bytes_never_panic(text in "[ -~]{0,200}") {
        let mut bytes = text.into_bytes();
        let crc = crc32c::crc32c_append(crate::line::chain_seed(session_id(1)), &bytes);
        bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
        prop_assert!(Snapshot::decode(&bytes, session_id(1)).is_err());
    }

    #[test]
    fn a_torn_snapshot_is_detected(cut in 0_usize..4_000) {
        let bytes = rich().snapshot().encode().unwrap();
        if cut < bytes.len() {
            prop_assert!(Snapshot::decode(&bytes[..cut], session_id(1)).is_err());
        }
    }
}

#[test]
fn outcomes_have_one_spelling_each() {
    for outcome in Outcome::ALL {
        assert_eq!(outcome.as_str().parse::<Outcome>().unwrap(), *outcome);
    }
}
