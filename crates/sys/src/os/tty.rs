//! A person's own terminal: raw while somebody else's screen is shown on it, and as it was after.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use crate::Deadline;
use crate::os::poll::wait_writable;

/// Tells whether a descriptor is a terminal.
#[must_use]
pub fn is_terminal(fd: impl AsFd) -> bool {
    isatty(fd)
}

/// Returns the settings of a terminal's line, to be compared.
///
/// # Errors
/// When it is no terminal.
pub fn settings_of(terminal: impl AsFd) -> io::Result<Termios> {
    Ok(tcgetattr(terminal)?)
}

/// A terminal in raw mode; dropping it restores what was.
#[derive(Debug)]
pub struct RawMode {
    saved: Restorer,
}

/// What brings a terminal back to how it was; for handlers of the last resort.
#[derive(Clone, Debug)]
pub struct Restorer {
    saved: Arc<(OwnedFd, Termios)>,
}

impl RawMode {
    /// Turns raw mode on.
    ///
    /// # Errors
    /// When it is no terminal.
    pub fn enter(terminal: impl AsFd) -> io::Result<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        Ok(Self { saved: Restorer { saved: Arc::new((terminal, before)) } })
    }

    /// Returns another handle to restore by.
    #[must_use]
    pub fn restorer(&self) -> Restorer {
        self.saved.clone()
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.saved.restore();
    }
}

impl Restorer {
    /// Restores the terminal; a second time changes nothing.
    pub fn restore(&self) {
        let (terminal, before) = &*self.saved;
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(terminal, OptionalActions::Now, before);
    }
}

/// Writes to a terminal as much as it takes within a time: one that is stopped takes nothing.
///
/// # Errors
/// When it is gone.
pub fn write_within(terminal: impl AsFd, bytes: &[u8], within: Duration) -> io::Result<usize> {
    let deadline = Deadline::after(within);
    let mut done = 0;
    while done < bytes.len() {
        if wait_writable(&[terminal.as_fd()], deadline.remaining())?.is_empty() {
            break;
        }
        // No more at once than a terminal that can be written has room for.
        let end = bytes.len().min(done + WRITE_BYTES);
        match rustix::io::write(&terminal, &bytes[done..end]) {
            Ok(count) => done += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

/// What a terminal that can be written takes without waiting, in bytes.
const WRITE_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pty::{Pty, Size};

    #[test]
    fn a_terminal_is_as_it_was_after_raw_mode() {
        let pty = Pty::open(Size { columns: 80, lines: 24 }).expect("a terminal");
        let modes = || {
            let found = tcgetattr(&pty.slave).expect("a terminal");
            (found.local_modes, found.input_modes, found.output_modes, found.control_modes)
        };
        let before = modes();
        let raw = RawMode::enter(&pty.slave).expect("a terminal");
        assert_ne!(modes(), before);
        let restorer = raw.restorer();
        drop(raw);
        assert_eq!(modes(), before);
        restorer.restore();
        assert_eq!(modes(), before);
        assert!(is_terminal(&pty.master));
        assert!(!is_terminal(std::fs::File::open("/dev/null").expect("a device")));
    }
}
