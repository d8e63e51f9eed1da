//! The faults of a run, as the environment spells them.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// How many lines of the log are kept; far more than any test's scenario has.
const MAX_LOG_LINES: usize = 65_536;

/// The error an operation fails with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultErrno {
    /// `EIO`: the device failed.
    Io,
    /// `ENOSPC`: the device is full.
    NoSpace,
}

impl From<FaultErrno> for io::Error {
    fn from(errno: FaultErrno) -> Self {
        match errno {
            FaultErrno::Io => Errno::IO.into(),
            FaultErrno::NoSpace => Errno::NOSPC.into(),
        }
    }
}

/// What happens at the chosen operation. The words are those of the variable `CREEL_FAULT`, each
/// followed by `:n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `eio`, `enospc` (once), `eio-from`, `enospc-from` (from then on): it has no effect and
    /// fails.
    Fail(FaultErrno),
    /// `short`: a write takes half and says so, and the write after it fails with `ENOSPC`, as on
    /// a disk that fills up. Any other operation fails with `ENOSPC`.
    ShortWrite,
    /// `eio-after`: it has its effect and reports `EIO`.
    FailAfter,
    /// `crash`: it and all later operations fail, those that only read included.
    Crash,
    /// `kill`: the process gets `SIGKILL` before it has an effect.
    Kill,
    /// `kill-short`: a write takes half, then the process gets `SIGKILL`; like `kill` at any
    /// other operation.
    KillShort,
}

/// What is to be done with one operation.
#[derive(Debug)]
pub(super) enum Step {
    Go,
    GoThenFail(FaultErrno),
    Half,
    HalfThenKill,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    armed: Option<(RangeInclusive<u64>, Fault)>,
    is_crashed: bool,
    /// A write was cut short, so that the next one finds the disk full.
    is_full: bool,
    count: u64,
    log: VecDeque<String>,
}

impl Script {
    pub(super) fn arm(&self, at: RangeInclusive<u64>, fault: Fault) {
        *self.state() = State { armed: Some((at, fault)), ..State::default() };
    }

    #[cfg(any(test, feature = "test-hooks"))]
    pub(super) fn arm_spec(&self, spec: &str) -> io::Result<()> {
        let (at, fault) = parse_spec(spec).ok_or_else(|| {
            let message = format!("CREEL_FAULT={spec:?} is not of the form kill:7");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        self.arm(at, fault);
        Ok(())
    }

    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.armed = None;
        state.is_crashed = false;
        state.is_full = false;
    }

    pub(super) fn count(&self) -> u64 {
        self.state().count
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.state().log.iter().cloned().collect()
    }

    /// Fails after a crash.
    pub(super) fn check_running(&self) -> io::Result<()> {
        if self.state().is_crashed { Err(crashed()) } else { Ok(()) }
    }

    /// Runs an operation that isn't a write.
    pub(super) fn run<T>(
        &self,
        line: fmt::Arguments<'_>,
        op: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        match self.state().step(line.to_string())? {
            Step::Go => op(),
            Step::GoThenFail(errno) => {
                op()?;
                Err(errno.into())
            }
            Step::Half => Err(FaultErrno::NoSpace.into()),
            Step::HalfThenKill => kill_self(),
        }
    }

    /// Decides about a write.
    pub(super) fn step_write(&self, line: String, len_bytes: usize) -> io::Result<Step> {
        let mut state = self.state();
        let step = state.step(line)?;
        // A single byte can't be cut in half.
        let is_uncuttable = matches!(step, Step::Half) && len_bytes < 2;
        if std::mem::take(&mut state.is_full) || is_uncuttable {
            return Err(FaultErrno::NoSpace.into());
        }
        state.is_full = matches!(step, Step::Half);
        Ok(step)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn step(&mut self, line: String) -> io::Result<Step> {
        if self.is_crashed {
            return Err(crashed());
        }
        self.count += 1;
        if self.log.len() == MAX_LOG_LINES {
            self.log.pop_front();
        }
        self.log.push_back(line);
        let fault = match &self.armed {
            Some((at, fault)) if at.contains(&self.count) => *fault,
            _ => return Ok(Step::Go),
        };
        match fault {
            Fault::Fail(errno) => Err(errno.into()),
            Fault::ShortWrite => Ok(Step::Half),
            Fault::FailAfter => Ok(Step::GoThenFail(FaultErrno::Io)),
            Fault::Crash => {
                self.is_crashed = true;
                Err(crashed())
            }
            Fault::Kill => kill_self(),
            Fault::KillShort => Ok(Step::HalfThenKill),
        }
    }
}

fn crashed() -> io::Error {
    io::Error::other("crashed by a fault")
}

/// Ends this process as `kill -9` does. Returns only should that fail.
pub(super) fn kill_self<T>() -> io::Result<T> {
    kill_process(getpid(), Signal::KILL)?;
    Err(crashed())
}

#[cfg(any(test, feature = "test-hooks"))]
fn parse_spec(spec: &str) -> Option<(RangeInclusive<u64>, Fault)> {
    let (word, at) = spec.split_once(':')?;
    let at: u64 = at.parse().ok().filter(|at| *at > 0)?;
    let (word, until) = match word.strip_suffix("-from") {
        Some(word) => (word, u64::MAX),
        None => (word, at),
    };
    let fault = match word {
        "eio" => Fault::Fail(FaultErrno::Io),
        "enospc" => Fault::Fail(FaultErrno::NoSpace),
        "short" => Fault::ShortWrite,
        "eio-after" => Fault::FailAfter,
        "crash" => Fault::Crash,
        "kill" => Fault::Kill,
        "kill-short" => Fault::KillShort,
        _ => return None,
    };
    Some((at..=until, fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spec: &str, expected: Option<(u64, u64, Fault)>) {
        let is_spec = expected.is_some();
        let expected = expected.map(|(from, to, fault)| (from..=to, fault));
        assert_eq!(parse_spec(spec), expected, "{spec}");
        assert_eq!(Script::default().arm_spec(spec).is_ok(), is_spec, "{spec}");
    }

    #[test]
    fn a_spec_names_a_fault_and_an_operation() {
        check("kill:7", Some((7, 7, Fault::Kill)));
        check("kill-short:1", Some((1, 1, Fault::KillShort)));
        check("eio:3", Some((3, 3, Fault::Fail(FaultErrno::Io))));
        check("eio-after:3", Some((3, 3, Fault::FailAfter)));
        check("enospc:2", Some((2, 2, Fault::Fail(FaultErrno::NoSpace))));
        check("enospc-from:2", Some((2, u64::MAX, Fault::Fail(FaultErrno::NoSpace))));
        check("short:4", Some((4, 4, Fault::ShortWrite)));
        check("crash:9", Some((9, 9, Fault::Crash)));
    }

    #[test]
    fn another_spec_is_refused() {
        for spec in ["", "kill", "kill:", "kill:0", "kill:-1", "burn:1", "kill:1:2", ":1"] {
            check(spec, None);
        }
    }
}
