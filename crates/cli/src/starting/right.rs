//! The right to start a run: the session's lease, with everything of its last run proven dead.

use std::time::{Duration, Instant};

use creel_keeper::takeover::Unproven;
use creel_keeper::{TakenOver, TakeoverError, TakeoverOptions};
use creel_record::{Refusal, SessionId};
use creel_spool::{LeaseError, Store, TransactError};

use crate::codes::Code;
use crate::convert::write_failure_in;
use crate::report::{Report, chain};

/// How long a run that is on its way out may take to be gone: the grace after a return, the grace
/// of an end, and twice as much again for a busy machine.
const LEAVING_PATIENCE: Duration = Duration::from_secs(60);

/// How long a short hold of the lease is waited for: somebody who looks at a session and finds
/// nothing to do, or a run whose recorded end is followed by a decision.
const SHORT_PATIENCE: Duration = Duration::from_secs(10);

/// What is done about processes that may belong to the last run and can't be proven to be dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Nothing is started, and they are listed.
    Refuse,
    /// A person says that they don't matter.
    Ignore,
}

/// How long the lease is waited for until it is seen what its holder did with it. A lease that is
/// only looked at comes free much sooner, which ends the wait.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// How long the lease is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Not at all: whoever has it does what is to be done.
    Never,
    /// As long as no run that works is in the way: one that has returned is on its way out.
    WhileLeaving,
    /// As long as it takes to end what a dead holder left: its keeper does that, if it lives.
    AfterDeath,
}

/// Wins the right to start a run of a session; none when another has it and keeps it.
///
/// # Errors
/// When what is left of the last run can't be proven dead, or the store can't be used.
pub(crate) fn win(
    store: &Store,
    id: SessionId,
    (doubt, patience): (Doubt, Patience),
) -> Result<Option<TakenOver>, Report> {
    let unproven = match doubt {
        Doubt::Refuse => Unproven::Refuse,
        Doubt::Ignore => Unproven::Accept,
    };
    let options = TakeoverOptions { unproven, ..TakeoverOptions::default() };
    let begun = Instant::now();
    let mut wait = Duration::ZERO;
    loop {
        match creel_keeper::takeover(store, id, &options) {
            Ok(taken) => return Ok(Some(taken)),
            Err(TakeoverError::Live { .. }) => {}
            Err(error) => return Err(not_won((store, id), &error)),
        }
        let longer = match patience {
            Patience::Never => None,
            Patience::WhileLeaving => patience_with(store, id)?,
            Patience::AfterDeath => Some(LEAVING_PATIENCE),
        };
        // What was on its way out may be recorded as ended by now, and is waited for all the same.
        wait = wait.max(longer.unwrap_or_default());
        if longer.is_none() || begun.elapsed() >= wait {
            return Ok(None);
        }
        wait_for_lease(store, id)?;
    }
}

/// Waits in the kernel until the lease is free, or a moment has passed. It is let go again, since a
/// takeover takes it itself.
///
/// # Errors
/// When the store can't be used.
pub(crate) fn wait_for_lease(store: &Store, id: SessionId) -> Result<(), Report> {
    drop(store.lease_within(id, LOOK_AGAIN_AFTER)?);
    Ok(())
}

fn not_won((store, id): (&Store, SessionId), error: &TakeoverError) -> Report {
    match error {
        TakeoverError::Suspects { .. } => {
            let message = format!("{}; nothing was started", chain(error));
            Report::new(Code::MaybeAlive, message)
                .next(format!("end them, or: creel reconcile {id} --force-lost"))
        }
        TakeoverError::OtherMachine { .. } => {
            Report::of(Code::MaybeAlive, error).next("the same command on that machine")
        }
        TakeoverError::Lease { source: LeaseError::ReadOnly { .. }, .. } => {
            Report::of(Code::ReadOnlyStore, error).next("creel scope")
        }
        TakeoverError::Lease { source: LeaseError::Io { path, .. }, .. } => {
            Report::of(Code::NotWritten, error).next(format!("ls -l {}", path.display()))
        }
        TakeoverError::Record { source: TransactError::Write(source), .. } => {
            write_failure_in(store, source)
        }
        TakeoverError::Live { .. }
        | TakeoverError::Scan { .. }
        | TakeoverError::Record { source: TransactError::Refused(_), .. } => {
            Report::of(Code::Internal, error).next(format!("creel inspect {id}"))
        }
    }
}

/// Returns how long the holder of the lease is waited for; none when its run works.
fn patience_with(store: &Store, id: SessionId) -> Result<Option<Duration>, Report> {
    let session = store.read(id)?.snapshot.session;
    Ok(match session.live_run() {
        Some(run) if run.is_returned() || run.end_requested.is_some() => Some(LEAVING_PATIENCE),
        Some(_) => None,
        None => Some(SHORT_PATIENCE),
    })
}

/// Returns the refusal of a start while another has the lease.
pub(crate) fn held(store: &Store, id: SessionId) -> Report {
    match store.read(id).map(|published| published.snapshot.session) {
        Ok(session) if session.live_run().is_some() => {
            Refusal::RunLive { session: id, number: session.run_count }.into()
        }
        _ => {
            let message = format!("another process starts or ends a run of session {id}");
            Report::new(Code::RunLive, message).next(format!("creel wait {id}"))
        }
    }
}
