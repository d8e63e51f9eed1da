//! Ending the agent's processes, each attempt on a thread of its own so that the holder goes on
//! listening through the grace.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::say::say;
use creel_api::keeper::MAX_SURVIVORS;
use creel_sys::end_tree::{Ended, Pressure, end_tree};
use creel_sys::process::Signal;
use creel_sys::session::{SessionQuery, Suspect};
use creel_sys::{Deadline, MAX_WAIT};

/// How long processes may take to go once they are killed, before the attempt counts as failed.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// Pause before the next attempt on what outlived one; doubled each time.
const FIRST_RETRY: Duration = Duration::from_millis(500);

/// The longest pause: what outlives a kill waits for a disk or belongs to somebody else.
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Attempts under way together: gentle ones, and harder ones that overtake them.
const MAX_ATTEMPTS: usize = 4;

/// The pid of the keeper, which no sweep may take for one of the agent's processes. Locked while a
/// keeper is started and while processes are looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct KeeperPid(Arc<Mutex<Option<i32>>>);

impl KeeperPid {
    /// Runs `start` while no sweep looks, and notes the pid it returns.
    pub(super) fn set_by<E>(&self, start: impl FnOnce() -> Result<i32, E>) -> Result<(), E> {
        let mut pid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *pid = Some(start()?);
        Ok(())
    }

    fn find(&self, query: &mut SessionQuery) -> io::Result<Vec<Suspect>> {
        let pid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        query.exempt = pid.iter().copied().collect::<BTreeSet<_>>();
        query.find()
    }
}

struct Attempt {
    /// When what does not go by itself is killed.
    kills_at: Instant,
    result: Receiver<io::Result<Ended>>,
    /// At its end once the attempt is over, however that came about.
    done: PipeReader,
}

/// All attempts on one tree.
pub(super) struct Sweeps {
    query: SessionQuery,
    keeper_pid: KeeperPid,
    attempts: Vec<Attempt>,
    retry: Option<Deadline>,
    pause: Duration,
    is_proven_dead: bool,
}

impl fmt::Debug for Sweeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweeps").field("attempts", &self.attempts.len()).finish_non_exhaustive()
    }
}

impl Sweeps {
    pub(super) fn new(query: SessionQuery, keeper_pid: KeeperPid) -> Self {
        Self {
            query,
            keeper_pid,
            attempts: Vec::new(),
            retry: None,
            pause: FIRST_RETRY,
            is_proven_dead: false,
        }
    }

    /// Starts an attempt, unless one is under way that kills as early.
    pub(super) fn start(&mut self, signal: Signal, grace: Duration) {
        let grace = if signal == Signal::KILL { Duration::ZERO } else { grace.min(MAX_WAIT) };
        let kills_at = Instant::now() + grace;
        let is_late = self.attempts.iter().any(|attempt| attempt.kills_at <= kills_at);
        if is_late || self.attempts.len() >= MAX_ATTEMPTS {
            return;
        }
        self.retry = None;
        match self.try_start((signal, grace), kills_at) {
            Ok(attempt) => self.attempts.push(attempt),
            Err(error) => {
                say!("creel hold: can't start to end the agent: {error}");
                self.retry_later();
            }
        }
    }

    fn try_start(
        &self,
        (signal, grace): (Signal, Duration),
        kills_at: Instant,
    ) -> io::Result<Attempt> {
        let (done, over) = io::pipe()?;
        let (send, result) = sync_channel(1);
        let mut query = self.query.clone();
        let keeper_pid = self.keeper_pid.clone();
        let pressure = Pressure { first: signal, grace, limit: grace.saturating_add(KILL_WITHIN) };
        thread::Builder::new().name("sweep".to_owned()).spawn(move || {
            let ended = end_tree(|| keeper_pid.find(&mut query), pressure);
            // The holder only drops the receiver when it leaves.
            let _ = send.send(ended);
            drop(over);
        })?;
        Ok(Attempt { kills_at, result, done })
    }

    pub(super) fn done_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.attempts.iter().map(|attempt| attempt.done.as_fd())
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        self.retry
    }

    pub(super) fn retry_if_due(&mut self) {
        if self.retry.is_some_and(Deadline::is_past) {
            self.start(Signal::KILL, Duration::ZERO);
        }
    }

    /// Takes the outcome of attempts that are over; returns who outlived one.
    pub(super) fn collect(&mut self) -> Option<Vec<Suspect>> {
        let mut survivors = None;
        let mut open = Vec::new();
        let attempts = std::mem::take(&mut self.attempts);
        let was_trying = !attempts.is_empty();
        for attempt in attempts {
            match attempt.result.try_recv() {
                Err(TryRecvError::Empty) => open.push(attempt),
                Ok(Ok(ended)) if ended.is_proven_dead() => self.is_proven_dead = true,
                Ok(Ok(ended)) => {
                    survivors = Some(ended.survivors.into_iter().take(MAX_SURVIVORS).collect());
                }
                Ok(Err(error)) => say!("creel hold: can't end the agent: {error}"),
                Err(TryRecvError::Disconnected) => {
                    say!("creel hold: an attempt to end the agent broke off");
                }
            }
        }
        self.attempts = open;
        if was_trying && self.attempts.is_empty() && !self.is_proven_dead {
            self.retry_later();
        }
        survivors
    }

    pub(super) fn is_proven_dead(&self) -> bool {
        self.is_proven_dead
    }

    fn retry_later(&mut self) {
        self.retry = Some(Deadline::after(self.pause));
        self.pause = (self.pause * 2).min(LAST_RETRY);
    }
}
