//! Sessions made in bulk: log and snapshot written directly, in one go and without a sync. What
//! they hold is what the engine would have written, and `verify` says so.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result, ensure};
use creel_record::event::fact::{
    FirstRun, InterfaceSet, ProcessFacts, RunEnded, RunReturned, RunSpawned, RunStarted,
    SessionCreated,
};
use creel_record::event::{Draft, Fact};
use creel_record::run::LineRef;
use creel_record::snapshot::{IndexPosition, LogPosition, Snapshot};
use creel_record::{
    Authority, Cause, Disposition, EndReason, EventId, Mode, RunId, Session, SessionId, Source,
    ThreadId, Timestamp, TurnId, fold, line,
};
use creel_spool::Store;

/// The time of the first event of the first session: 2026-01-01.
const EPOCH_MS: i64 = 1_767_225_600_000;
/// Between two sessions, so that a list has something to sort.
const BETWEEN_MS: i64 = 60_000;

/// One session as it is being made.
#[derive(Debug)]
pub(crate) struct Bulk<'s> {
    store: &'s Store,
    id: SessionId,
    number: u64,
    log: BufWriter<File>,
    session: Option<Session>,
    position: Option<LogPosition>,
}

impl<'s> Bulk<'s> {
    /// Starts the session of a number. The same number makes the same session.
    ///
    /// # Errors
    /// When its log can't be made.
    pub(crate) fn new(store: &'s Store, number: u64) -> Result<Self> {
        let id = SessionId::random(scattered(number));
        let path = store.log_path(id);
        let mut options = File::options();
        let log = options.write(true).create_new(true).mode(0o600).open(&path);
        let log = log.with_context(|| format!("can't make {}", path.display()))?;
        Ok(Self { store, id, number, log: BufWriter::new(log), session: None, position: None })
    }

    /// Appends a fact.
    ///
    /// # Errors
    /// When it can't stand there, or can't be written.
    pub(crate) fn push(&mut self, fact: impl Into<Fact>) -> Result<()> {
        let (offset_bytes, sequence, previous) = match self.position {
            Some(at) => (at.len_bytes, at.sequence + 1, at.chain),
            None => (0, 1, line::chain_seed(self.id)),
        };
        let time = self.time(sequence);
        let id = EventId::ordered(time, random(self.number, sequence));
        let draft = Draft { id, source: Source::Operator, time, fact: fact.into() };
        let event = draft.at(self.id, sequence);
        let encoded = line::encode(&event, previous)?;
        let len_bytes = encoded.bytes.len() as u64;
        let line = LineRef { offset_bytes, len_bytes, previous };
        let step = fold::apply(&mut self.session, &event, line)?;
        ensure!(step.evicted.is_none(), "a session in bulk has few runs");
        self.log.write_all(&encoded.bytes)?;
        let (len_bytes, chain) = (offset_bytes + len_bytes, encoded.chain);
        self.position = Some(LogPosition { len_bytes, sequence, event_id: event.id, chain });
        Ok(())
    }

    /// Writes the snapshot.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn finish(mut self) -> Result<SessionId> {
        self.log.flush()?;
        let (session, log) = self.session.zip(self.position).context("the session is empty")?;
        let snapshot = Snapshot { log, run_index: IndexPosition::default(), session };
        let mut options = File::options();
        let path = self.store.log_path(self.id).with_extension("json");
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&snapshot.encode()?)?;
        Ok(self.id)
    }

    fn time(&self, sequence: u64) -> Timestamp {
        let after = i64::try_from(sequence).unwrap_or(i64::MAX);
        let number = i64::try_from(self.number).unwrap_or(i64::MAX);
        Timestamp::from_millis(EPOCH_MS + number.saturating_mul(BETWEEN_MS) + after)
    }

    fn first_run(&self) -> FirstRun {
        let now = self.time(0);
        FirstRun {
            run_id: RunId::ordered(now, random(self.number, 1)),
            turn_id: TurnId::ordered(now, random(self.number, 2)),
        }
    }

    /// Appends the creation.
    ///
    /// # Errors
    /// As [`Bulk::push`].
    pub(crate) fn create(&mut self) -> Result<()> {
        let number = self.number;
        let created = SessionCreated {
            kind: "session".to_owned(),
            runtime: ["claude", "codex", "gemini", "sh"][(number % 4) as usize].to_owned(),
            profile: None,
            account: None,
            mode: Mode::Headless,
            authority: Authority::Record,
            prompt: format!("Find out why build {number} fails, and put it right."),
            cwd: format!("/home/someone/projects/project-{}", number % 100),
            root_thread_id: ThreadId::ordered(self.time(0), random(number, 3)),
            title: Some(format!("Build {number} fails on the second machine")),
            description: Some("The log names a missing file; find who removed it.".to_owned()),
            key: None,
            parent: None,
            continues: None,
            root_session_id: self.id,
            depth: 0,
            first_run: self.first_run(),
            cause: Cause::Launch,
            environment: [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        };
        self.push(Fact::SessionCreated(created))
    }

    /// Appends the start of the first run, by processes of another machine.
    ///
    /// # Errors
    /// As [`Bulk::push`].
    pub(crate) fn start(&mut self) -> Result<()> {
        let FirstRun { run_id, turn_id } = self.first_run();
        let machine_id = "0123456789abcdef0123456789abcdef".to_owned();
        let boot_id = "01234567-89ab-cdef-0123-456789abcdef".to_owned();
        let process = |pid| ProcessFacts { pid, start_ticks: 1, boot_id: boot_id.clone() };
        let (agent, holder) = (process(4_000_001), process(4_000_000));
        self.push(Fact::RunStarted(RunStarted {
            run_id,
            turn_id,
            number: 1,
            cause: Cause::Launch,
            attempt: 0,
            continues_run_id: None,
            prompt: None,
            machine_id,
            boot_id,
        }))?;
        self.push(Fact::RunSpawned(RunSpawned { run_id, agent, holder, cgroup: None }))
    }

    /// Appends a key with a value that is unlike the one before it.
    ///
    /// # Errors
    /// As [`Bulk::push`].
    pub(crate) fn set(&mut self, value: u64) -> Result<()> {
        let (key, value) = ("step".to_owned(), format!("step {value:08} of a long job"));
        self.push(Fact::InterfaceSet(InterfaceSet { key, value }))
    }

    /// Appends the return of the first run and its end.
    ///
    /// # Errors
    /// As [`Bulk::push`].
    pub(crate) fn end(&mut self) -> Result<()> {
        let FirstRun { run_id, turn_id } = self.first_run();
        self.push(Fact::RunReturned(RunReturned {
            run_id,
            turn_id,
            disposition: Disposition::Finish,
            payload: "The file is back, and the build passes.".to_owned(),
        }))?;
        let (reason, exit_code) = (EndReason::Returned, Some(0));
        self.push(Fact::RunEnded(RunEnded {
            run_id,
            reason,
            exit_code,
            signal: None,
            detail: None,
        }))
    }
}

/// Makes a session that one run has finished.
///
/// # Errors
/// When it can't be written.
pub(crate) fn finished(store: &Store, number: u64) -> Result<SessionId> {
    let mut bulk = Bulk::new(store, number)?;
    bulk.create()?;
    bulk.start()?;
    bulk.set(number)?;
    bulk.end()?;
    bulk.finish()
}

/// Makes a session at work with so many events.
///
/// # Errors
/// When it can't be written.
pub(crate) fn deep(store: &Store, number: u64, event_count: u64) -> Result<SessionId> {
    let mut bulk = Bulk::new(store, number)?;
    bulk.create()?;
    bulk.start()?;
    for value in 3..event_count {
        bulk.set(value)?;
    }
    bulk.finish()
}

/// Makes a session whose first run is at work.
///
/// # Errors
/// When it can't be written.
pub(crate) fn working(store: &Store, number: u64) -> Result<SessionId> {
    deep(store, number, 3)
}

/// Spreads numbers over ids (splitmix64).
fn scattered(number: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&mixed(number.wrapping_mul(2)).to_be_bytes());
    bytes[8..].copy_from_slice(&mixed(number.wrapping_mul(2).wrapping_add(1)).to_be_bytes());
    bytes
}

fn random(number: u64, index: u64) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&mixed(number).to_be_bytes());
    bytes[2..].copy_from_slice(&mixed(number ^ mixed(index)).to_be_bytes());
    bytes
}

fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
