//! Reads: the snapshot, and single lines that it names.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use creel_record::limits::MAX_LINE_BYTES;
use creel_record::line;
use creel_record::run::{LineRef, Run, TextRef};
use creel_record::snapshot::Snapshot;
use creel_record::{Event, Fact, Session, SessionId};
use creel_sys::fs::{LockMode, OpenHow, Stat, read_exact_at};

use crate::convert::RowFlags;
use crate::damage::{Damage, Fault, FaultKind};
use crate::error::ReadError;
use crate::load::{Stored, stored};
use crate::run_index;
use crate::store::Store;

/// How long a list waits for a session that is being created: far longer than a creation takes.
const MAX_CREATION_WAIT: Duration = Duration::from_secs(1);

/// A session as published.
#[derive(Clone, Debug)]
pub struct Published {
    /// It, with the place up to which it is published.
    pub snapshot: Snapshot,
    /// True when the log holds more and nobody is writing: the next writer or
    /// `rebuild-session-snapshots` publishes it.
    pub is_stale: bool,
    /// Why nothing can be written until it is healed.
    pub damage: Option<Damage>,
}

impl Published {
    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.snapshot.session
    }

    /// Returns what its row says beyond the session.
    pub fn flags(&self) -> RowFlags {
        RowFlags { is_stale: self.is_stale, is_damaged: self.damage.is_some() }
    }
}

impl Store {
    /// Reads a session from its snapshot. Stats the log, and never reads it.
    ///
    /// # Errors
    /// When there is none, or its snapshot is missing or invalid.
    pub fn read(&self, id: SessionId) -> Result<Published, ReadError> {
        let snapshot = self.snapshot(id)?;
        let Some(stat) = self.log_stat(id)? else {
            return Ok(Published { snapshot, is_stale: false, damage: Some(Damage::Missing) });
        };
        if stat.len_bytes == snapshot.log.len_bytes {
            return Ok(judged(snapshot, stat, false));
        }
        // A writer may have been between its log and its snapshot, or be there now.
        let path = self.log_path(id);
        let log = self.fs().open(&path, OpenHow::Read).map_err(ReadError::io(&path))?;
        if !log.try_lock(LockMode::Shared).map_err(ReadError::io(&path))? {
            let damage = stat.is_read_only.then_some(Damage::Marked);
            return Ok(Published { snapshot: self.snapshot(id)?, is_stale: false, damage });
        }
        let snapshot = self.snapshot(id)?;
        let stat = log.stat().map_err(ReadError::io(&path))?;
        Ok(judged(snapshot, stat, true))
    }

    /// Reads a session; one without a snapshot whose log is being written gets a moment to be
    /// published, since it is most likely being created.
    pub(crate) fn read_settled(&self, id: SessionId) -> Result<Published, ReadError> {
        match self.read(id) {
            Err(ReadError::NoSnapshot { .. }) => {}
            other => return other,
        }
        let path = self.log_path(id);
        match self.fs().open(&path, OpenHow::Read) {
            Ok(log) => {
                log.lock(LockMode::Shared, MAX_CREATION_WAIT).map_err(ReadError::io(&path))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ReadError::io(&path)(error)),
        }
        self.read(id)
    }

    fn snapshot(&self, id: SessionId) -> Result<Snapshot, ReadError> {
        match stored(self, id).map_err(ReadError::io(&self.snapshot_path(id)))? {
            Stored::Good(snapshot) => Ok(*snapshot),
            Stored::Bad(source) => Err(ReadError::BadSnapshot { id, source }),
            Stored::Missing => match self.is_there(id) {
                Ok(true) => Err(ReadError::NoSnapshot { id }),
                Ok(false) => Err(ReadError::NotFound { id }),
                Err(error) => Err(ReadError::io(&self.log_path(id))(error)),
            },
        }
    }

    fn log_stat(&self, id: SessionId) -> Result<Option<Stat>, ReadError> {
        let path = self.log_path(id);
        match self.fs().stat(&path) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ReadError::io(&path)(error)),
        }
    }

    /// Reads one text from the log: one bounded read of one line, checked by its chain value.
    ///
    /// # Errors
    /// When the line is damaged, or the reference is older than a heal; a fresh snapshot then has
    /// another one.
    pub fn text(&self, id: SessionId, text: TextRef) -> Result<String, ReadError> {
        let event = self.event_at(id, text.line)?;
        match event.fact.text() {
            Some(found) if found.len() as u64 == text.len_bytes => Ok(found.to_owned()),
            _ => Err(damaged_at(id, text.line, FaultKind::NotTheEvent)),
        }
    }

    /// Reads the environment that the launch kept, from the line of the creation. Empty when that
    /// was lost and made again by a heal.
    ///
    /// # Errors
    /// As [`Store::text`].
    pub fn environment(
        &self,
        id: SessionId,
        session: &Session,
    ) -> Result<BTreeMap<String, String>, ReadError> {
        let line_ref = session.prompt.line;
        match self.event_at(id, line_ref)?.fact {
            Fact::SessionCreated(created) => Ok(created.environment),
            _ => Err(damaged_at(id, line_ref, FaultKind::NotTheEvent)),
        }
    }

    /// Reads one line of a log.
    fn event_at(&self, id: SessionId, line_ref: LineRef) -> Result<Event, ReadError> {
        let path = self.log_path(id);
        let damaged = |kind| damaged_at(id, line_ref, kind);
        let len = usize::try_from(line_ref.len_bytes)
            .ok()
            .filter(|len| *len <= MAX_LINE_BYTES + 1)
            .ok_or_else(|| damaged(FaultKind::TooLong))?;
        let log = match self.fs().open(&path, OpenHow::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReadError::NotFound { id });
            }
            other => other.map_err(ReadError::io(&path))?,
        };
        let bytes = match read_exact_at(log.as_ref(), line_ref.offset_bytes, len) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(damaged(FaultKind::Unterminated));
            }
            other => other.map_err(ReadError::io(&path))?,
        };
        let line = bytes.strip_suffix(b"\n").ok_or_else(|| damaged(FaultKind::Unterminated))?;
        line::check(line, line_ref.previous).map_err(|_| damaged(FaultKind::Checksum))?;
        let event = line::parse(line).map_err(|_| damaged(FaultKind::NotTheEvent))?;
        if event.subject != id {
            return Err(damaged(FaultKind::NotTheEvent));
        }
        Ok(event)
    }

    /// Returns one run, from the snapshot or the run index.
    ///
    /// # Errors
    /// When there is no such run, or the index does not hold it.
    pub fn run(&self, id: SessionId, session: &Session, number: u64) -> Result<Run, ReadError> {
        if let Some(run) = session.runs.iter().find(|run| run.number == number) {
            return Ok(run.clone());
        }
        let older = self.older_runs(id, session)?;
        older.into_iter().find(|run| run.number == number).ok_or(ReadError::NoRun { id, number })
    }

    /// Returns all runs, oldest first, from the run index and the snapshot.
    ///
    /// # Errors
    /// When the index does not hold those that the snapshot does not.
    pub fn runs(&self, id: SessionId, session: &Session) -> Result<Vec<Run>, ReadError> {
        let mut runs = self.older_runs(id, session)?;
        runs.extend_from_slice(&session.runs);
        Ok(runs)
    }

    /// Reads the runs that a session does not hold itself.
    fn older_runs(&self, id: SessionId, session: &Session) -> Result<Vec<Run>, ReadError> {
        let Some(oldest) = session.runs.first().map(|run| run.number).filter(|n| *n > 1) else {
            return Ok(Vec::new());
        };
        // A run whose start was lost with a damaged line is counted, but nowhere to be found.
        let count = self.snapshot(id)?.run_index.run_count;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut runs = run_index::read(self, id, count)
            .map_err(ReadError::io(&self.session_dir(id)))?
            .ok_or(ReadError::StaleIndex { id })?;
        runs.retain(|run| run.number < oldest);
        Ok(runs)
    }
}

fn damaged_at(id: SessionId, line: LineRef, kind: FaultKind) -> ReadError {
    let LineRef { offset_bytes, len_bytes, .. } = line;
    let fault = Fault { offset_bytes, len_bytes, line_number: 0, kind, missing: (0, 0) };
    ReadError::Damaged { id, damage: Damage::Line(fault) }
}

fn judged(snapshot: Snapshot, stat: Stat, is_lock_free: bool) -> Published {
    let (len_bytes, published_bytes) = (stat.len_bytes, snapshot.log.len_bytes);
    let damage = if stat.is_read_only {
        Some(Damage::Marked)
    } else if len_bytes < published_bytes {
        Some(Damage::Shorter { len_bytes, published_bytes })
    } else {
        None
    };
    Published { snapshot, is_stale: is_lock_free && len_bytes > published_bytes, damage }
}
