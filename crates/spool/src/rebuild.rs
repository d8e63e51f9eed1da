//! Rebuilding what is made from a log: its snapshot and its run index.

use creel_record::SessionId;
use creel_sys::fs::LockMode;

use crate::error::WriteError;
use crate::feed;
use crate::load::{State, Stored, load_whole, stored};
use crate::log_file::{lock_as_it_is, lock_to_write};
use crate::publish;
use crate::store::Store;
use crate::verify::{audit, index_holds};

/// Whether a rebuild writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// It does.
    Write,
    /// It only tells what it would do.
    DryRun,
}

/// What a rebuild found, and put right if it was to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The session.
    pub id: SessionId,
    /// What the snapshot was.
    pub snapshot: SnapshotState,
    /// True when the run index was not what the log adds up to.
    pub is_index_stale: bool,
    /// Events of the log.
    pub event_count: u64,
}

impl Rebuilt {
    /// True when there was something to put right.
    pub fn is_changed(&self) -> bool {
        self.snapshot != SnapshotState::Good || self.is_index_stale
    }
}

/// A snapshot, compared with its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotState {
    /// It is what the log adds up to.
    Good,
    /// There was none.
    Missing,
    /// It was none.
    Invalid,
    /// The log had more.
    Stale,
    /// It was not what the log adds up to.
    Different,
}

impl Store {
    /// Folds the log of a session whole and makes its snapshot and run index from it.
    ///
    /// # Errors
    /// As [`Store::transact`], the rule apart. When the files can't be written, it fails as not
    /// written: the log is as it was.
    pub fn rebuild(&self, id: SessionId, how: Rebuild) -> Result<Rebuilt, WriteError> {
        match how {
            Rebuild::Write => self.rebuild_now(id),
            Rebuild::DryRun => self.rebuild_dry(id),
        }
    }

    fn rebuild_now(&self, id: SessionId) -> Result<Rebuilt, WriteError> {
        self.may_write(id)?;
        let not_written = |what| move |source| WriteError::NotWritten { id, what, source };
        let log = lock_to_write(self, id)?;
        let stored = stored(self, id).map_err(not_written("read the snapshot"))?;
        let mut state = load_whole(self, (id, &log), &stored)?;
        let rebuilt = self.compare(id, &state, &stored)?;
        if rebuilt.is_changed() {
            feed::mark_dirty(self, id);
            publish::publish(self, (id, log.file.as_ref()), &mut state).map_err(|error| {
                let source = std::io::Error::other(error.to_string());
                WriteError::NotWritten { id, what: "publish the snapshot", source }
            })?;
        }
        publish::put_row(self, state.session.as_ref());
        Ok(rebuilt)
    }

    fn rebuild_dry(&self, id: SessionId) -> Result<Rebuilt, WriteError> {
        let not_written = |what| move |source| WriteError::NotWritten { id, what, source };
        let log = lock_as_it_is(self, id, LockMode::Shared)
            .map_err(|error| error.into_write(self, id))?;
        let stored = stored(self, id).map_err(not_written("read the snapshot"))?;
        let audit = audit(log.file.as_ref(), (id, log.stat.len_bytes), &stored)
            .map_err(not_written("read the log"))?;
        if let Some(fault) = audit.faults.iter().find(|_| !audit.is_folded_whole) {
            let damage = crate::damage::Damage::Line(fault.clone());
            return Err(WriteError::Damaged { id, damage });
        }
        self.compare(id, &audit.state, &stored)
    }

    fn compare(
        &self,
        id: SessionId,
        state: &State,
        stored: &Stored,
    ) -> Result<Rebuilt, WriteError> {
        let Some(position) = state.position else { return Err(WriteError::NotFound { id }) };
        let snapshot = match stored {
            Stored::Missing => SnapshotState::Missing,
            Stored::Bad(_) => SnapshotState::Invalid,
            Stored::Good(snapshot) if snapshot.log.sequence < position.sequence => {
                SnapshotState::Stale
            }
            Stored::Good(snapshot)
                if snapshot.log == position
                    && state.session.as_ref() == Some(&snapshot.session)
                    && snapshot.run_index == state.run_index =>
            {
                SnapshotState::Good
            }
            Stored::Good(_) => SnapshotState::Different,
        };
        let is_index_stale = !index_holds(self, id, state)
            .map_err(|source| WriteError::NotWritten { id, what: "read the run index", source })?;
        Ok(Rebuilt { id, snapshot, is_index_stale, event_count: position.sequence })
    }
}
