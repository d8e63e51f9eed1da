//! What comes after a run: asking what is owed, and starting it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use creel_api::keeper::Owed;
use creel_record::{Owed as Debt, Refusal, RunId, Session, SessionId, TurnId, decide};
use creel_spool::{Change, Lease, ReadError, Store, TransactError};
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::Signal;
use creel_sys::spawn::{InheritedFd, SessionCommand, spawn_session};

use super::leaving::Leaving;
use crate::inherited::{self, duplicate};
use crate::launch::{LaunchError, LaunchOptions, launch_with, refuse_owed};
use crate::mint;
use crate::order::{Grouping, Order};
use crate::say::say;
use crate::takeover::{TakeoverError, settle_stranded};
use crate::word::chain;

/// How long the planner may take.
const PLAN_WITHIN: Duration = Duration::from_secs(30);

/// The longest plan in bytes: a prompt stands in it up to four times, escaped.
const MAX_PLAN_BYTES: usize = 64 << 20;

/// Pause before what is owed is asked for again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause: a person who mended a file looks at the session next.
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// The most runs that are tried one after the other when none of them starts.
const MAX_FOLLOWS: u32 = 8;

/// What came of a try to start what is owed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A run was started, and has the lease.
    Started,
    /// Nothing more is to be done here.
    Over,
    /// A run did not start, and the record says so: something else may be owed now.
    Failed,
    /// It may work later.
    Blocked(String),
}

/// Growing pauses between tries.
#[derive(Debug)]
struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Pauses {
    /// Pauses; true when nothing is to be started any more.
    fn pause(&mut self, leaving: &Leaving) -> bool {
        let pause = self.0;
        self.0 = (pause * 2).min(LAST_PAUSE);
        leaving.within(pause)
    }
}

/// Starts what follows a run.
#[derive(Debug)]
pub(super) struct Follow {
    exe: PathBuf,
    grouping: Grouping,
    orb_root: PathBuf,
    session_id: SessionId,
    run_id: RunId,
    order: OwnedFd,
    lease: OwnedFd,
    patience: Duration,
    leaving: Leaving,
}

impl Follow {
    /// Takes the inherited order and lease, which the planner inherits in turn.
    pub(super) fn new(order: &Order, ids: (SessionId, RunId), fds: (OwnedFd, OwnedFd)) -> Self {
        Self {
            exe: order.exe.clone(),
            grouping: order.grouping,
            orb_root: order.plan.record.orb_root.clone(),
            session_id: ids.0,
            run_id: ids.1,
            order: fds.0,
            lease: fds.1,
            patience: Duration::from_millis(order.patience_ms),
            leaving: Leaving::default(),
        }
    }

    /// Returns what ends the tries.
    pub(super) fn leaving(&self) -> Leaving {
        self.leaving.clone()
    }

    /// Starts what is owed. `blocked` is told what stands in the way while it does, and nothing
    /// once it doesn't.
    pub(super) fn run(
        &self,
        store: &Store,
        holder_pid: Option<i32>,
        mut blocked: impl FnMut(Option<String>),
    ) {
        if self.start_owed(store, &mut blocked) == Step::Started {
            return;
        }
        let exempt: Vec<_> = holder_pid.into_iter().collect();
        let mut pauses = Pauses::default();
        while let Err(error) = settle_stranded(store, self.session_id, self.run_id, &exempt) {
            let why = chain(&error);
            say!("creel keep: {why}");
            // The record would show a live run for ever, and nobody would look.
            let is_passing =
                matches!(&error, TakeoverError::Record { source: TransactError::Write(_), .. });
            if !is_passing || self.is_gone(store) {
                break;
            }
            blocked(Some(why));
            if pauses.pause(&self.leaving) {
                break;
            }
        }
    }

    /// Tries until a run is started, nothing is owed, or the debt is given up.
    fn start_owed(&self, store: &Store, blocked: &mut impl FnMut(Option<String>)) -> Step {
        let deadline = Deadline::after(self.patience);
        let ids = (mint::run_id(), mint::turn_id());
        let mut pauses = Pauses::default();
        let mut last = None;
        let mut failed_starts = 0;
        let step = loop {
            let why = match self.step(store) {
                Step::Blocked(why) => why,
                Step::Failed if failed_starts < MAX_FOLLOWS => {
                    failed_starts += 1;
                    continue;
                }
                step => break step,
            };
            if self.is_settled(store) || self.is_gone(store) {
                break Step::Over;
            }
            if last.as_ref() != Some(&why) {
                say!("creel keep: can't start what is owed yet: {why}");
                blocked(Some(format!("can't start what is owed yet: {why}")));
            }
            if deadline.is_past() && self.give_up(store, ids, &why) {
                break Step::Over;
            }
            last = Some(why);
            if pauses.pause(&self.leaving) {
                break Step::Over;
            }
        };
        if last.is_some() {
            blocked(None);
        }
        step
    }

    /// Asks what is owed, and starts it.
    fn step(&self, store: &Store) -> Step {
        let plan = match self.ask() {
            Ok(Owed::Run { plan }) => *plan,
            Ok(Owed::Nothing | Owed::Unknown) => return Step::Over,
            Ok(Owed::Blocked { why }) => return Step::Blocked(why),
            Err(error) => return Step::Blocked(chain(&error)),
        };
        let lease = match duplicate(&self.lease) {
            Ok(lease) => Lease::from_fd(lease),
            Err(error) => return Step::Blocked(format!("can't hand the lease on: {error}")),
        };
        let options = LaunchOptions {
            exe: self.exe.clone(),
            grouping: self.grouping,
            patience: self.patience,
        };
        match launch_with(store, plan, lease, &options) {
            Ok(_) => Step::Started,
            Err(error @ LaunchError::Start(TransactError::Write(_))) => {
                Step::Blocked(chain(&error))
            }
            Err(error) => {
                say!("creel keep: {}", chain(&error));
                // What is recorded, or was recorded by somebody else, may owe something else.
                let is_told = matches!(
                    error,
                    LaunchError::SpawnFailed { .. } | LaunchError::Start(TransactError::Refused(_))
                );
                if is_told { Step::Failed } else { Step::Over }
            }
        }
    }

    /// True when somebody settled meanwhile what was owed: a session can be closed without its
    /// lease. What children left is for the planner alone to see.
    fn is_settled(&self, store: &Store) -> bool {
        // Under the lock: what is published may be older, since the disk is full.
        let look = store.transact(self.session_id, |session: &Session| {
            let owed = decide(session, mint::now());
            let is_settled = matches!(owed, Debt::Nothing | Debt::LiveRun);
            Ok::<_, Refusal>(Change::Nothing(session.dispatches.is_empty() && is_settled))
        });
        look.is_ok_and(|committed| committed.value)
    }

    fn is_gone(&self, store: &Store) -> bool {
        matches!(store.read(self.session_id), Err(ReadError::NotFound { .. }))
    }

    /// Records a debt that can't be paid as a run that did not start, so that the session rests
    /// and says why. What waits for a session at rest goes on waiting. False when the record can't
    /// be written.
    fn give_up(&self, store: &Store, ids: (RunId, TurnId), why: &str) -> bool {
        match refuse_owed(store, self.session_id, ids, why) {
            Ok(is_recorded) => {
                let after = if is_recorded { "recorded as a failed start" } else { "it waits" };
                say!("creel keep: gave up, {after}: {why}");
                true
            }
            Err(error) => {
                say!("creel keep: can't give up: {}", chain(&error));
                false
            }
        }
    }

    /// Runs the planner.
    fn ask(&self) -> io::Result<Owed> {
        let deadline = Deadline::after(PLAN_WITHIN);
        let (mut answer, stdout) = io::pipe()?;
        let inherit =
            |fd: &OwnedFd, number| io::Result::Ok(InheritedFd { fd: duplicate(fd)?, number });
        let child = spawn_session(SessionCommand {
            program: self.exe.clone(),
            args: vec![
                OsString::from("plan"),
                self.orb_root.clone().into(),
                self.session_id.to_string().into(),
            ],
            env: std::env::vars_os().collect(),
            cwd: PathBuf::from("/"),
            stdin: File::open("/dev/null")?.into(),
            stdout: stdout.into(),
            stderr: duplicate(io::stderr())?,
            inherited: vec![
                inherit(&self.order, inherited::ORDER)?,
                inherit(&self.lease, inherited::LEASE)?,
            ],
            cgroup: None,
        })?;
        let line = read_all(&mut answer, deadline);
        let exit = child.wait(deadline.remaining());
        if !matches!(exit, Ok(Some(_))) {
            child.signal(Signal::KILL)?;
            child.wait(Duration::from_secs(5))?;
        }
        let line = line?;
        match exit? {
            Some(exit) if exit.is_success() => Ok(serde_json::from_slice(&line)?),
            Some(exit) => Err(io::Error::other(format!("the planner ended with {exit}"))),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

fn read_all(pipe: &mut (impl Read + AsFd), deadline: Deadline) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        if wait_readable(&[pipe.as_fd()], deadline.remaining())?.is_empty() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match pipe.read(&mut chunk)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
        if bytes.len() > MAX_PLAN_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}
