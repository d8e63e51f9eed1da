//! Waiting for a lock with a deadline.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::Deadline;
use crate::fs::LockMode;

/// A blocking `flock` on its own thread, since `flock` knows no deadline.
///
/// The thread works on a duplicate of the descriptor, hence on the same open file description:
/// what it takes, the caller has. It closes its duplicate before it reports, so that from then on
/// only the caller's descriptor keeps the lock.
///
/// Invariant: a lock that arrives after its caller gave up is unlocked by the thread.
#[derive(Debug)]
pub(super) struct LockWait {
    mode: LockMode,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
enum State {
    Wanted,
    Abandoned,
    /// Whether the lock was kept, or why the wait failed.
    Ended(Result<bool, Errno>),
}

impl LockWait {
    /// Starts waiting for `mode` on the open file description of `file`.
    pub(super) fn start(file: OwnedFd, mode: LockMode) -> io::Result<Arc<Self>> {
        let wait =
            Arc::new(Self { mode, state: Mutex::new(State::Wanted), changed: Condvar::new() });
        let worker = Arc::clone(&wait);
        thread::Builder::new()
            .name("creel-flock".to_owned())
            .spawn(move || worker.work(file))
            .map(|_detached| wait)
    }

    fn work(&self, file: OwnedFd) {
        let taken = flock_blocking(&file, self.mode);
        let mut state = self.state();
        let kept = match (taken, &*state) {
            (Ok(()), State::Abandoned) => flock(&file, FlockOperation::Unlock).map(|()| false),
            (Ok(()), _) => Ok(true),
            (Err(error), _) => Err(error),
        };
        drop(file);
        *state = State::Ended(kept);
        self.changed.notify_all();
    }

    pub(super) fn mode(&self) -> LockMode {
        self.mode
    }

    pub(super) fn is_ended(&self) -> bool {
        matches!(*self.state(), State::Ended(_))
    }

    /// Wants the lock again after giving up on it; false when the wait had ended by then.
    pub(super) fn resume(&self) -> bool {
        let mut state = self.state();
        match *state {
            State::Ended(_) => false,
            State::Wanted | State::Abandoned => {
                *state = State::Wanted;
                true
            }
        }
    }

    /// Waits for the lock; gives up on it when `deadline` passes.
    pub(super) fn wait(&self, deadline: Deadline) -> io::Result<bool> {
        let mut state = self.wait_ended(deadline);
        match &*state {
            State::Ended(kept) => (*kept).map_err(Into::into),
            State::Wanted | State::Abandoned => {
                *state = State::Abandoned;
                Ok(false)
            }
        }
    }

    /// Waits until the thread is done, wanting nothing; false when `deadline` passed first.
    pub(super) fn wait_done(&self, deadline: Deadline) -> bool {
        matches!(*self.wait_ended(deadline), State::Ended(_))
    }

    /// Takes the lock at once if it is free, while the thread still waits for the same mode.
    /// `None`: the thread ended meanwhile, so the caller can go on as if it had never been.
    pub(super) fn adopt(&self, file: BorrowedFd<'_>) -> io::Result<Option<bool>> {
        let mut state = self.state();
        if matches!(*state, State::Ended(_)) {
            return Ok(None);
        }
        if !flock_at_once(file, self.mode)? {
            return Ok(Some(false));
        }
        // The thread's own request no longer conflicts with anything: it comes back now, finds
        // itself wanted, and closes its duplicate.
        *state = State::Wanted;
        drop(state);
        self.wait_done(Deadline::after(crate::MAX_WAIT));
        Ok(Some(true))
    }

    fn wait_ended(&self, deadline: Deadline) -> MutexGuard<'_, State> {
        let mut state = self.state();
        while !matches!(*state, State::Ended(_)) && !deadline.is_past() {
            state = self
                .changed
                .wait_timeout(state, deadline.remaining())
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a lock if it is free; false when another open file description holds it.
pub(super) fn flock_at_once(file: BorrowedFd<'_>, mode: LockMode) -> io::Result<bool> {
    let operation = match mode {
        LockMode::Shared => FlockOperation::NonBlockingLockShared,
        LockMode::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn flock_blocking(file: &OwnedFd, mode: LockMode) -> Result<(), Errno> {
    let operation = match mode {
        LockMode::Shared => FlockOperation::LockShared,
        LockMode::Exclusive => FlockOperation::LockExclusive,
    };
    loop {
        match flock(file, operation) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
