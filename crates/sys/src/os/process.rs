//! Who a process is, beyond a number that is given out again.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
pub use rustix::process::Signal;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::os::poll::wait_readable;
use crate::os::tree::ProcessEntry;
use crate::os::{boot, proc_stat};

/// One process of one boot: the pid alone is reused, these three together are not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    pub start_ticks: u64,
    /// The boot it started in.
    pub boot_id: String,
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.pid, self.start_ticks)
    }
}

impl ProcessIdentity {
    /// Returns the identity of whoever has `pid` now; `None` when nobody has. A zombie still has it.
    pub fn of(pid: i32) -> io::Result<Option<Self>> {
        let Some(entry) = read_entry(pid)? else { return Ok(None) };
        Ok(Some(Self { pid, start_ticks: entry.start_ticks, boot_id: boot::boot_id()? }))
    }

    /// Returns the identity of the calling process.
    pub fn current() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self::of(pid)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Tells whether this very process runs. Zombies count as dead.
    pub fn is_alive(&self) -> io::Result<bool> {
        if self.boot_id != boot::boot_id()? {
            return Ok(false);
        }
        let entry = read_entry(self.pid)?;
        Ok(entry.is_some_and(|entry| entry.start_ticks == self.start_ticks && !entry.is_dead()))
    }

    /// Opens a handle that keeps meaning this process; `None` when it is gone.
    pub fn open(&self) -> io::Result<Option<ProcessHandle>> {
        let Some(pid) = (self.pid > 0).then(|| Pid::from_raw(self.pid)).flatten() else {
            return Ok(None);
        };
        let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // Checked after opening: whoever had the pid then and is not this process can't have been
        // replaced by it since, as this process is older than the call.
        if self.is_alive()? { Ok(Some(ProcessHandle { pidfd })) } else { Ok(None) }
    }

    /// Sends a signal to this very process; false when it is gone.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        match self.open()? {
            Some(handle) => handle.signal(signal),
            None => Ok(false),
        }
    }

    /// Waits until the process has ended; false when `within` passed first.
    pub fn wait_gone(&self, within: Duration) -> io::Result<bool> {
        match self.open()? {
            Some(handle) => handle.wait_gone(within),
            None => Ok(true),
        }
    }
}

/// An open process. Readable (see [`wait_readable`]) once the process has ended.
#[derive(Debug)]
pub struct ProcessHandle {
    pidfd: OwnedFd,
}

impl ProcessHandle {
    /// Opens a child that the caller has not reaped, so that its pid can't have been reused.
    pub(super) fn of_child(pid: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or(Errno::SRCH)?;
        Ok(Self { pidfd: pidfd_open(pid, PidfdFlags::empty())? })
    }

    /// Sends a signal; false when the process is gone.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        match pidfd_send_signal(&self.pidfd, signal) {
            Ok(()) => Ok(true),
            Err(Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has ended; false when `within` passed first.
    pub fn wait_gone(&self, within: Duration) -> io::Result<bool> {
        Ok(!wait_readable(&[self.as_fd()], within)?.is_empty())
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// Reads the entry of one process; `None` when the pid is free.
pub(super) fn read_entry(pid: i32) -> io::Result<Option<ProcessEntry>> {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(text) => match proc_stat::parse(&text) {
            Some(entry) => Ok(Some(entry)),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "unreadable /proc stat line")),
        },
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Tells whether an error on a file of `/proc/<pid>` means that the process has ended.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests;
