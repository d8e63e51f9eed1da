//! Signals as something to wait for beside other descriptors.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Signal;

/// Signals that are no longer delivered but read. Readable (see
/// [`wait_readable`](crate::poll::wait_readable)) while one is pending.
///
/// The signals stay blocked in the calling thread, and in threads it starts later, for as long as
/// they live. For a process of one thread, or before the first other thread is started: a thread
/// in which they aren't blocked would still be ended by them. Programs started by
/// [`spawn_session`](crate::spawn::spawn_session) don't inherit the block.
#[derive(Debug)]
pub struct PendingSignals {
    fd: OwnedFd,
}

impl PendingSignals {
    /// Blocks `signals` in the calling thread and opens a descriptor for them.
    pub fn block(signals: &[Signal]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` initialises the set before anything reads it; the numbers are of
        // named signals.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
            }
            set.assume_init()
        };
        // SAFETY: reads an initialised set, changes the mask of this thread only.
        let blocked =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if blocked != 0 {
            return Err(io::Error::from_raw_os_error(blocked));
        }
        // SAFETY: reads an initialised set and makes a new descriptor.
        let fd =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nobody else owns it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Takes all pending signals, each kind at most once per call of the sender's that was not
    /// merged by the kernel. Never waits.
    pub fn drain(&self) -> io::Result<Vec<Signal>> {
        let mut taken = Vec::new();
        loop {
            let mut record = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            // SAFETY: the buffer is `size` bytes long and ours.
            let read = unsafe { libc::read(self.fd.as_raw_fd(), record.as_mut_ptr().cast(), size) };
            if usize::try_from(read) == Ok(size) {
                // SAFETY: all of it is plain numbers, zeroed before and filled by the kernel.
                let number = unsafe { record.assume_init() }.ssi_signo;
                taken.extend(i32::try_from(number).ok().and_then(Signal::from_named_raw));
                continue;
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(taken),
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            }
        }
    }
}

impl AsFd for PendingSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::poll::wait_readable;

    fn check(raised: &[Signal]) {
        let pending = PendingSignals::block(raised).expect("signals can be blocked");
        assert_eq!(pending.drain().expect("nothing to read"), vec![]);
        for signal in raised {
            // SAFETY: the signal is blocked in this thread, to which `raise` sends it.
            assert_eq!(unsafe { libc::raise(signal.as_raw()) }, 0);
        }
        let ready = wait_readable(&[pending.as_fd()], Duration::from_secs(10)).expect("a poll");
        assert_eq!(ready, vec![0]);
        let mut taken = pending.drain().expect("signals");
        taken.sort_unstable_by_key(|signal| signal.as_raw());
        assert_eq!(taken, raised);
        let ready = wait_readable(&[pending.as_fd()], Duration::ZERO).expect("a poll");
        assert_eq!(ready, Vec::<usize>::new());
    }

    #[test]
    fn blocked_signals_are_read_once() {
        check(&[Signal::USR1]);
        check(&[Signal::INT, Signal::USR2, Signal::TERM]);
    }
}
