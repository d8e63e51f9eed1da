//! Waiting for the outcome of one turn of another session, as its collector.

use std::os::fd::AsFd;
use std::time::Duration;

use creel_record::dispatch::{Settlement, settlement};
use creel_record::words::Outcome;
use creel_record::{Owed, RunId, Session, SessionId, decide};
use creel_spool::FeedWatch;
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::{ProcessHandle, ProcessIdentity, Signal};
use creel_sys::signal::PendingSignals;

use crate::codes::Code;
use crate::report::{Report, chain};
use crate::starting::birth::Settled;
use crate::starting::owed::Asker;
use crate::starting::right::{Doubt, Patience};

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
            if self.is_left_alone(&session)? {
                continue;
            }
            let Some(woken) = self.wait(&session, deadline)? else {
                return Ok(Collected::TimedOut);
            };
            if woken == Woken::Signal {
                return Ok(Collected::Interrupted);
            }
        }
    }

    /// Goes on with a session that nobody runs although it is owed a run: whoever was to start it
    /// is gone. True when this call had the lease, so that the session may have changed.
    fn is_left_alone(&self, session: &Session) -> Result<bool, Report> {
        let patience = match decide(session, self.asker.context.now()) {
            Owed::LiveRun if !holder_lives(session) => Patience::AfterDeath,
            Owed::Nothing | Owed::LiveRun => return Ok(false),
            Owed::StartIntended | Owed::Reprompt { .. } | Owed::Wake { .. } => Patience::Never,
        };
        let settled = self.asker.settle(session.id, (Doubt::Refuse, patience))?;
        Ok(settled != Settled::Held)
    }

    fn wait(&mut self, session: &Session, deadline: Deadline) -> Result<Option<Woken>, Report> {
        let holder = holder_of(session);
        loop {
            let mut fds = vec![self.signals.as_fd(), self.watch.as_fd()];
            fds.extend(holder.as_ref().map(AsFd::as_fd));
            let ready = wait_readable(&fds, deadline.remaining())
                .map_err(|error| failed(session.id, &error))?;
            if ready.is_empty() {
                return Ok(None);
            }
            if ready.contains(&0) {
                return Ok(Some(Woken::Signal));
            }
            if ready.contains(&2) {
                return Ok(Some(Woken::Changed));
            }
            let changed = self.watch.wait(ANNOUNCED_WITHIN)?;
            if changed.is_gap || changed.ids.contains(&session.id) {
                return Ok(Some(Woken::Changed));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Changed,
    Signal,
}

fn holder_identity(session: &Session) -> Option<ProcessIdentity> {
    let holder = session.live_run()?.holder.as_ref()?;
    Some(ProcessIdentity {
        pid: holder.pid,
        start_ticks: holder.start_ticks,
        boot_id: holder.boot_id.clone(),
    })
}

/// Opens the holder of the live run, so that its death ends the wait for a change it won't make.
pub(crate) fn holder_of(session: &Session) -> Option<ProcessHandle> {
    holder_identity(session)?.open().ok().flatten()
}

/// Tells whether the holder of the live run is alive, as far as can be told.
pub(crate) fn holder_lives(session: &Session) -> bool {
    // A run without a recorded holder is just being started.
    holder_identity(session).is_none_or(|holder| holder.is_alive().unwrap_or(true))
}

fn failed(session: SessionId, error: &std::io::Error) -> Report {
    let message = format!("can't wait for session {session}: {}", chain(error));
    Report::new(Code::WatchFailed, message).next(format!("creel wait {session}"))
}
