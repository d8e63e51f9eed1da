//! `fold(log) = snapshot`, whatever is lost in between.

use std::path::Path;
use std::sync::Arc;

use creel_record::fold::fold;
use creel_record::line::chain_seed;
use creel_record::run::LineRef;
use creel_record::snapshot::Snapshot;
use creel_record::{Fact, Session, SessionId};
use creel_spool::{EventsFrom, Rebuild, Store};
use creel_sys::fs::Fs;
use creel_testkit::disk::DiskFs;
use proptest::prelude::*;

use crate::ledger::{Ledger, ROOT, append, check_rows};
use crate::mint::{Minter, ended, note, returned, session_id, set, spawned};

/// Something that a writer does, or that befalls the caches.
#[derive(Clone, Debug)]
enum Act {
    Start,
    Spawn,
    Return(String),
    End,
    Note(String),
    Set(u8, String),
    DropSnapshot,
    DropRunIndex,
    DropFeed,
    Rebuild,
    List,
}

fn act() -> impl Strategy<Value = Act> {
    let text = proptest::string::string_regex("(?s).{0,40}").unwrap().boxed();
    prop_oneof![
        6 => Just(Act::Start),
        1 => Just(Act::Spawn),
        2 => text.clone().prop_map(Act::Return),
        3 => Just(Act::End),
        3 => text.clone().prop_map(Act::Note),
        2 => (any::<u8>(), text).prop_map(|(key, value)| Act::Set(key, value)),
        1 => Just(Act::DropSnapshot),
        1 => Just(Act::DropRunIndex),
        1 => Just(Act::DropFeed),
        1 => Just(Act::Rebuild),
        1 => Just(Act::List),
    ]
}

/// A session on a disk.
struct Scene {
    disk: DiskFs,
    store: Store,
    minter: Minter,
    ledger: Ledger,
    id: SessionId,
}

impl Scene {
    fn new() -> Self {
        let disk = DiskFs::new();
        let store = Store::create(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap();
        let (mut minter, id) = (Minter::new(1), session_id(1));
        let created = minter.created(id);
        store.create_session(id, minter.draft(created)).unwrap();
        Self { disk, store, minter, ledger: Ledger::default(), id }
    }

    fn take(&mut self, act: Act) {
        match act {
            Act::Start => self.put(&|session, minter| minter.started(session).into()),
            Act::Spawn => self.put(&|session, _| spawned(session)),
            Act::Return(text) => self.put(&|session, _| returned(session, &text)),
            Act::End => self.put(&|session, _| ended(session)),
            Act::Note(text) => self.put(&|_, _| note(&text)),
            Act::Set(key, value) => self.put(&|_, _| set(&format!("key {key}"), &value)),
            Act::DropSnapshot => self.drop_file(&format!("spaces/local/spools/{}.json", self.id)),
            Act::DropRunIndex => {
                self.drop_file(&format!("spaces/local/spools/{}/runs.idx", self.id));
            }
            Act::DropFeed => self.drop_file("indexes/changes.jsonl"),
            Act::Rebuild => {
                self.store.rebuild(self.id, Rebuild::Write).unwrap();
            }
            Act::List => {
                self.store.rows(creel_spool::RowFilter::All).unwrap();
            }
        }
    }

    fn put(&mut self, make: &dyn Fn(&Session, &mut Minter) -> Fact) {
        append((&self.store, &mut self.ledger), (self.id, &mut self.minter), make).unwrap();
    }

    fn drop_file(&self, path: &str) {
        let _ = self.disk.remove_file(&Path::new(ROOT).join(path));
    }

    /// Folds the stored events anew.
    fn folded(&self) -> Session {
        let (mut offset_bytes, mut previous) = (0, chain_seed(self.id));
        let mut events = Vec::new();
        for stored in self.store.events(self.id, EventsFrom::Start).unwrap() {
            let stored = stored.unwrap();
            let len_bytes = stored.position.len_bytes - offset_bytes;
            events.push((stored.event, LineRef { offset_bytes, len_bytes, previous }));
            offset_bytes = stored.position.len_bytes;
            previous = stored.position.chain;
        }
        fold(events.iter().map(|(event, line)| (event, *line))).unwrap().unwrap()
    }

    /// Checks that the snapshot is the fold, survives its codec, and fits runs, texts and rows.
    fn check(&mut self) {
        self.put(&|_, _| note("the last one"));
        self.store.rebuild(self.id, Rebuild::Write).unwrap();
        let snapshot = self.store.read(self.id).unwrap().snapshot;
        assert_eq!(snapshot.session, self.folded());
        let bytes = snapshot.encode().unwrap();
        assert_eq!(Snapshot::decode(&bytes, self.id).unwrap(), snapshot);
        let runs = self.store.runs(self.id, &snapshot.session).unwrap();
        let numbers: Vec<u64> = runs.iter().map(|run| run.number).collect();
        assert_eq!(numbers, (1..=snapshot.session.run_count).collect::<Vec<_>>());
        for run in &runs {
            self.store.text(self.id, run.prompt).unwrap();
            if let Some(result) = &run.result {
                self.store.text(self.id, result.payload).unwrap();
            }
        }
        assert!(self.store.verify(self.id).unwrap().is_clean());
        check_rows(&self.store);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_snapshot_is_the_fold_of_the_log(acts in prop::collection::vec(act(), 0..50)) {
        let mut scene = Scene::new();
        for act in acts {
            scene.take(act);
        }
        scene.check();
    }

    #[test]
    fn a_follower_reads_each_event_once_wherever_it_stops(
        texts in prop::collection::vec("[a-z]{0,30}", 1..20),
        stops in prop::collection::vec(0_usize..6, 1..12),
    ) {
        let mut scene = Scene::new();
        for text in &texts {
            scene.take(Act::Note(text.clone()));
        }
        let all: Vec<u64> = (1..=texts.len() as u64 + 1).collect();
        let mut from = EventsFrom::Start;
        let mut seen = Vec::new();
        for stop in stops.into_iter().chain([usize::MAX]) {
            for stored in scene.store.events(scene.id, from).unwrap().take(stop) {
                let stored = stored.unwrap();
                seen.push(stored.event.sequence);
                from = EventsFrom::Position(stored.position);
            }
        }
        prop_assert_eq!(&seen, &all);
        let after = scene.store.events(scene.id, EventsFrom::After(1)).unwrap();
        let after: Vec<u64> = after.map(|stored| stored.unwrap().event.sequence).collect();
        prop_assert_eq!(after, &all[1..]);
    }
}
