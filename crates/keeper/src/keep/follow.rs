//! What comes after a run: asking what is owed, and starting it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use creel_api::keeper::Owed;
use creel_record::{RunId, SessionId};
use creel_spool::{Lease, Store};
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::Signal;
use creel_sys::spawn::{InheritedFd, SessionCommand, spawn_session};

use crate::inherited::{self, duplicate};
use crate::launch::{LaunchError, LaunchOptions, launch_with};
use crate::order::{Grouping, Order};
use crate::say::say;
use crate::takeover::settle_stranded;
use crate::word::chain;

/// How long the planner may take.
const PLAN_WITHIN: Duration = Duration::from_secs(30);

/// The longest plan in bytes: a prompt stands in it up to four times, escaped.
const MAX_PLAN_BYTES: usize = 64 << 20;

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
        }
    }

    pub(super) fn run(&self, store: &Store, holder_pid: Option<i32>) {
        for _ in 0..MAX_FOLLOWS {
            let plan = match self.ask() {
                Ok(Owed::Run { plan }) => *plan,
                Ok(Owed::Nothing | Owed::Unknown) => break,
                Err(error) => {
                    say!("creel keep: can't tell what is owed: {error}");
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
            let options = LaunchOptions { exe: self.exe.clone(), grouping: self.grouping };
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
