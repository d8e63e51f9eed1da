//! Waiting for the outcome of one turn of another session, as its collector.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use creel_record::dispatch::{Settlement, settlement};
use creel_record::words::Outcome;
use creel_record::{Owed, Run, RunId, Session, SessionId, decide};
use creel_spool::FeedWatch;
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::{ProcessHandle, ProcessIdentity, Signal};
use creel_sys::signal::PendingSignals;

use crate::codes::Code;
use crate::report::{Report, chain};
use crate::starting::birth::Settled;
use crate::starting::owed::Asker;
use crate::starting::right::{self, Doubt, Patience};

/// How long an announced change is waited for: the feed reports one whose writer died after a
/// second.
const ANNOUNCED_WITHIN: Duration = Duration::from_millis(1500);

/// How a wait ended.
#[derive(Clone, Debug)]
pub(crate) enum Collected {
    /// The turn has its outcome.
    Settled(Settlement),
    /// The time passed first.
    TimedOut,
    /// A person ended the wait.
    Interrupted,
}

/// The turn that is waited for: it began with a run, and goes on in the runs that continue it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// The session.
    pub(crate) session: SessionId,
    /// The run.
    pub(crate) anchor: RunId,
}

/// A wait that is told of changes by the store's feed, of a person's Ctrl-C, and of the death of
/// the process that holds the run.
#[derive(Debug)]
pub(crate) struct Collector<'a> {
    asker: &'a Asker<'a>,
    turn: Turn,
    watch: FeedWatch,
    signals: PendingSignals,
}

impl<'a> Collector<'a> {
    /// Starts watching. From now on Ctrl-C and a request to end are outcomes of the wait.
    ///
    /// # Errors
    /// When the machine has no watch left, or the store is gone.
    pub(crate) fn new(asker: &'a Asker<'a>, turn: Turn) -> Result<Self, Report> {
        let watch = asker.store.watch()?;
        let signals = PendingSignals::block(&[Signal::INT, Signal::TERM])
            .map_err(|error| failed(turn.session, &error))?;
        Ok(Self { asker, turn, watch, signals })
    }

    /// Waits for the outcome; `seen` is shown the session after every change.
    ///
    /// # Errors
    /// When the session can't be read, or what it is owed can't be started.
    pub(crate) fn collect(
        mut self,
        within: Duration,
        mut seen: impl FnMut(&Session),
    ) -> Result<Collected, Report> {
        let deadline = Deadline::after(within);
        loop {
            let session = self.asker.store.read(self.turn.session)?.snapshot.session;
            seen(&session);
            let runs = self.asker.store.runs(session.id, &session)?;
            let settlement = settlement(&session, &runs, self.turn.anchor);
            if settlement.outcome != Outcome::Pending {
                return Ok(Collected::Settled(settlement));
            }
            // Opened before the look at the lease, so that a death in between is not missed.
            let holder = last_holder(&session);
            let woken = match self.go_on(&session)? {
                GoneOn::Here => continue,
                GoneOn::Elsewhere if holder.is_none() => self.wait_for_lease(deadline)?,
                GoneOn::Elsewhere | GoneOn::NotNeeded => {
                    self.wait(&session, holder.as_ref(), deadline)?
                }
            };
            match woken {
                Woken::Changed => {}
                Woken::Signal => return Ok(Collected::Interrupted),
                Woken::Late => return Ok(Collected::TimedOut),
            }
        }
    }

    /// Goes on with a session that nobody runs although it is owed a run: whoever was to start it
    /// is gone.
    fn go_on(&self, session: &Session) -> Result<GoneOn, Report> {
        let patience = match decide(session, self.asker.context.now()) {
            Owed::LiveRun if !holder_lives(session) => Patience::AfterDeath,
            Owed::Nothing | Owed::LiveRun => return Ok(GoneOn::NotNeeded),
            Owed::StartIntended | Owed::Reprompt { .. } | Owed::Wake { .. } => Patience::Never,
        };
        let settled = self.asker.settle(session.id, (Doubt::Refuse, patience))?;
        Ok(if settled == Settled::Held { GoneOn::Elsewhere } else { GoneOn::Here })
    }

    fn wait(
        &mut self,
        session: &Session,
        holder: Option<&ProcessHandle>,
        deadline: Deadline,
    ) -> Result<Woken, Report> {
        loop {
            let mut fds = vec![self.signals.as_fd(), self.watch.as_fd()];
            fds.extend(holder.map(AsFd::as_fd));
            let ready = self.ready(&fds, deadline.remaining())?;
            if ready.is_empty() {
                return Ok(Woken::Late);
            }
            if ready.contains(&0) {
                return Ok(Woken::Signal);
            }
            if ready.contains(&2) {
                return Ok(Woken::Changed);
            }
            let changed = self.watch.wait(ANNOUNCED_WITHIN)?;
            if changed.is_gap || changed.ids.contains(&session.id) {
                return Ok(Woken::Changed);
            }
        }
    }

    /// Waits for somebody who has the lease and is no holder: they look, or are about to start the
    /// run that is owed.
    fn wait_for_lease(&self, deadline: Deadline) -> Result<Woken, Report> {
        if !self.ready(&[self.signals.as_fd()], Duration::ZERO)?.is_empty() {
            return Ok(Woken::Signal);
        }
        if deadline.is_past() {
            return Ok(Woken::Late);
        }
        right::wait_for_lease(self.asker.store, self.turn.session)?;
        Ok(Woken::Changed)
    }

    fn ready(&self, fds: &[BorrowedFd<'_>], within: Duration) -> Result<Vec<usize>, Report> {
        wait_readable(fds, within).map_err(|error| failed(self.turn.session, &error))
    }
}

/// Who goes on with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoneOn {
    /// Its run works, or it rests.
    NotNeeded,
    /// This call had the lease, so that the session may have changed.
    Here,
    /// Another has it.
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// Something may have changed.
    Changed,
    /// A person ended the wait.
    Signal,
    /// The time has passed.
    Late,
}

fn holder_identity(run: Option<&Run>) -> Option<ProcessIdentity> {
    let holder = run?.holder.as_ref()?;
    Some(ProcessIdentity {
        pid: holder.pid,
        start_ticks: holder.start_ticks,
        boot_id: holder.boot_id.clone(),
    })
}

/// Opens the holder of the live run, so that its death ends the wait for a change it won't make.
pub(crate) fn holder_of(session: &Session) -> Option<ProcessHandle> {
    holder_identity(session.live_run())?.open().ok().flatten()
}

/// Opens the holder of the newest run, which stays until it is decided what follows.
pub(crate) fn last_holder(session: &Session) -> Option<ProcessHandle> {
    holder_identity(session.current_run())?.open().ok().flatten()
}

/// Tells whether the holder of the live run is alive, as far as can be told.
pub(crate) fn holder_lives(session: &Session) -> bool {
    // A run without a recorded holder is just being started.
    holder_identity(session.live_run()).is_none_or(|holder| holder.is_alive().unwrap_or(true))
}

fn failed(session: SessionId, error: &std::io::Error) -> Report {
    let message = format!("can't wait for session {session}: {}", chain(error));
    Report::new(Code::WatchFailed, message).next(format!("creel wait {session}"))
}
