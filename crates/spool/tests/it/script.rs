//! One script of mutations that passes through every path which writes: creation, large payloads,
//! evicted runs, compaction, torn tails, lost snapshots, damage, healing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use creel_record::{Fact, Session, SessionId};
use creel_spool::{HealError, ReadError, Rebuild, RowFilter, Store, WriteError};
use creel_sys::fault::{Fault, FaultFs};
use creel_sys::fs::{Fs, OpenHow, read_exact_at, write_all_at};
use creel_testkit::disk::DiskFs;

use crate::ledger::{Ledger, ROOT, Told, append, heal};
use crate::mint::{Minter, ended, note, returned, session_id, set, spawned};

pub(crate) const BOOT: &str = "boot-1";
/// Small, so that the script compacts.
const FEED_ROOM_BYTES: u64 = 12 * 1024;
/// More runs than a snapshot has, two of which begin after the first.
const RUNS: usize = 9;

type Make = fn(&Session, &mut Minter) -> Fact;

/// One step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Create(u8),
    Append(u8, Make),
    Rebuild(u8),
    List,
    /// The snapshot is lost.
    DropSnapshot(u8),
    /// A writer left a part of a line.
    TearTail(u8),
    /// The feed is lost.
    DropFeed,
    /// A bit of a published line flips.
    Flip(u8),
    Verify(u8),
    Heal(u8),
}

/// Returns the steps.
pub(crate) fn steps() -> Vec<Step> {
    use Step::{
        Append, Create, DropFeed, DropSnapshot, Flip, Heal, List, Rebuild, TearTail, Verify,
    };
    let start: Make = |session, minter| minter.started(session).into();
    let spawn: Make = |session, _| spawned(session);
    let end: Make = |session, _| ended(session);
    let large: Make = |session, _| returned(session, &"long \"text\"\n".repeat(110));
    let mut steps = vec![Create(1), List, Create(2), Append(1, start), Append(1, spawn)];
    steps.extend([Append(1, |_, _| set("phase", "one")), Append(1, large), Append(1, end)]);
    steps.extend([Append(2, |_, _| note("in the other one")), DropFeed]);
    steps.extend([Append(1, start); RUNS]);
    steps.extend([DropSnapshot(1), Append(1, |_, _| note("with no snapshot"))]);
    steps.extend([TearTail(1), Append(1, |_, _| note("behind a torn tail")), List]);
    steps.extend([TearTail(2), Rebuild(2), DropSnapshot(2), Rebuild(2)]);
    steps.extend([Flip(1), Verify(1), Heal(1), Append(1, |_, _| note("healed"))]);
    steps.extend([Append(1, start), Flip(2), Heal(2), List]);
    steps
}

/// A disk, a store on it, and what was told.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) disk: DiskFs,
    pub(crate) faulty: FaultFs,
    pub(crate) ledger: Ledger,
    pub(crate) store: Store,
    minter: Minter,
}

impl Stage {
    /// Makes a store on an empty disk.
    pub(crate) fn new() -> Self {
        Self::on(DiskFs::new(), Ledger::default(), Minter::new(1))
    }

    fn on(disk: DiskFs, ledger: Ledger, minter: Minter) -> Self {
        let faulty = FaultFs::new(Arc::new(disk.clone()));
        let store = Store::create(Path::new(ROOT), Arc::new(faulty.clone()), BOOT)
            .unwrap()
            .with_feed_room(FEED_ROOM_BYTES);
        Self { disk, faulty, ledger, store, minter }
    }

    /// Returns a stage that is as this one is now, and goes its own way.
    pub(crate) fn fork(&self) -> Self {
        Self::on(self.disk.crash_processes(), self.ledger.clone(), self.minter.clone())
    }

    /// Calls `each` for every operation of the script with a stage just before the step that has
    /// it, the step's position, and the operation's number within the step. Returns how many
    /// operations there were.
    pub(crate) fn each_operation(mut each: impl FnMut(Self, usize, u64)) -> u64 {
        let mut stage = Self::new();
        let mut total = 0;
        for (at, step) in steps().into_iter().enumerate() {
            let before = stage.fork();
            stage.faulty.arm(u64::MAX, Fault::Crash);
            assert!(stage.take(step), "step {at}, {step:?}, fails without a fault");
            let count = stage.faulty.op_count();
            for n in 1..=count {
                each(before.fork(), at, n);
            }
            total += count;
        }
        total
    }

    /// Takes a step; false when it failed.
    pub(crate) fn take(&mut self, step: Step) -> bool {
        match step {
            Step::Create(n) => self.create(session_id(n)),
            Step::Append(n, make) => self.append(session_id(n), make).is_ok(),
            Step::Rebuild(n) => self.store.rebuild(session_id(n), Rebuild::Write).is_ok(),
            Step::List => self.store.rows(RowFilter::All).is_ok(),
            Step::DropSnapshot(n) => {
                let _ = self.disk.remove_file(&self.path(n, "json"));
                true
            }
            Step::TearTail(n) => self.tear_tail(n),
            Step::DropFeed => {
                let _ = self.disk.remove_file(&Path::new(ROOT).join("indexes/changes.jsonl"));
                true
            }
            Step::Flip(n) => self.flip(n),
            Step::Verify(n) => self.store.verify(session_id(n)).is_ok(),
            Step::Heal(n) => self.heal(session_id(n)).is_ok(),
        }
    }

    fn path(&self, n: u8, extension: &str) -> PathBuf {
        self.store.spool_dir().join(format!("{}.{extension}", session_id(n)))
    }

    fn create(&mut self, id: SessionId) -> bool {
        let created = self.minter.created(id);
        let draft = self.minter.draft(created);
        let event = draft.id;
        let told = match self.store.create_session(id, draft) {
            Ok(_) => Told::Acknowledged(1),
            Err(error) => Ledger::told_by(&error),
        };
        self.ledger.tell(id, event, told);
        told == Told::Acknowledged(1)
    }

    pub(crate) fn append(&mut self, id: SessionId, make: Make) -> Result<(), WriteError> {
        append((&self.store, &mut self.ledger), (id, &mut self.minter), &make)
    }

    pub(crate) fn heal(&mut self, id: SessionId) -> Result<(), HealError> {
        heal(&self.store, id, &mut self.minter).map(|_| ())
    }

    /// Leaves half a line at the end, as a writer does that dies.
    fn tear_tail(&mut self, n: u8) -> bool {
        let Ok(file) = self.disk.open(&self.path(n, "jsonl"), OpenHow::ReadWrite) else {
            return true;
        };
        let end = file.stat().unwrap().len_bytes;
        write_all_at(file.as_ref(), b"{\"specversion\":\"1.0\",\"id\":\"019", end).unwrap();
        true
    }

    /// Flips a bit in the middle of the second published line.
    fn flip(&mut self, n: u8) -> bool {
        let id = session_id(n);
        let events = match self.store.events(id, creel_spool::EventsFrom::Start) {
            Ok(events) => events,
            Err(ReadError::NotFound { .. }) => return true,
            Err(_) => return false,
        };
        let mut events = events.map_while(Result::ok);
        let (Some(first), Some(second)) = (events.next(), events.next()) else { return true };
        let at = (first.position.len_bytes + second.position.len_bytes) / 2;
        let Ok(file) = self.disk.open(&self.path(n, "jsonl"), OpenHow::ReadWrite) else {
            return true;
        };
        let byte = read_exact_at(file.as_ref(), at, 1).unwrap()[0] ^ 1;
        write_all_at(file.as_ref(), &[byte], at).unwrap();
        file.sync_data().unwrap();
        self.ledger.spoiled.insert(second.event.id);
        true
    }
}
