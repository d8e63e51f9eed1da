//! Waiting for descriptors to become readable, with a deadline that survives interruptions.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::Deadline;

/// Waits until some of `fds` are readable, closed by their peer, or failed.
///
/// Returns their positions in `fds`, in order; empty when `within` passed first.
pub fn wait_readable(fds: &[BorrowedFd<'_>], within: Duration) -> io::Result<Vec<usize>> {
    wait_for(fds, PollFlags::IN, within)
}

/// Waits until some of `fds` can be written or failed; like [`wait_readable`].
pub fn wait_writable(fds: &[BorrowedFd<'_>], within: Duration) -> io::Result<Vec<usize>> {
    wait_for(fds, PollFlags::OUT, within)
}

/// Waits as [`wait_readable`] does, and also until nobody takes what is written to `outlet` any
/// more; its position is that after the last of `fds`.
pub fn wait_readable_or_closed(
    fds: &[BorrowedFd<'_>],
    outlet: BorrowedFd<'_>,
    within: Duration,
) -> io::Result<Vec<usize>> {
    let polled = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN));
    // Errors and hang-ups are told without being asked for.
    let outlet = PollFd::from_borrowed_fd(outlet, PollFlags::empty());
    wait(polled.chain([outlet]).collect(), within)
}

fn wait_for(fds: &[BorrowedFd<'_>], flags: PollFlags, within: Duration) -> io::Result<Vec<usize>> {
    wait(fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, flags)).collect(), within)
}

fn wait(mut polled: Vec<PollFd<'_>>, within: Duration) -> io::Result<Vec<usize>> {
    let deadline = Deadline::after(within);
    loop {
        let timeout = timespec(deadline.remaining());
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(polled
        .iter()
        .enumerate()
        .filter_map(|(at, fd)| (!fd.revents().is_empty()).then_some(at))
        .collect())
}

/// What is awaited of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// That it can be read.
    Read,
    /// That it can be written.
    Write,
    /// Either.
    Both,
    /// Neither, but that its peer closed it or it failed.
    End,
}

/// A descriptor that something can be done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Its position among those that were waited for.
    pub at: usize,
    /// A read would not wait: there are bytes, or the end, or a failure.
    pub can_read: bool,
    /// A write would not wait.
    pub can_write: bool,
}

/// Waits like [`wait_readable`], for something else on each descriptor.
pub fn wait_any(fds: &[(BorrowedFd<'_>, Interest)], within: Duration) -> io::Result<Vec<Ready>> {
    let deadline = Deadline::after(within);
    let mut polled: Vec<PollFd<'_>> = fds
        .iter()
        .map(|(fd, interest)| {
            PollFd::from_borrowed_fd(
                *fd,
                match interest {
                    Interest::Read => PollFlags::IN,
                    Interest::Write => PollFlags::OUT,
                    Interest::Both => PollFlags::IN | PollFlags::OUT,
                    Interest::End => PollFlags::empty(),
                },
            )
        })
        .collect();
    loop {
        match poll(&mut polled, Some(&timespec(deadline.remaining()))) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let failed = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let ready = polled.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty());
    Ok(ready
        .map(|(at, fd)| Ready {
            at,
            can_read: fd.revents().intersects(PollFlags::IN | failed),
            can_write: fd.revents().intersects(PollFlags::OUT),
        })
        .collect())
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: duration.subsec_nanos().into() }
}
