//! The keeper as its holder sees it: a process that may die at any time and is started again.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use creel_sys::Deadline;
use creel_sys::passing::send_with_fd;
use creel_sys::process::Signal;
use creel_sys::spawn::{InheritedFd, SessionChild, SessionCommand, spawn_session};

use crate::control::{Ask, MAX_ASK_BYTES, State};
use crate::hold::agent::Output;
use crate::hold::programs::{Fate, Program, Programs};
use crate::hold::sweep::KeeperPid;
use crate::inherited::{self, duplicate};
use crate::lines::{Filled, Lines};
use crate::progress::Progress;
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
    pub(super) output: Output,
    pub(super) progress: Progress,
}

#[derive(Debug)]
struct Keeper {
    child: SessionChild,
    /// None once it was closed.
    control: Option<UnixStream>,
    lines: Lines,
    started: Instant,
    program: Program,
    /// True once it said that it keeps the run.
    is_here: bool,
}

/// Starts keepers and talks to the living one.
#[derive(Debug)]
pub(super) struct Attendant {
    programs: Programs,
    kept: Kept,
    pid: KeeperPid,
    keeper: Option<Keeper>,
    due: Option<Deadline>,
    pause: Duration,
}

impl Attendant {
    pub(super) fn new(programs: Programs, kept: Kept, pid: KeeperPid) -> Self {
        let due = Some(Deadline::after(Duration::ZERO));
        Self { programs, kept, pid, keeper: None, due, pause: FIRST_PAUSE }
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
        let program = self.programs.next();
        match self.start(program.clone()) {
            Ok(keeper) => {
                self.keeper = Some(keeper);
                state.keeper_starts += 1;
                self.tell(state);
            }
            Err(error) => {
                say!("creel hold: can't start a keeper of {}: {error}", program.path.display());
                self.programs.ended(&program, Fate::NeverHere);
                self.start_later();
            }
        }
    }

    fn start(&self, program: Program) -> io::Result<Keeper> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let inherit =
            |fd: &OwnedFd, number| io::Result::Ok(InheritedFd { fd: duplicate(fd)?, number });
        let command = SessionCommand {
            program: program.path.clone(),
            args: vec![OsString::from("keep")],
            env: std::env::vars_os().collect(),
            cwd: PathBuf::from("/"),
            stdin: File::open("/dev/null")?.into(),
            stdout: duplicate(io::stderr())?,
            stderr: duplicate(io::stderr())?,
            inherited: {
                let mut inherited = vec![
                    inherit(&self.kept.order, inherited::ORDER)?,
                    inherit(&self.kept.lease, inherited::LEASE)?,
                    InheritedFd { fd: theirs.into(), number: inherited::CONTROL },
                    inherit(&self.kept.listener, inherited::LISTENER)?,
                ];
                match &self.kept.output {
                    Output::Pipes { stdout, stderr } => {
                        inherited.push(inherit(stdout, inherited::STDOUT)?);
                        inherited.push(inherit(stderr, inherited::STDERR)?);
                    }
                    Output::Terminal { master, .. } => {
                        inherited.push(inherit(master, inherited::TERMINAL)?);
                        inherited.push(inherit(self.kept.progress.fd(), inherited::PROGRESS)?);
                    }
                }
                inherited
            },
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
            program,
            is_here: false,
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

    /// Has this and every further keeper listen on another socket.
    pub(super) fn listen(&mut self, listener: UnixListener, state: &State) {
        self.kept.listener = listener.into();
        let Some(keeper) = &mut self.keeper else { return };
        let Some(control) = &keeper.control else { return };
        let sent = serde_json::to_vec(state).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            send_with_fd(control, &line, &self.kept.listener)
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
        let fate = match keeper.started.elapsed() {
            lived if lived >= WELL_AFTER => {
                self.pause = FIRST_PAUSE;
                Fate::Well
            }
            _ if keeper.is_here => Fate::DiedYoung,
            _ => Fate::NeverHere,
        };
        self.programs.ended(&keeper.program, fate);
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
        let is_here = &mut self.is_here;
        let filled = self.lines.fill(control, |line| match Ask::decode(line) {
            Some(Ask::Here) => *is_here = true,
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
