//! How processes end: collecting children, and being the one orphans come to.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, WaitStatus, getpid, set_child_subreaper,
    wait, waitid,
};
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

impl Exit {
    /// Tells whether it exited with code 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => write!(f, "signal {number}"),
        }
    }
}

/// A child that was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// The pid it had; free from now on.
    pub pid: i32,
    /// How it ended.
    pub exit: Exit,
}

/// Makes the calling process the one that orphans among its descendants come to, so that none of
/// them gets away by forking twice. Not inherited by children.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Collects every child that has ended, orphans that came to us included. Never waits.
///
/// Takes the exits of all children of the process: not for use beside `std::process`.
pub fn reap_all() -> io::Result<Vec<Reaped>> {
    let mut reaped = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                reaped.extend(to_exit(status).map(|exit| Reaped { pid: raw(pid), exit }));
            }
            Ok(None) | Err(Errno::CHILD) => return Ok(reaped),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Collects one child if it has ended. Never waits.
pub(super) fn reap_one(pidfd: BorrowedFd<'_>) -> io::Result<Option<Exit>> {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        match waitid(WaitId::PidFd(pidfd.as_fd()), options) {
            Ok(status) => return Ok(status.as_ref().and_then(to_exit_of_id)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn to_exit(status: WaitStatus) -> Option<Exit> {
    status.exit_status().map(Exit::Code).or(status.terminating_signal().map(Exit::Signal))
}

fn to_exit_of_id(status: &WaitIdStatus) -> Option<Exit> {
    status.exit_status().map(Exit::Code).or(status.terminating_signal().map(Exit::Signal))
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

#[cfg(test)]
mod tests;
