//! Healing a damaged log: the old one is kept whole, a new one takes its place.
//!
//! The new log has every good line, with its id, sequence and time, chained anew, and one
//! `orb.spool.healed` event for each event that is lost, so that sequences have no gap. A lost
//! creation is made again from the snapshot, without its prompt: text that no checksum vouches for
//! is never run. A lost start of a run is made again from the snapshot, the run index or what later
//! events say of the run, so that they still count for it. Where nothing else stands in for a
//! damaged stretch, its `orb.spool.healed` event comes at the end.

mod creation;
mod known;
mod rewrite;
mod starts;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use creel_record::snapshot::Snapshot;
use creel_record::{EventId, SessionId, Timestamp};
use creel_sys::fs::{FsFile, LockMode, OpenHow, read_exact_at};
use thiserror::Error;

use crate::damage::Fault;
use crate::error::WriteError;
use crate::feed;
use crate::file::keep;
use crate::load::{State, Stored, keep_in, set_aside, stored};
use crate::log_file::{LockError, LockedLog, lock_as_it_is};
use crate::publish;
use crate::store::Store;
use crate::verify::{Audit, Finding, audit, index_holds};

/// What the events of a heal are made of.
pub struct Mint<'a> {
    /// Their time.
    pub now: Timestamp,
    /// Makes an id.
    pub event_id: &'a mut dyn FnMut() -> EventId,
}

/// A log could not be healed; it is as it was.
#[derive(Debug, Error)]
pub enum HealError {
    /// There is no such session.
    #[error("no session {id} in this store")]
    NotFound {
        /// The session.
        id: SessionId,
    },
    /// The store may not be written.
    #[error("session {id} is read-only: {reason}")]
    ReadOnly {
        /// The session.
        id: SessionId,
        /// Why, as a clause.
        reason: String,
    },
    /// A writer holds the lock.
    #[error("session {id} was locked by another writer for {} ms", waited.as_millis())]
    Busy {
        /// The session.
        id: SessionId,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The event of its creation is lost, and no snapshot has it.
    #[error("the creation of session {id} is lost, and there is no snapshot to make it from")]
    NoCreation {
        /// The session.
        id: SessionId,
    },
    /// It failed at the file system.
    #[error("can't {what} of session {id}")]
    Io {
        /// The session.
        id: SessionId,
        /// What was tried.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// A healed spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Healed {
    /// The session.
    pub id: SessionId,
    /// True when anything was changed.
    pub is_changed: bool,
    /// The bad stretches of the old log.
    pub faults: Vec<Fault>,
    /// Where the old log is kept, below the session's directory.
    pub kept_as: Option<PathBuf>,
    /// The sequences whose events are lost.
    pub lost: Vec<u64>,
    /// True when there was only a part of a first line, and the session is gone.
    pub is_removed: bool,
}

impl Store {
    /// Heals a session: its log, its snapshot and its run index. A healthy one is left as it is.
    ///
    /// # Errors
    /// When it can't be; the old log is then untouched. A heal that was interrupted is done again.
    pub fn heal(&self, id: SessionId, mint: &mut Mint<'_>) -> Result<Healed, HealError> {
        if let Err(WriteError::ReadOnly { reason, .. }) = self.may_write(id) {
            return Err(HealError::ReadOnly { id, reason });
        }
        let io = |what| move |source| HealError::Io { id, what, source };
        self.put_back(id).map_err(io("put a log in the place of the lost one"))?;
        let log = lock_as_it_is(self, id, LockMode::Exclusive).map_err(|error| match error {
            LockError::NotFound => HealError::NotFound { id },
            LockError::Busy => HealError::Busy { id, waited: self.lock_wait() },
            LockError::Denied => io("open the log")(io::ErrorKind::PermissionDenied.into()),
            LockError::Io(what, source) => io(what)(source),
        })?;
        let stored = stored(self, id).map_err(io("read the snapshot"))?;
        let audit = audit(log.file.as_ref(), (id, log.stat.len_bytes), &stored)
            .map_err(io("read the log"))?;
        if audit.is_unfinished(&stored) && self.kept_snapshot(id).is_none() {
            return self.remove_unfinished(id, &log, audit);
        }
        let findings = audit.findings(&stored, log.stat.len_bytes);
        let is_shorter = findings.iter().any(|f| matches!(f, Finding::LogShorter { .. }));
        if audit.faults.is_empty() && !log.stat.is_read_only && !is_shorter {
            return self.put_right(id, &log, (audit, findings));
        }
        self.replace_log(id, (&log, stored, audit), mint)
    }

    /// Makes an empty log where one is gone of which there is a snapshot: it is the shortest of those
    /// that are shorter than what was published.
    fn put_back(&self, id: SessionId) -> io::Result<()> {
        let path = self.log_path(id);
        match self.fs().stat(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other.map(drop),
        }
        match stored(self, id)? {
            Stored::Good(_) => self.fs().open(&path, OpenHow::Create).map(drop),
            Stored::Missing | Stored::Bad(_) => Ok(()),
        }
    }

    /// Makes snapshot and run index from a healthy log, where they are not good.
    fn put_right(
        &self,
        id: SessionId,
        log: &LockedLog,
        (audit, findings): (Audit, Vec<Finding>),
    ) -> Result<Healed, HealError> {
        let mut state = audit.state;
        if state.session.is_none() {
            return Err(HealError::NotFound { id });
        }
        let is_index_good = index_holds(self, id, &state).map_err(|source| HealError::Io {
            id,
            what: "read the run index",
            source,
        })?;
        let is_changed = !findings.is_empty() || !is_index_good;
        if is_changed {
            self.publish_healed(id, log.file.as_ref(), &mut state)?;
        }
        Ok(Healed {
            id,
            is_changed,
            faults: Vec::new(),
            kept_as: None,
            lost: Vec::new(),
            is_removed: false,
        })
    }

    /// Removes the log of a creation that no writer finished; its bytes are kept.
    fn remove_unfinished(
        &self,
        id: SessionId,
        log: &LockedLog,
        audit: Audit,
    ) -> Result<Healed, HealError> {
        let io = |what| move |source| HealError::Io { id, what, source };
        let mut kept_as = None;
        for fault in &audit.faults {
            let name = set_aside(self, id, log.file.as_ref(), fault)
                .map_err(io("keep the unfinished line"))?;
            kept_as = Some(PathBuf::from(name));
        }
        self.fs()
            .remove_file(&self.log_path(id))
            .and_then(|()| self.fs().sync_dir(self.spool_dir()))
            .map_err(io("remove the log"))?;
        let (faults, lost) = (audit.faults, Vec::new());
        Ok(Healed { id, is_changed: true, faults, kept_as, lost, is_removed: true })
    }

    fn replace_log(
        &self,
        id: SessionId,
        (log, stored, audit): (&LockedLog, Stored, Audit),
        mint: &mut Mint<'_>,
    ) -> Result<Healed, HealError> {
        let io = |what| move |source| HealError::Io { id, what, source };
        let snapshot = match stored {
            Stored::Good(snapshot) => Some(*snapshot),
            Stored::Missing | Stored::Bad(_) => self.kept_snapshot(id),
        };
        let kept_as = self.keep_old(id, log, snapshot.as_ref()).map_err(io("keep the old log"))?;
        let old = rewrite::Old { id, log, audit: &audit, snapshot: snapshot.as_ref(), kept_as };
        let new = rewrite::rewrite(self, &old, mint)?;
        feed::mark_dirty(self, id);
        self.swap(id).map_err(io("replace the log"))?;
        let mut state = new.state;
        // From here on the new log is the log; its lock is held until its snapshot is there.
        if state.session.is_some() {
            self.publish_healed(id, new.file.as_ref(), &mut state)?;
        }
        let kept_as = Some(PathBuf::from(old.kept_as));
        Ok(Healed {
            id,
            is_changed: true,
            faults: audit.faults,
            kept_as,
            lost: new.lost,
            is_removed: false,
        })
    }

    /// Keeps the old log whole, and the snapshot that says what was published of it, durably.
    fn keep_old(
        &self,
        id: SessionId,
        log: &LockedLog,
        snapshot: Option<&Snapshot>,
    ) -> io::Result<String> {
        let dir = self.session_dir(id).join("healed");
        let len = usize::try_from(log.stat.len_bytes).map_err(io::Error::other)?;
        let bytes = read_exact_at(log.file.as_ref(), 0, len)?;
        let name = keep_in(self, &dir, &bytes, &|n| format!("{n}.jsonl"))?;
        if let Some(snapshot) = snapshot {
            let bytes = snapshot.encode().map_err(io::Error::other)?;
            let path = dir.join(&name).with_extension("json");
            match keep(self.fs(), &path, &bytes) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => self.fs().sync_dir(&dir)?,
            }
        }
        Ok(format!("healed/{name}"))
    }

    /// Returns the newest snapshot that an interrupted heal kept.
    fn kept_snapshot(&self, id: SessionId) -> Option<Snapshot> {
        let dir = self.session_dir(id).join("healed");
        let mut numbers: Vec<u64> = self
            .fs()
            .read_dir(&dir)
            .ok()?
            .iter()
            .filter_map(|name| name.to_str()?.strip_suffix(".json")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers.iter().rev().find_map(|number| {
            let path = dir.join(format!("{number}.json"));
            let max_bytes = creel_record::limits::MAX_SNAPSHOT_BYTES;
            let bytes = crate::file::read_bounded(self.fs(), &path, max_bytes).ok()?;
            Snapshot::decode(&bytes, id).ok()
        })
    }

    /// Puts the new log in the old one's place. The old snapshot goes first, and durably: it must
    /// never be read together with the new log.
    fn swap(&self, id: SessionId) -> io::Result<()> {
        match self.fs().remove_file(&self.snapshot_path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.fs().sync_dir(self.spool_dir())?;
        self.fs().rename(&rewrite::path(self, id), &self.log_path(id))?;
        self.fs().sync_dir(self.spool_dir())
    }

    fn publish_healed(
        &self,
        id: SessionId,
        log: &dyn FsFile,
        state: &mut State,
    ) -> Result<(), HealError> {
        feed::mark_dirty(self, id);
        publish::publish(self, (id, log), state).map_err(|error| {
            let source = io::Error::other(error.to_string());
            HealError::Io { id, what: "publish the snapshot", source }
        })?;
        publish::put_row(self, state.session.as_ref());
        Ok(())
    }
}
