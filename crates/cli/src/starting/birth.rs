//! Making a session and starting its first run.

use std::time::Duration;

use creel_keeper::TakenOver;
use creel_record::command::create;
use creel_record::{Cause, Refusal, Session, SessionId};
use creel_spool::{Change, Store, TransactError, WriteError};
use creel_sys::Deadline;

use crate::codes::Code;
use crate::convert::write_failure;
use crate::report::Report;
use crate::starting::choice::choose;
use crate::starting::creation::{Lineage, NewIds, Order, created};
use crate::starting::launch;
use crate::starting::owed::{Asker, session_now};
use crate::starting::right::{self, Doubt, Patience};

/// How long another may take to start a run that it has the lease for.
const STARTED_WITHIN: Duration = Duration::from_secs(30);

impl Asker<'_> {
    /// Creates a session under ids that were made before, with its first run in it.
    ///
    /// A session that is there already under the same key and arguments is the answer, too.
    ///
    /// # Errors
    /// When the target isn't available, the record refuses, the key stands for other arguments, or
    /// nothing could be written. No process was started in any of these cases.
    pub(crate) fn create(
        &self,
        order: &Order,
        ids: &NewIds,
        lineage: Option<Lineage<'_>>,
    ) -> Result<Session, Report> {
        if let Some(session) = self.repeat(ids)? {
            return Ok(session);
        }
        let named = order.named_target.as_deref();
        let chosen = choose(&self.starter.catalog, named, &self.starter.path)?;
        let found = (self.context, &chosen, self.starter.variables.as_slice());
        let created = created(order, ids, found, lineage);
        create::check(&created)?;
        let draft = self.context.draft(created.into())?;
        match self.store.create_session(ids.session, draft) {
            Ok(committed) => Ok(committed.session),
            // Another launch with the same key was faster.
            Err(WriteError::Exists { .. }) if ids.key.is_some() => {
                let exists = || WriteError::Exists { id: ids.session }.into();
                self.repeat(ids)?.ok_or_else(exists)
            }
            Err(error) => Err(not_created(self.store, &error)),
        }
    }

    /// Finds the session that a launch with this key made before.
    fn repeat(&self, ids: &NewIds) -> Result<Option<Session>, Report> {
        if ids.key.is_none() {
            return Ok(None);
        }
        // A look under the lock, since a faster launch may be about to publish what it created.
        let look = self
            .store
            .transact(ids.session, |session| Ok::<_, Refusal>(Change::Nothing(session.clone())));
        let session = match look {
            Ok(committed) => committed.value,
            Err(TransactError::Write(WriteError::NotFound { .. })) => return Ok(None),
            Err(TransactError::Write(error)) => return Err(error.into()),
            Err(TransactError::Refused(refusal)) => return Err(refusal.into()),
        };
        if session.key != ids.key {
            let key = ids.key.as_ref().map(|key| key.key.clone()).unwrap_or_default();
            return Err(Refusal::KeyTaken { key, session: session.id }.into());
        }
        Ok(Some(session))
    }

    /// Starts the first run of a session unless that has happened.
    ///
    /// Another may have the lease for a moment: to start this very run, or only to look.
    ///
    /// # Errors
    /// When the run can't be planned or its process can't be started.
    pub(crate) fn start_first(&self, session: Session) -> Result<(), Report> {
        let id = session.id;
        let deadline = Deadline::after(STARTED_WITHIN);
        let mut session = session;
        while session.unstarted_first_run().is_some() {
            if self.settle(id, (Doubt::Refuse, Patience::Never))? != Settled::Held {
                return Ok(());
            }
            if deadline.is_past() {
                return Err(right::held(self.store, id));
            }
            right::wait_for_lease(self.store, id)?;
            session = self.store.read(id)?.snapshot.session;
        }
        Ok(())
    }

    /// Wins the right to start runs of a session, and starts the one that it is owed.
    ///
    /// # Errors
    /// As the steps of it.
    pub(crate) fn settle(
        &self,
        id: SessionId,
        terms: (Doubt, Patience),
    ) -> Result<Settled, Report> {
        match right::win(self.store, id, terms)? {
            Some(taken) => self.settle_taken(id, taken),
            None => Ok(Settled::Held),
        }
    }

    /// Starts what a session is owed, with the right to do so.
    ///
    /// # Errors
    /// As the steps of it.
    pub(crate) fn settle_taken(&self, id: SessionId, taken: TakenOver) -> Result<Settled, Report> {
        let session = session_now(self.store, id)?;
        let Some((session, wanted)) = self.owed(session)? else { return Ok(Settled::Nothing) };
        let composed = self.starter.compose(self.store, &session, &wanted)?;
        launch((self.context, self.store), &session, composed, taken.lease)?;
        Ok(Settled::Started { cause: wanted.cause, number: session.run_count + 1 })
    }
}

/// Reports a session that is not there; its id means nothing to anybody then.
fn not_created(store: &Store, error: &WriteError) -> Report {
    let WriteError::NotWritten { what, source, .. } = error else { return write_failure(error) };
    let message =
        format!("no session was created: can't {what} in {}: {source}", store.root().display());
    Report::new(Code::NotWritten, message)
        .next(format!("df {}, then the same command", store.root().display()))
}

/// What came of settling what a session is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// A run was started.
    Started {
        /// Why.
        cause: Cause,
        /// Its number.
        number: u64,
    },
    /// Nothing was owed.
    Nothing,
    /// Another has the lease, and with it the duty.
    Held,
}
