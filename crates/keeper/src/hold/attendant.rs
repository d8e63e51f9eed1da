//! The keeper as its holder sees it: a process that may die at any time and is started again.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use creel_sys::Deadline;
use creel_sys::process::Signal;
use creel_sys::spawn::{InheritedFd, SessionChild, SessionCommand, spawn_session};

use crate::control::{Ask, MAX_ASK_BYTES, State};
use crate::hold::sweep::KeeperPid;
use crate::inherited::{self, duplicate};
use crate::lines::{Filled, Lines};
use crate::say::say;

/// A keeper that lived this long was well: the next one starts at once.
const WELL_AFTER: Duration = Duration::from_secs(10);

/// Pause before the next start of a keeper that died young; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause: the agent waits with a full pipe meanwhile.
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// What every keeper of the run inherits.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) order: OwnedFd,
    pub(super) lease: OwnedFd,
    pub(super) listener: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

#[derive(Debug)]
struct Keeper {
    child: SessionChild,
    /// None once it was closed.
    control: Option<UnixStream>,
    lines: Lines,
    started: Instant,
}

/// Starts keepers and talks to the living one.
#[derive(Debug)]
pub(super) struct Attendant {
    exe: PathBuf,
    kept: Kept,
    pid: KeeperPid,
    keeper: Option<Keeper>,
    due: Option<Deadline>,
    pause: Duration,
}

impl Attendant {
    pub(super) fn new(exe: PathBuf, kept: Kept, pid: KeeperPid) -> Self {
        let due = Some(Deadline::after(Duration::ZERO));
        Self { exe, kept, pid, keeper: None, due, pause: FIRST_PAUSE }
    }

    /// Returns the socket to poll.
    pub(super) fn control(&self) -> Option<BorrowedFd<'_>> {
        self.keeper.as_ref()?.control.as_ref().map(AsFd::as_fd)
    }

    /// Returns when the next keeper is to be started.
    pub(super) fn due(&self) -> Option<Deadline> {
        self.due
    }

    /// Starts a keeper when there is none and its time has come.
    pub(super) fn start_if_due(&mut self, state: &mut State) {
        if self.keeper.is_some() || !self.due.is_some_and(Deadline::is_past) {
            return;
        }
        self.due = None;
        match self.start() {
            Ok(keeper) => {
                self.keeper = Some(keeper);
                state.keeper_starts += 1;
                self.tell(state);
            }
            Err(error) => {
                say!("creel hold: can't start a keeper: {error}");
                self.start_later();
            }
        }
    }

    fn start(&self) -> io::Result<Keeper> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let inherit =
            |fd: &OwnedFd, number| io::Result::Ok(InheritedFd { fd: duplicate(fd)?, number });
        let command = SessionCommand {
            program: self.exe.clone(),
            args: vec![OsString::from("keep")],
            env: std::env::vars_os().collect(),
            cwd: PathBuf::from("/"),
            stdin: File::open("/dev/null")?.into(),
            stdout: duplicate(io::stderr())?,
            stderr: duplicate(io::stderr())?,
            inherited: vec![
                inherit(&self.kept.order, inherited::ORDER)?,
                inherit(&self.kept.lease, inherited::LEASE)?,
                InheritedFd { fd: theirs.into(), number: inherited::CONTROL },
                inherit(&self.kept.listener, inherited::LISTENER)?,
                inherit(&self.kept.stdout, inherited::STDOUT)?,
                inherit(&self.kept.stderr, inherited::STDERR)?,
            ],
            cgroup: None,
        };
        let mut started = None;
        self.pid.set_by(|| {
            let child = spawn_session(command)?;
            let pid = child.identity.pid;
            started = Some(child);
            io::Result::Ok(pid)
        })?;
        Ok(Keeper {
            child: started.ok_or(io::ErrorKind::NotFound)?,
            control: Some(ours),
            lines: Lines::new(MAX_ASK_BYTES),
            started: Instant::now(),
        })
    }

    /// Sends the keeper the holder's state. One that doesn't read is of no use, and is ended.
    pub(super) fn tell(&mut self, state: &State) {
        let Some(keeper) = &mut self.keeper else { return };
        let Some(control) = &mut keeper.control else { return };
        let sent = serde_json::to_vec(state).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            control.write_all(&line)
        });
        if let Err(error) = sent {
            say!("creel hold: the keeper doesn't listen: {error}");
            keeper.give_up();
        }
    }

    /// Takes what the keeper asked for.
    pub(super) fn hear(&mut self) -> Vec<Ask> {
        self.keeper.as_mut().map(Keeper::hear).unwrap_or_default()
    }

    /// Takes note of a collected child; when it was the keeper, returns its last words and plans
    /// the start of the next one.
    pub(super) fn reaped(&mut self, pid: i32) -> Vec<Ask> {
        if self.keeper.as_ref().is_none_or(|keeper| keeper.child.identity.pid != pid) {
            return Vec::new();
        }
        let Some(mut keeper) = self.keeper.take() else { return Vec::new() };
        let last_words = keeper.hear();
        if keeper.started.elapsed() >= WELL_AFTER {
            self.pause = FIRST_PAUSE;
        }
        self.start_later();
        last_words
    }

    fn start_later(&mut self) {
        self.due = Some(Deadline::after(self.pause));
        self.pause = (self.pause * 2).min(LAST_PAUSE);
    }
}

impl Keeper {
    fn hear(&mut self) -> Vec<Ask> {
        let mut asks = Vec::new();
        let Some(control) = &mut self.control else { return asks };
        let filled = self.lines.fill(control, |line| match Ask::decode(line) {
            Some(ask) => asks.push(ask),
            None => say!("creel hold: the keeper said something else than it may"),
        });
        if filled == Filled::Closed {
            self.give_up();
        }
        asks
    }

    /// Ends a keeper that can't be talked to; its end is collected like any other.
    fn give_up(&mut self) {
        self.control = None;
        if let Err(error) = self.child.signal(Signal::KILL) {
            say!("creel hold: can't end the keeper: {error}");
        }
    }
}
