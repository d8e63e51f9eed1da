//! The person's own terminal while a session is shown on it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use creel_api::plan::TerminalSize;
use creel_sys::pty;
use creel_sys::tty::{RawMode, is_terminal, write_within};
use creel_term::{Options, Size, Terminal};

use crate::codes::Code;
use crate::report::{Report, chain};

/// How long a terminal may take for what brings it back to how it was. One that is stopped by its
/// person takes nothing.
const FAREWELL_WITHIN: Duration = Duration::from_secs(2);

/// What is known of the modes that were set on the person's terminal.
type Shown = Arc<Mutex<Option<Terminal>>>;

/// The terminal. Dropping it brings it back to how it was.
pub(super) struct OwnTerminal {
    input: File,
    output: File,
    unshown: Vec<u8>,
    shown: Shown,
    raw: Option<RawMode>,
    farewell: Vec<String>,
}

impl OwnTerminal {
    /// Opens the terminal that standard input and output are.
    pub(super) fn open() -> Result<Self, Report> {
        if !is_terminal(io::stdin()) || !is_terminal(io::stdout()) {
            let message = "standard input and output are no terminal to show a session on";
            return Err(Report::new(Code::NotATerminal, message).next("creel terminal read ID"));
        }
        let duplicate = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from);
        let open = || -> io::Result<(File, File)> {
            Ok((duplicate(io::stdin().as_fd())?, duplicate(io::stdout().as_fd())?))
        };
        let (input, output) = open().map_err(|error| {
            let message = format!("the terminal can't be used: {}", chain(&error));
            Report::new(Code::NotATerminal, message).next("creel terminal read ID")
        })?;
        let shown = Shown::default();
        Ok(Self { input, output, unshown: Vec::new(), shown, raw: None, farewell: Vec::new() })
    }

    /// Turns raw mode on, to be turned off whatever happens.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let raw = RawMode::enter(&self.input)?;
        let (restorer, shown) = (raw.restorer(), Arc::clone(&self.shown));
        let output = self.output.try_clone()?;
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            leave(&output, &shown);
            restorer.restore();
            before(info);
        }));
        self.raw = Some(raw);
        Ok(())
    }

    pub(super) fn size(&self) -> Option<TerminalSize> {
        size_of(&self.output)
    }

    pub(super) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }

    pub(super) fn unshown_bytes(&self) -> usize {
        self.unshown.len()
    }

    /// The session's terminal has this size.
    pub(super) fn resize(&mut self, size: TerminalSize) {
        let Ok(size) = Size::new(size.columns, size.lines) else { return };
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match shown.as_mut() {
            Some(shown) => shown.resize(size),
            None => {
                let options = Options { history_max_lines: 0, ..Options::new(size) };
                *shown = Some(Terminal::new(options));
            }
        }
    }

    /// Adds what is to be shown.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.unshown.extend_from_slice(bytes);
    }

    /// Shows as much as the terminal takes without waiting.
    pub(super) fn show(&mut self) -> io::Result<()> {
        let count = write_within(&self.output, &self.unshown, Duration::ZERO)?;
        let shown: Vec<u8> = self.unshown.drain(..count).collect();
        if let Some(terminal) = self.shown.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            terminal.feed(&shown);
        }
        Ok(())
    }

    /// Keeps a line that is to be said once the terminal is the person's again.
    pub(super) fn farewell(&mut self, text: &str) {
        self.farewell.push(text.to_owned());
    }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        if self.raw.take().is_some() {
            // What is left of a last screen is worth a moment.
            if write_within(&self.output, &self.unshown, FAREWELL_WITHIN).is_ok()
                && let Some(terminal) =
                    self.shown.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
            {
                terminal.feed(&self.unshown);
            }
            leave(&self.output, &self.shown);
            // The hook of the last resort has nothing left to do.
            if !std::thread::panicking() {
                drop(panic::take_hook());
            }
        }
        for text in &self.farewell {
            crate::output::say(text);
        }
    }
}

/// Writes what turns off everything that a session may have turned on.
fn leave(output: &File, shown: &Shown) {
    // Whoever panicked may hold the lock.
    let bytes = match shown.try_lock() {
        Ok(shown) => shown.as_ref().map(Terminal::leave),
        Err(_) => None,
    };
    let bytes = bytes.unwrap_or_else(|| {
        let size = Size::new(80, 24).map(Options::new).map(Terminal::new);
        size.map(|terminal| terminal.leave()).unwrap_or_default()
    });
    // A terminal that is gone, or stopped, takes none.
    let _ = write_within(output, &bytes, FAREWELL_WITHIN);
}

/// Returns the size of the terminal that standard output is, when it is one that a session's
/// terminal can have.
pub(crate) fn own_size() -> Option<TerminalSize> {
    size_of(io::stdout())
}

fn size_of(terminal: impl AsFd) -> Option<TerminalSize> {
    let size = pty::size_of(terminal).ok()?;
    TerminalSize::checked(size.columns.into(), size.lines.into()).ok()
}
