//! Mutations as callers see them.

use creel_record::event::Draft;
use creel_record::{EventId, Session, SessionId};

use crate::append::{Appended, Spool};
use crate::error::{TransactError, WriteError};
use crate::publish::PublishError;
use crate::store::Store;

/// What a rule wants done with the session it looked at.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one lives for the length of one call")]
pub enum Change<R> {
    /// Append this event, and answer with the value.
    Append(Draft, R),
    /// Append nothing: the record already says so.
    Nothing(R),
}

/// Whether readers see what is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// They do.
    Published,
    /// Written, not yet visible: the log is durable, the snapshot could not be made. The next
    /// writer or `rebuild-session-snapshots` makes it.
    NotYetVisible(String),
}

impl From<Result<(), PublishError>> for Visibility {
    fn from(published: Result<(), PublishError>) -> Self {
        match published {
            Ok(()) => Self::Published,
            Err(error) => Self::NotYetVisible(error.to_string()),
        }
    }
}

/// An acknowledged mutation.
#[derive(Debug)]
pub struct Committed<R> {
    /// The rule's answer.
    pub value: R,
    /// The session after it.
    pub session: Session,
    /// The event that was appended, with its sequence.
    pub event: Option<(EventId, u64)>,
    /// Whether readers see it.
    pub visibility: Visibility,
}

impl Store {
    /// Creates a session, exclusively, with its first event.
    ///
    /// # Errors
    /// [`WriteError::Exists`] when it is there; else as [`Store::transact`].
    pub fn create_session(&self, id: SessionId, draft: Draft) -> Result<Committed<()>, WriteError> {
        let mut spool = Spool::lock_new(self, id)?;
        if spool.session().is_some() {
            spool.repair();
            return Err(WriteError::Exists { id });
        }
        let Appended { event, visibility } = spool.append(draft)?;
        let session = spool.into_session().ok_or(WriteError::NotFound { id })?;
        Ok(Committed { value: (), session, event: Some(event), visibility })
    }

    /// Looks at a session under its lock and appends what the rule says.
    ///
    /// The rule runs under the lock: it must not wait for anything. What it returns is
    /// acknowledged once this returns; on [`WriteError::Unknown`] the event may be there, and the
    /// same verb again finds out.
    ///
    /// # Errors
    /// When the rule refuses, or the session is missing, read-only, damaged, busy or not writable.
    pub fn transact<R, E>(
        &self,
        id: SessionId,
        rule: impl FnOnce(&Session) -> Result<Change<R>, E>,
    ) -> Result<Committed<R>, TransactError<E>> {
        let mut spool = Spool::lock(self, id)?;
        let session = spool.session().ok_or(WriteError::NotFound { id })?;
        let (value, event, visibility) = match rule(session) {
            Err(refusal) => {
                spool.repair();
                return Err(TransactError::Refused(refusal));
            }
            Ok(Change::Nothing(value)) => (value, None, spool.repair()),
            Ok(Change::Append(draft, value)) => {
                let Appended { event, visibility } = spool.append(draft)?;
                (value, Some(event), visibility)
            }
        };
        let session = spool.into_session().ok_or(WriteError::NotFound { id })?;
        Ok(Committed { value, session, event, visibility })
    }
}
