//! Starts of runs that are lost with a damaged line.

use std::path::Path;
use std::sync::Arc;

use creel_record::decide::{Owed, decide};
use creel_record::{Fact, Run, Session};
use creel_spool::{EventsFrom, Store};
use creel_sys::fs::{Fs, OpenHow, read_exact_at, write_all_at};
use creel_testkit::disk::DiskFs;

use crate::ledger::{Ledger, ROOT, append, heal};
use crate::mint::{Minter, ended, returned, session_id};

/// More than a snapshot has.
const RUNS: u64 = 6;

/// What is lost beside the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Nothing,
    Snapshot,
    SnapshotAndIndex,
}

fn scene() -> (DiskFs, Store) {
    let disk = DiskFs::new();
    let store = Store::create(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap();
    let (mut minter, mut ledger) = (Minter::new(1), Ledger::default());
    let id = session_id(1);
    let created = minter.created(id);
    store.create_session(id, minter.draft(created)).unwrap();
    let facts: [fn(&Session, &mut Minter) -> Fact; 3] = [
        |session, minter| minter.started(session).into(),
        |session, _| returned(session, &format!("result {}", session.run_count)),
        |session, _| ended(session),
    ];
    for _ in 0..RUNS {
        for fact in facts {
            append((&store, &mut ledger), (id, &mut minter), &fact).unwrap();
        }
    }
    (disk, store)
}

fn runs(store: &Store) -> Vec<Run> {
    let published = store.read(session_id(1)).unwrap();
    store.runs(session_id(1), published.session()).unwrap()
}

/// Checks that a heal brings the start of a run back.
fn check(number: u64, lost: Lost) {
    let (disk, store) = scene();
    let id = session_id(1);
    let before = runs(&store);
    let start = store
        .events(id, EventsFrom::Start)
        .unwrap()
        .map(Result::unwrap)
        .find(|it| matches!(&it.event.fact, Fact::RunStarted(start) if start.number == number))
        .unwrap();
    let file = disk.open(&store.log_path(id), OpenHow::ReadWrite).unwrap();
    let at = start.position.len_bytes - 60;
    let byte = read_exact_at(file.as_ref(), at, 1).unwrap()[0] ^ 1;
    write_all_at(file.as_ref(), &[byte], at).unwrap();
    if lost != Lost::Nothing {
        disk.remove_file(&store.spool_dir().join(format!("{id}.json"))).unwrap();
    }
    if lost == Lost::SnapshotAndIndex {
        disk.remove_file(&store.session_dir(id).join("runs.idx")).unwrap();
    }
    let healed = heal(&store, id, &mut Minter::new(2)).unwrap();
    assert_eq!(healed.lost, [start.event.sequence]);
    assert!(store.verify(id).unwrap().is_clean());
    let what = format!("run {number}, {lost:?}");
    let after = runs(&store);
    let facts = |runs: &[Run]| -> Vec<_> {
        let facts = |run: &Run| {
            let result = run.result.as_ref().map(|it| (it.sha256.clone(), it.is_late));
            (run.id, run.number, run.turn_id, run.continues_run_id, run.end_reason, result)
        };
        runs.iter().map(facts).collect()
    };
    assert_eq!(facts(&after), facts(&before), "{what}");
    let published = store.read(id).unwrap();
    let session = published.session();
    assert_eq!((session.run_count, session.result_count), (RUNS, RUNS), "{what}");
    let newest = session.latest_result.as_ref().unwrap();
    assert_eq!(store.text(id, newest.payload).unwrap(), format!("result {RUNS}"), "{what}");
    assert_eq!(decide(session, session.updated), Owed::Nothing, "{what}");
    let last = store.events(id, EventsFrom::Start).unwrap().last().unwrap().unwrap();
    assert_eq!(last.event.fact.type_name(), "orb.spool.healed", "{what}");
}

#[test]
fn a_lost_start_is_made_again_and_every_result_stays() {
    for number in 1..=RUNS {
        check(number, Lost::Nothing);
    }
}

#[test]
fn a_lost_start_is_made_again_without_the_snapshot() {
    for number in 1..=RUNS {
        check(number, Lost::Snapshot);
        check(number, Lost::SnapshotAndIndex);
    }
}
