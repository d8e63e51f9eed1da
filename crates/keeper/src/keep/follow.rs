//! What comes after a run: asking what is owed, and starting it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use creel_api::keeper::Owed;
use creel_api::plan::Plan;
use creel_record::{RunId, SessionId};
use creel_spool::{Lease, Store};
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::Signal;
use creel_sys::spawn::{InheritedFd, SessionCommand, spawn_session};

use crate::inherited::{self, duplicate};
use crate::launch::{LaunchError, LaunchOptions, launch_with, refuse_owed};
use crate::mint;
use crate::order::{Grouping, Order};
use crate::say::say;
use crate::takeover::settle_stranded;
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
        }
    }

    /// Starts what is owed. `blocked` is told what stands in the way while it does, and nothing
    /// once it doesn't.
    pub(super) fn run(
        &self,
        store: &Store,
        holder_pid: Option<i32>,
        mut blocked: impl FnMut(Option<String>),
    ) {
        for _ in 0..MAX_FOLLOWS {
            let plan = match self.plan(&mut blocked) {
                Ok(Some(plan)) => plan,
                Ok(None) => break,
                Err(why) => {
                    self.give_up(store, &why);
                    break;
                }
            };
            let lease = match duplicate(&self.lease) {
                Ok(lease) => Lease::from_fd(lease),
                Err(error) => {
                    say!("creel keep: can't hand the lease on: {error}");
                    break;
                }
            };
            let options = LaunchOptions {
                exe: self.exe.clone(),
                grouping: self.grouping,
                patience: self.patience,
            };
            match launch_with(store, plan, lease, &options) {
                Ok(_) => return,
                // Recorded; something else may be owed now.
                Err(error @ LaunchError::SpawnFailed { .. }) => {
                    say!("creel keep: {}", chain(&error));
                }
                Err(error) => {
                    say!("creel keep: {}", chain(&error));
                    break;
                }
            }
        }
        let mut exempt = vec![];
        exempt.extend(holder_pid);
        if let Err(error) = settle_stranded(store, self.session_id, self.run_id, &exempt) {
            say!("creel keep: {}", chain(&error));
        }
    }

    /// Asks until there is an answer; fails with what stood in the way until the end.
    fn plan(&self, blocked: &mut impl FnMut(Option<String>)) -> Result<Option<Plan>, String> {
        let deadline = Deadline::after(self.patience);
        let mut pause = FIRST_PAUSE;
        let mut last = None;
        loop {
            let why = match self.ask() {
                Ok(Owed::Blocked { why }) => why,
                Err(error) => error.to_string(),
                Ok(owed) => {
                    if last.is_some() {
                        blocked(None);
                    }
                    return Ok(match owed {
                        Owed::Run { plan } => Some(*plan),
                        _ => None,
                    });
                }
            };
            if last.as_ref() != Some(&why) {
                say!("creel keep: can't plan what is owed yet: {why}");
                blocked(Some(format!("can't plan what is owed yet: {why}")));
            }
            if deadline.is_past() {
                return Err(why);
            }
            last = Some(why);
            thread::park_timeout(pause.min(deadline.remaining()));
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Records a debt that can't be paid as a run that did not start, so that the session rests
    /// and says why. What waits for a session at rest goes on waiting.
    fn give_up(&self, store: &Store, why: &str) {
        let run = (mint::run_id(), mint::turn_id());
        let given = refuse_owed(store, self.session_id, run, why);
        match given {
            Ok(true) => say!("creel keep: gave up: {why}"),
            Ok(false) => {}
            Err(error) => say!("creel keep: can't give up: {}", chain(&error)),
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
