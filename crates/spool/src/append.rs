//! Appending: the order of a mutation.
//!
//! 1. The line is encoded, folded and its snapshot encoded, so that nothing but the file system
//!    can fail once bytes are written.
//! 2. The feed says that the session is about to change.
//! 3. The line is written at the end of the log and synced (with the directory, when the log is
//!    new). From here on it is acknowledged whatever follows.
//! 4. The snapshot is published, then the feed's row.

use std::io;

use creel_record::event::Draft;
use creel_record::line;
use creel_record::run::LineRef;
use creel_record::{EventId, Session, SessionId};
use creel_sys::fs::write_all_at;

use crate::error::WriteError;
use crate::feed;
use crate::load::{State, load};
use crate::log_file::{LockedLog, lock_to_create, lock_to_write};
use crate::publish;
use crate::store::Store;
use crate::transact::Visibility;
use crate::walk::GoodLine;

/// A spool under its lock.
#[derive(Debug)]
pub(crate) struct Spool<'s> {
    store: &'s Store,
    id: SessionId,
    log: LockedLog,
    state: State,
}

/// An acknowledged event.
#[derive(Debug)]
pub(crate) struct Appended {
    /// Its id and sequence.
    pub(crate) event: (EventId, u64),
    /// Whether readers see it.
    pub(crate) visibility: Visibility,
}

impl<'s> Spool<'s> {
    /// Locks an existing session.
    pub(crate) fn lock(store: &'s Store, id: SessionId) -> Result<Self, WriteError> {
        store.may_write(id)?;
        let log = lock_to_write(store, id)?;
        let state = load(store, id, &log)?;
        Ok(Self { store, id, log, state })
    }

    /// Locks a session that may not exist yet.
    pub(crate) fn lock_new(store: &'s Store, id: SessionId) -> Result<Self, WriteError> {
        store.may_write(id)?;
        let log = lock_to_create(store, id)?;
        let state = load(store, id, &log)?;
        Ok(Self { store, id, log, state })
    }

    /// Returns the session; none for a log without a line.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.state.session.as_ref()
    }

    /// Returns the session and gives the lock up.
    pub(crate) fn into_session(self) -> Option<Session> {
        self.state.session
    }

    /// Publishes what a dead writer left.
    pub(crate) fn repair(&mut self) -> Visibility {
        let log = self.log.file.as_ref();
        publish::repair(self.store, (self.id, log), &mut self.state).into()
    }

    /// Appends one event.
    pub(crate) fn append(&mut self, draft: Draft) -> Result<Appended, WriteError> {
        let id = self.id;
        let refuse = |what, error: Box<dyn std::error::Error + Send + Sync>| {
            let source = io::Error::new(io::ErrorKind::InvalidInput, error);
            WriteError::NotWritten { id, what, source }
        };
        let durable_bytes = self.state.len_bytes();
        let is_new = self.state.session.is_none();
        let end = self.state.end(id);
        let event = draft.at(id, end.sequence + 1);
        let encoded = line::encode(&event, end.chain)
            .map_err(|error| refuse("encode the event", error.into()))?;
        let len_bytes = encoded.bytes.len() as u64;
        let place = LineRef { offset_bytes: durable_bytes, len_bytes, previous: end.chain };
        let event = (event.id, event.sequence, event);
        let good = GoodLine { event: event.2, line: place, chain: encoded.chain };
        self.state.fold(&good).map_err(|error| refuse("fold the event", error.into()))?;
        drop(good);
        let snapshot = publish::encode(&mut self.state)
            .map_err(|error| refuse("publish the event", error.into()))?;
        feed::mark_dirty(self.store, id);
        self.write(&encoded.bytes, durable_bytes, is_new)?;
        let visibility = self.publish(&snapshot);
        Ok(Appended { event: (event.0, event.1), visibility })
    }

    /// Writes a line durably, or takes it back.
    fn write(&self, line: &[u8], durable_bytes: u64, is_new: bool) -> Result<(), WriteError> {
        let id = self.id;
        let file = self.log.file.as_ref();
        let written = write_all_at(file, line, durable_bytes)
            .map_err(|error| ("write the log", error))
            .and_then(|()| file.sync_data().map_err(|error| ("sync the log", error)));
        let written = match written {
            Ok(()) if is_new => {
                let dir = self.store.spool_dir();
                self.store.fs().sync_dir(dir).map_err(|error| ("sync the directory", error))
            }
            other => other,
        };
        let Err((what, source)) = written else { return Ok(()) };
        if file.set_len(durable_bytes).and_then(|()| file.sync_data()).is_ok() {
            return Err(WriteError::NotWritten { id, what, source });
        }
        // The mark may fail as well; then the next writer finds a whole line and keeps it, or a
        // part of one and cuts it.
        let _ = file.set_read_only(true);
        Err(WriteError::Unknown { id, what, source })
    }

    fn publish(&mut self, snapshot: &[u8]) -> Visibility {
        let log = (self.id, self.log.file.as_ref());
        let published = publish::publish_bytes(self.store, log, (&mut self.state, snapshot));
        if published.is_ok() {
            publish::put_row(self.store, self.state.session.as_ref());
        }
        published.into()
    }
}
