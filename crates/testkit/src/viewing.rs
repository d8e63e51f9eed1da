//! A program on a terminal of its own, watched by an emulator: what a person would see.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use creel_sys::Deadline;
use creel_sys::exit::Exit;
use creel_sys::poll::wait_readable;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::pty::{self, Pty};
use creel_sys::spawn::{SessionChild, SessionCommand, spawn_on_terminal};
use creel_term::{Options, Size, Terminal};

/// Far longer than anything takes; only a hang is cut.
const DEADLINE: Duration = Duration::from_secs(90);

/// The most bytes that are kept of what was shown.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// A program and the terminal it is on.
#[derive(Debug)]
pub struct Viewing {
    master: File,
    slave: OwnedFd,
    child: SessionChild,
    screen: Terminal,
    bytes: Vec<u8>,
}

impl Viewing {
    /// Starts a program.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start(
        (program, args): (PathBuf, Vec<OsString>),
        (env, cwd): (Vec<(OsString, OsString)>, PathBuf),
        (columns, lines): (u16, u16),
    ) -> Self {
        let Pty { master, slave } =
            Pty::open(pty::Size { columns, lines }).expect("a terminal can be opened");
        let end = || slave.try_clone().expect("a descriptor");
        let command = SessionCommand {
            program,
            args,
            env,
            cwd,
            stdin: end(),
            stdout: end(),
            stderr: end(),
            inherited: Vec::new(),
            cgroup: None,
        };
        let child = spawn_on_terminal(command).expect("the program can be started");
        let size = Size::new(columns, lines).expect("a size");
        let screen = Terminal::new(Options::new(size));
        Self { master: File::from(master), slave, child, screen, bytes: Vec::new() }
    }

    /// Returns the program's process.
    #[must_use]
    pub fn process(&self) -> &ProcessIdentity {
        &self.child.identity
    }

    /// Returns the emulated screen.
    #[must_use]
    pub fn screen(&self) -> &Terminal {
        &self.screen
    }

    /// Returns the text of the screen.
    #[must_use]
    pub fn text(&self) -> String {
        self.screen.text(self.screen.screen_rows())
    }

    /// Returns all that was written to the terminal, the newest part of it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the settings of the terminal's line, to be compared.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn line_settings(&self) -> String {
        format!("{:?}", creel_sys::tty::settings_of(&self.slave).expect("a terminal"))
    }

    /// Types.
    ///
    /// # Panics
    /// When nobody takes it.
    pub fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("keys are taken");
    }

    /// Gives the terminal another size.
    ///
    /// # Panics
    /// When it takes none.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        pty::resize(&self.master, pty::Size { columns, lines }).expect("a terminal");
        self.screen.resize(Size::new(columns, lines).expect("a size"));
    }

    /// Waits until the screen is as it shall be.
    ///
    /// # Panics
    /// When it is not in time.
    #[track_caller]
    pub fn wait(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Deadline::after(DEADLINE);
        while !holds(self) {
            let came = self.read(deadline);
            assert!(came, "in time: {what}; the screen is\n{}", self.text());
        }
    }

    /// Waits until the screen shows a text.
    ///
    /// # Panics
    /// When it does not in time.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait(text, |viewing| viewing.text().contains(text));
    }

    /// Reads what comes next; false when nothing comes in time or the terminal is at its end.
    fn read(&mut self, deadline: Deadline) -> bool {
        let ready = wait_readable(&[self.master.as_fd()], deadline.remaining()).expect("a poll");
        if ready.is_empty() {
            return false;
        }
        let mut chunk = [0; 16 * 1024];
        match self.master.read(&mut chunk) {
            Ok(count) if count > 0 => {
                self.screen.feed(&chunk[..count]);
                self.bytes.extend_from_slice(&chunk[..count]);
                let excess = self.bytes.len().saturating_sub(MAX_KEPT_BYTES);
                self.bytes.drain(..excess);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            _ => false,
        }
    }

    /// Sends a signal to the program.
    ///
    /// # Panics
    /// When that can't be done.
    pub fn signal(&self, signal: Signal) {
        self.child.signal(signal).expect("it can be signalled");
    }

    /// Waits for the end of the program, and reads what it still shows.
    ///
    /// # Panics
    /// When it doesn't end in time.
    #[track_caller]
    pub fn ended(&mut self) -> Exit {
        let deadline = Deadline::after(DEADLINE);
        loop {
            let fds = [self.master.as_fd(), self.child.as_fd()];
            let ready = wait_readable(&fds, deadline.remaining()).expect("a poll");
            assert!(!ready.is_empty(), "it ends in time; the screen is\n{}", self.text());
            if ready.contains(&0) {
                self.read(deadline);
            } else {
                return self.child.wait(DEADLINE).expect("a pidfd").expect("it has ended");
            }
        }
    }

    /// Closes the terminal, as when its window is closed, and waits for the end of the program.
    ///
    /// # Panics
    /// When it doesn't end in time.
    #[track_caller]
    pub fn hang_up(self) -> Exit {
        drop((self.master, self.slave));
        self.child.wait(DEADLINE).expect("a pidfd").expect("it ends in time")
    }
}
