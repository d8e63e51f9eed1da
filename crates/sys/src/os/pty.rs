//! Pseudo-terminals: the pair that an agent's terminal is made of.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    InputModes, OptionalActions, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// The size of a terminal in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Cells in a line.
    pub columns: u16,
    /// Lines.
    pub lines: u16,
}

/// A new pair; both ends are close-on-exec, and neither controls this process.
#[derive(Debug)]
pub struct Pty {
    /// The end that a program's screen is read from and its keys are written to.
    pub master: OwnedFd,
    /// The end that the program gets.
    pub slave: OwnedFd,
}

impl Pty {
    /// Opens a pair of the given size.
    ///
    /// # Errors
    /// When the machine has no pair left, or the process no descriptor.
    pub fn open(size: Size) -> io::Result<Self> {
        let ours = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(ours)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        // By the master and not by a name, which may mean another device in another mount.
        let slave = ioctl_tiocgptpeer(&master, ours)?;
        let mut modes = tcgetattr(&slave)?;
        // So that erasing a character in a line erases all of its bytes.
        modes.input_modes |= InputModes::IUTF8;
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        resize(&master, size)?;
        Ok(Self { master, slave })
    }
}

/// Sets the size of a terminal, by either end; its programs are told when it is another.
///
/// # Errors
/// When it is no terminal.
pub fn resize(terminal: impl AsFd, size: Size) -> io::Result<()> {
    let Size { columns, lines } = size;
    let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}

/// Returns the size of a terminal, by either end.
///
/// # Errors
/// When it is no terminal.
pub fn size_of(terminal: impl AsFd) -> io::Result<Size> {
    let size = tcgetwinsize(terminal)?;
    Ok(Size { columns: size.ws_col, lines: size.ws_row })
}

#[cfg(test)]
mod tests;
