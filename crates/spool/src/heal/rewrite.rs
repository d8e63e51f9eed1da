//! Writing the new log.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use creel_record::SessionId;
use creel_record::event::fact::LogHealed;
use creel_record::event::{Draft, Event};
use creel_record::line::{self, chain_seed};
use creel_record::run::LineRef;
use creel_record::snapshot::Snapshot;
use creel_record::source::Source;
use creel_sys::fs::{FsFile, LockMode, write_all_at};

use crate::damage::Fault;
use crate::file::create_anew;
use crate::heal::starts::LostStart;
use crate::heal::{HealError, Mint, creation, starts};
use crate::load::State;
use crate::log_file::LockedLog;
use crate::store::Store;
use crate::verify::Audit;
use crate::walk::{Bounds, GoodLine, Start, Step, Walk};

/// Bytes gathered before they are written.
const WRITE_BYTES: usize = 1024 * 1024;

/// What is known of the old log.
pub(super) struct Old<'a> {
    pub(super) id: SessionId,
    pub(super) log: &'a LockedLog,
    pub(super) audit: &'a Audit,
    pub(super) snapshot: Option<&'a Snapshot>,
    /// Where it is kept, below the session's directory.
    pub(super) kept_as: String,
}

/// The new log, written, synced and locked, under a name of its own.
#[derive(Debug)]
pub(super) struct NewLog {
    pub(super) file: Box<dyn FsFile>,
    pub(super) state: State,
    /// The sequences whose events are lost.
    pub(super) lost: Vec<u64>,
}

/// Returns the name that the new log has at first.
pub(super) fn path(store: &Store, id: SessionId) -> PathBuf {
    store.log_path(id).with_extension("jsonl.healing")
}

/// Writes the new log.
pub(super) fn rewrite(
    store: &Store,
    old: &Old<'_>,
    mint: &mut Mint<'_>,
) -> Result<NewLog, HealError> {
    let id = old.id;
    let io = |what| move |source| HealError::Io { id, what, source };
    let file = create_anew(store.fs(), &path(store, id)).map_err(io("create the new log"))?;
    // Nobody knows the file yet. The lock is there for those who open it once it has the name.
    file.try_lock(LockMode::Exclusive).map_err(io("lock the new log"))?;
    let lost_starts = starts::lost(store, old).map_err(io("read the old log"))?;
    let mut writer = Writer::new(id, file, lost_starts);
    let published_bytes = old.snapshot.map_or(0, |snapshot| snapshot.log.len_bytes);
    let bounds = Bounds { end: old.log.stat.len_bytes, published_bytes };
    let mut walk = Walk::new(old.log.file.as_ref(), id, Start::of_log(id), bounds);
    let mut last_fault = None;
    while let Some(step) = walk.next().map_err(io("read the old log"))? {
        match step {
            Step::Good(good) => {
                if writer.next_sequence() < good.event.sequence {
                    let fault = last_fault.take().unwrap_or_else(|| end_of(old));
                    writer.fill(old, (good.event.sequence - 1, &fault), mint)?;
                }
                writer.put_or_replace(old, *good, mint)?;
            }
            Step::Bad(bad) => last_fault = Some(bad.fault),
        }
    }
    // Events that were published stay counted, so that no cursor meets another event.
    let published = old.snapshot.map_or(0, |snapshot| snapshot.log.sequence);
    if writer.next_sequence() <= published {
        let fault = last_fault.unwrap_or_else(|| end_of(old));
        writer.fill(old, (published, &fault), mint)?;
    }
    for fault in std::mem::take(&mut writer.untold) {
        writer.put_healed(old, &fault, mint)?;
    }
    writer.finish()
}

/// Returns the nothing at the end of a log that is too short.
fn end_of(old: &Old<'_>) -> Fault {
    Fault {
        offset_bytes: old.log.stat.len_bytes,
        len_bytes: 0,
        line_number: old.audit.event_count + 1,
        kind: crate::damage::FaultKind::Unterminated,
        missing: (old.audit.last_sequence + 1, 0),
    }
}

struct Writer {
    id: SessionId,
    file: Box<dyn FsFile>,
    state: State,
    gathered: Vec<u8>,
    written: u64,
    chain: u32,
    lost: Vec<u64>,
    /// The lost starts of runs, by the sequence that each is made again at.
    lost_starts: BTreeMap<u64, LostStart>,
    /// Faults in whose place every event was made again; their marks come at the end.
    untold: Vec<Fault>,
}

impl Writer {
    fn new(id: SessionId, file: Box<dyn FsFile>, lost_starts: BTreeMap<u64, LostStart>) -> Self {
        Self {
            id,
            file,
            state: State::default(),
            gathered: Vec::new(),
            written: 0,
            chain: chain_seed(id),
            lost: Vec::new(),
            lost_starts,
            untold: Vec::new(),
        }
    }

    fn next_sequence(&self) -> u64 {
        self.state.position.map_or(1, |position| position.sequence + 1)
    }

    /// Fills in for the lost events up to a sequence.
    fn fill(
        &mut self,
        old: &Old<'_>,
        (until, fault): (u64, &Fault),
        mint: &mut Mint<'_>,
    ) -> Result<(), HealError> {
        let mut is_told = self.next_sequence() > until;
        while self.next_sequence() <= until {
            let sequence = self.next_sequence();
            self.lost.push(sequence);
            if self.state.session.is_none() {
                let created = creation::draft(old, mint)?;
                self.put(created.at(self.id, 1))?;
            } else if let Some(LostStart { time, start }) = self.lost_starts.remove(&sequence) {
                let (id, source) = ((mint.event_id)(), Source::Maintenance);
                self.put(Draft { id, source, time, fact: start.into() }.at(self.id, sequence))?;
            } else {
                self.put_healed(old, fault, mint)?;
                is_told = true;
            }
        }
        if !is_told {
            self.untold.push(fault.clone());
        }
        Ok(())
    }

    /// Takes a good line over; one that can't stand where it does is replaced.
    fn put_or_replace(
        &mut self,
        old: &Old<'_>,
        good: GoodLine,
        mint: &mut Mint<'_>,
    ) -> Result<(), HealError> {
        let is_creation = good.event.fact.type_name() == creation::TYPE;
        if is_creation == self.state.session.is_none() {
            return self.put(good.event);
        }
        let fault = crate::load::unfoldable(&good);
        self.fill(old, (good.event.sequence, &fault), mint)
    }

    fn put_healed(
        &mut self,
        old: &Old<'_>,
        fault: &Fault,
        mint: &mut Mint<'_>,
    ) -> Result<(), HealError> {
        let fact = LogHealed {
            offset_bytes: fault.offset_bytes,
            len_bytes: fault.len_bytes,
            kept_as: old.kept_as.clone(),
        };
        let (id, time) = ((mint.event_id)(), mint.now);
        let draft = Draft { id, source: Source::Maintenance, time, fact: fact.into() };
        self.put(draft.at(self.id, self.next_sequence()))
    }

    fn put(&mut self, event: Event) -> Result<(), HealError> {
        let id = self.id;
        let io = |what| move |source| HealError::Io { id, what, source };
        let encoded = line::encode(&event, self.chain)
            .map_err(|error| io("encode an event")(error.into()))?;
        let line = LineRef {
            offset_bytes: self.written + self.gathered.len() as u64,
            len_bytes: encoded.bytes.len() as u64,
            previous: self.chain,
        };
        self.chain = encoded.chain;
        let good = GoodLine { event, line, chain: encoded.chain };
        self.state.fold(&good).map_err(|error| io("fold an event")(io::Error::other(error)))?;
        self.gathered.extend_from_slice(&encoded.bytes);
        if self.gathered.len() >= WRITE_BYTES {
            self.flush().map_err(io("write the new log"))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        write_all_at(self.file.as_ref(), &self.gathered, self.written)?;
        self.written += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<NewLog, HealError> {
        let id = self.id;
        self.flush().and_then(|()| self.file.sync_data()).map_err(|source| HealError::Io {
            id,
            what: "write the new log",
            source,
        })?;
        Ok(NewLog { file: self.file, state: self.state, lost: self.lost })
    }
}
