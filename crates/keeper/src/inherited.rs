//! The fixed numbers under which a holder and a keeper find what they inherit.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};

/// The run's [`Order`](crate::order::Order), read by position so that many can read it.
pub(crate) const ORDER: RawFd = 3;
/// The session's lease.
pub(crate) const LEASE: RawFd = 4;
/// A holder's pipe to its launcher.
pub(crate) const WORD: RawFd = 5;
/// A keeper's socket to its holder.
pub(crate) const CONTROL: RawFd = 5;
/// The run's listening socket.
pub(crate) const LISTENER: RawFd = 6;
/// The reading end of the agent's standard output.
pub(crate) const STDOUT: RawFd = 7;
/// The reading end of the agent's standard error.
pub(crate) const STDERR: RawFd = 8;
/// The master of the agent's terminal, in the place of its standard output.
pub(crate) const TERMINAL: RawFd = STDOUT;
/// How far keepers have read a terminal; see [`Progress`](crate::progress::Progress).
pub(crate) const PROGRESS: RawFd = 9;

/// Takes an inherited descriptor into ownership and marks it close-on-exec. To be called once for
/// each number, before the process opens anything itself.
pub(crate) fn take(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only handed to a call that fails when the number is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(borrowed, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, as was just seen, and comes from the parent: nothing in this process
    // owns it yet.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Duplicates a descriptor, close-on-exec.
pub(crate) fn duplicate(fd: impl AsFd) -> io::Result<OwnedFd> {
    fd.as_fd().try_clone_to_owned()
}
