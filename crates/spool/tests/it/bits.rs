//! A flipped bit, anywhere in a log.

use std::path::Path;
use std::sync::Arc;

use creel_record::decide::Owed;
use creel_record::{Event, RunId, WorkState};
use creel_spool::{
    Change, EventsFrom, Fault, FaultKind, Finding, HealError, RowFilter, Store, TransactError,
    WriteError,
};
use creel_sys::fs::{Fs, OpenHow, read_exact_at, write_all_at};
use creel_testkit::disk::DiskFs;

use crate::ledger::{Ledger, ROOT, append, heal};
use crate::mint::{Minter, ended, note, returned, session_id};

const DAMAGED: u8 = 1;
const OTHER: u8 = 2;
const RETURNED: &str = "orbh.run.returned";

/// A disk with a published log of a handful of events, and what is in it.
struct Scene {
    disk: DiskFs,
    log: Vec<u8>,
    events: Vec<Event>,
    runs: Vec<(u64, RunId)>,
    minter: Minter,
}

impl Scene {
    fn new() -> Self {
        let disk = DiskFs::new();
        let store = Store::create(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap();
        let mut minter = Minter::new(1);
        let mut ledger = Ledger::default();
        for n in [DAMAGED, OTHER] {
            let id = session_id(n);
            let mut created = minter.created(id);
            created.prompt = "p".to_owned();
            created.title = None;
            created.environment.clear();
            let draft = minter.draft(created);
            store.create_session(id, draft).unwrap();
            let mut put =
                |make: &dyn Fn(&creel_record::Session, &mut Minter) -> creel_record::Fact| {
                    append((&store, &mut ledger), (id, &mut minter), make).unwrap();
                };
            put(&|session, minter| minter.started(session).into());
            put(&|_, _| note("J*\n\\\u{e9}"));
            put(&|session, _| returned(session, "first"));
            put(&|session, _| ended(session));
            put(&|session, minter| minter.started(session).into());
            put(&|session, _| returned(session, "second"));
            put(&|session, _| ended(session));
        }
        let events = stored(&store, DAMAGED);
        let path = store.log_path(session_id(DAMAGED));
        let file = disk.open(&path, OpenHow::Read).unwrap();
        let len = usize::try_from(file.stat().unwrap().len_bytes).unwrap();
        let log = read_exact_at(file.as_ref(), 0, len).unwrap();
        let published = store.read(session_id(DAMAGED)).unwrap();
        let runs = published.session().runs.iter().map(|run| (run.number, run.id)).collect();
        Self { disk, log, events, runs, minter }
    }

    /// Returns a disk like this one but for one bit, and the store on it.
    fn flipped(&self, at: usize, bit: u8) -> (DiskFs, Store) {
        let disk = self.disk.crash_processes();
        let store = Store::open(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap();
        let file = disk.open(&store.log_path(session_id(DAMAGED)), OpenHow::ReadWrite).unwrap();
        write_all_at(file.as_ref(), &[self.log[at] ^ (1 << bit)], at as u64).unwrap();
        (disk, store)
    }

    /// Returns the line that a byte is in: its index, where it begins, and its length.
    fn line_of(&self, at: usize) -> (usize, usize, usize) {
        let mut start = 0;
        for (index, line) in self.log.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if at < start + line.len() {
                return (index, start, line.len());
            }
            start += line.len();
        }
        panic!("{at} is behind the log");
    }

    /// Checks that a verification finds one flipped bit, and nothing else.
    fn check_is_found(&self, store: &Store, at: usize) {
        let (index, start, len) = self.line_of(at);
        let is_newline = at == start + len - 1;
        let is_last = index + 1 == self.events.len();
        let report = store.verify(session_id(DAMAGED)).unwrap();
        let what = format!("byte {at}: {report:?}");
        let [fault] = report.faults.as_slice() else { panic!("{what}") };
        let Fault { offset_bytes, len_bytes, line_number, kind, missing } = fault;
        assert_eq!(*line_number, index as u64 + 1, "{what}");
        if is_newline {
            let found = (*offset_bytes, *len_bytes, *kind);
            assert_eq!(found, (at as u64, 1, FaultKind::Newline), "{what}");
        } else {
            assert_eq!((*offset_bytes, *len_bytes), (start as u64, len as u64), "{what}");
            assert_eq!(*missing, (index as u64 + 1, u64::from(!is_last)), "{what}");
        }
        let lost_count = u64::from(!is_newline);
        assert_eq!(report.event_count, self.events.len() as u64 - lost_count, "{what}");
    }

    /// Checks everything that one flipped bit must and must not do.
    fn check(&self, at: usize, bit: u8) {
        let (_, store) = self.flipped(at, bit);
        self.check_is_found(&store, at);
        let (index, start, len) = self.line_of(at);
        self.check_is_served_but_not_written(&store);
        self.check_is_healed(&store, (at != start + len - 1).then_some(index));
    }

    fn check_is_served_but_not_written(&self, store: &Store) {
        let id = session_id(DAMAGED);
        let published = store.read(id).unwrap();
        assert_eq!(published.snapshot.log.sequence, self.events.len() as u64);
        assert!(published.damage.is_some());
        let refused = store.transact(id, |_| {
            Ok::<_, WriteError>(Change::Append(self.minter.clone().draft(note("no")), ()))
        });
        let is_refused = matches!(
            refused,
            Err(TransactError::Write(WriteError::ReadOnly { .. } | WriteError::Damaged { .. }))
        );
        assert!(is_refused, "{refused:?}");
        let rows = store.rows(RowFilter::All).unwrap();
        let damaged: Vec<bool> = rows.iter().map(|row| row.parse().unwrap().damaged).collect();
        assert_eq!(damaged.iter().filter(|damaged| **damaged).count(), 1);
        assert!(store.verify(session_id(OTHER)).unwrap().is_clean());
        let other = store.transact(session_id(OTHER), |_| {
            Ok::<_, WriteError>(Change::Append(self.minter.clone().draft(note("yes")), ()))
        });
        assert!(other.is_ok(), "{other:?}");
    }

    fn check_is_healed(&self, store: &Store, lost: Option<usize>) {
        let id = session_id(DAMAGED);
        let mut minter = Minter::new(2);
        let healed = heal(store, id, &mut minter).unwrap();
        assert!(healed.is_changed);
        let expected: Vec<u64> = lost.iter().map(|index| *index as u64 + 1).collect();
        assert_eq!(healed.lost, expected);
        assert!(store.verify(id).unwrap().is_clean());
        let events = stored(store, DAMAGED);
        for (index, before) in self.events.iter().enumerate() {
            if lost == Some(index) {
                let is_made_again = matches!(
                    before.fact,
                    creel_record::Fact::SessionCreated(_) | creel_record::Fact::RunStarted(_)
                );
                let told = if is_made_again { events.last().unwrap() } else { &events[index] };
                assert_eq!(told.fact.type_name(), "orb.spool.healed");
                continue;
            }
            assert_eq!(format!("{before:?}"), format!("{:?}", events[index]));
        }
        assert_eq!(store.read(id).unwrap().damage, None);
        self.check_results_are_kept(store, lost);
        let again = heal(store, id, &mut minter).unwrap();
        assert!(!again.is_changed);
        let more = minter.draft(note("goes on"));
        let committed =
            store.transact(id, |_| Ok::<_, WriteError>(Change::Append(more.clone(), ()))).unwrap();
        assert_eq!(committed.event.unwrap().1, events.len() as u64 + 1);
    }

    /// Checks that a heal costs no result but the one whose line is lost, and that no finished
    /// work is done again.
    fn check_results_are_kept(&self, store: &Store, lost: Option<usize>) {
        let id = session_id(DAMAGED);
        let what = format!("line {lost:?} is lost");
        let published = store.read(id).unwrap();
        let session = published.session();
        let is_return = |index: &usize| self.events[*index].fact.type_name() == RETURNED;
        let lost_return = lost.filter(is_return);
        let newest = session.latest_result.as_ref().unwrap();
        let text = store.text(id, newest.payload).unwrap();
        let is_newest_lost = lost_return.is_some_and(|index| {
            !self.events[index + 1..].iter().any(|e| e.fact.type_name() == RETURNED)
        });
        let expected = if is_newest_lost { ("first", 1) } else { ("second", 2) };
        assert_eq!((text.as_str(), newest.run_number), expected, "{what}");
        assert_eq!(session.result_count, if lost_return.is_some() { 1 } else { 2 }, "{what}");
        assert_eq!(session.run_count, 2, "{what}");
        let runs = store.runs(id, session).unwrap();
        let numbers: Vec<_> = runs.iter().map(|run| (run.number, run.id)).collect();
        assert_eq!(numbers, self.runs, "{what}");
        let state = if is_newest_lost { WorkState::Awaiting } else { WorkState::Finished };
        assert_eq!(session.work_state(), state, "{what}");
        let owed = creel_record::decide::decide(session, self.minter.now());
        let is_end_lost = lost == Some(self.events.len() - 1);
        // A run whose end is lost is proven dead first.
        let expected = if is_end_lost { Owed::LiveRun } else { Owed::Nothing };
        assert_eq!(owed, expected, "{what}");
    }
}

fn stored(store: &Store, n: u8) -> Vec<Event> {
    let events = store.events(session_id(n), EventsFrom::Start).unwrap();
    events.map(|event| event.unwrap().event).collect()
}

#[test]
fn a_flipped_bit_anywhere_is_found_and_hides_nothing_else() {
    let scene = Scene::new();
    let store = Store::open(Path::new(ROOT), Arc::new(scene.disk.clone()), "boot").unwrap();
    let path = store.log_path(session_id(DAMAGED));
    let file = scene.disk.open(&path, OpenHow::ReadWrite).unwrap();
    for at in 0..scene.log.len() {
        for bit in 0..8 {
            write_all_at(file.as_ref(), &[scene.log[at] ^ (1 << bit)], at as u64).unwrap();
            scene.check_is_found(&store, at);
        }
        write_all_at(file.as_ref(), &scene.log[at..=at], at as u64).unwrap();
    }
}

#[test]
fn a_flipped_bit_in_any_byte_is_contained_and_heals() {
    let scene = Scene::new();
    for at in 0..scene.log.len() {
        scene.check(at, (at % 8) as u8);
    }
}

#[test]
fn every_bit_of_a_newline_or_checksum_heals() {
    let scene = Scene::new();
    for (at, _) in scene.log.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        for back in 0..=18 {
            for bit in 0..8 {
                scene.check(at - back, bit);
            }
        }
    }
}

#[test]
fn a_healthy_log_is_left_as_it_is() {
    let scene = Scene::new();
    let store = Store::open(Path::new(ROOT), Arc::new(scene.disk.clone()), "boot").unwrap();
    let before = scene.disk.files();
    assert!(store.verify(session_id(DAMAGED)).unwrap().is_clean());
    let healed = heal(&store, session_id(DAMAGED), &mut Minter::new(2)).unwrap();
    assert!(!healed.is_changed && healed.faults.is_empty() && healed.kept_as.is_none());
    assert_eq!(scene.disk.files(), before);
}

#[test]
fn a_log_cut_below_what_is_published_is_served_and_healed_with_its_sequences() {
    let scene = Scene::new();
    let (_, start, len) = scene.line_of(scene.log.len() - 1);
    for cut in [start, start + 1, start + len - 1] {
        let disk = scene.disk.crash_processes();
        let store = Store::open(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap();
        let id = session_id(DAMAGED);
        let file = disk.open(&store.log_path(id), OpenHow::ReadWrite).unwrap();
        file.set_len(cut as u64).unwrap();
        assert!(store.read(id).unwrap().damage.is_some());
        let report = store.verify(id).unwrap();
        assert!(report.findings.iter().any(|f| matches!(f, Finding::LogShorter { .. })));
        let healed = heal(&store, id, &mut Minter::new(2)).unwrap();
        assert!(healed.lost.len() <= 1, "{healed:?}");
        assert_eq!(stored(&store, DAMAGED).len(), scene.events.len());
        assert!(store.verify(id).unwrap().is_clean());
    }
}

#[test]
fn a_lost_creation_without_a_snapshot_is_refused_and_nothing_is_touched() {
    let scene = Scene::new();
    let (disk, store) = scene.flipped(10, 3);
    let id = session_id(DAMAGED);
    disk.remove_file(&store.spool_dir().join(format!("{id}.json"))).unwrap();
    let report = store.verify(id).unwrap();
    assert_eq!(report.event_count, scene.events.len() as u64 - 1);
    let refused = heal(&store, id, &mut Minter::new(2));
    assert!(matches!(refused, Err(HealError::NoCreation { .. })), "{refused:?}");
    let file = disk.open(&store.log_path(id), OpenHow::Read).unwrap();
    let mut expected = scene.log.clone();
    expected[10] ^= 1 << 3;
    assert_eq!(read_exact_at(file.as_ref(), 0, expected.len()).unwrap(), expected);
}

#[test]
fn damage_in_several_places_is_found_and_healed_place_by_place() {
    let scene = Scene::new();
    let id = session_id(DAMAGED);
    let line_starts: Vec<usize> =
        (0..scene.log.len()).filter(|at| scene.line_of(*at).1 == *at).collect();
    let [first, second, third, fourth, ..] = line_starts[..] else { panic!("four lines") };
    // Each case is up to two stretches: where they begin, and how long they are.
    let stretches = [
        [(first + 40, 1), (third + 40, 1)],
        [(second + 9, fourth + 30 - (second + 9)), (0, 0)],
        [(second + 9, 21), (scene.log.len() - 20, 20)],
    ];
    let expected: [(usize, &[u64]); 3] = [(2, &[1, 3]), (1, &[2, 3, 4]), (2, &[2, 8])];
    for (stretches, (fault_count, lost)) in stretches.into_iter().zip(expected) {
        let (disk, store) = scene.flipped(0, 0);
        let file = disk.open(&store.log_path(id), OpenHow::ReadWrite).unwrap();
        write_all_at(file.as_ref(), &scene.log[..1], 0).unwrap();
        for (start, len) in stretches {
            write_all_at(file.as_ref(), &vec![0; len], start as u64).unwrap();
        }
        assert_eq!(store.verify(id).unwrap().faults.len(), fault_count);
        let healed = heal(&store, id, &mut Minter::new(2)).unwrap();
        assert_eq!(healed.lost, lost);
        assert!(store.verify(id).unwrap().is_clean());
        for event in stored(&store, DAMAGED) {
            let index = usize::try_from(event.sequence).unwrap() - 1;
            if !lost.contains(&event.sequence) && index < scene.events.len() {
                assert_eq!(event.id, scene.events[index].id);
            }
        }
    }
}

#[test]
fn a_log_that_was_emptied_or_removed_is_found_and_healed() {
    let scene = Scene::new();
    let id = session_id(DAMAGED);
    for is_removed in [false, true] {
        let disk = scene.disk.crash_processes();
        let store = Store::open(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap();
        let path = store.log_path(id);
        if is_removed {
            disk.remove_file(&path).unwrap();
        } else {
            disk.open(&path, OpenHow::ReadWrite).unwrap().set_len(0).unwrap();
        }
        let others = store.ids().unwrap();
        assert!(others.contains(&id) && others.contains(&session_id(OTHER)));
        assert_eq!(store.resolve(&id.to_string()).unwrap(), id);
        let report = store.verify(id).unwrap();
        assert!(report.needs_heal(), "{report:?}");
        let published = store.read(id).unwrap();
        assert!(published.damage.is_some());
        assert_eq!(published.session().result_count, 2, "the last snapshot is served");
        let healed = heal(&store, id, &mut Minter::new(2)).unwrap();
        assert_eq!(healed.lost.len(), scene.events.len(), "the creation is made anew");
        assert!(!store.verify(id).unwrap().needs_heal());
        assert!(store.read(id).unwrap().damage.is_none());
        assert!(!store.verify(session_id(OTHER)).unwrap().needs_heal());
    }
}
