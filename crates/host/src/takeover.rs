//! Taking over what dead holders left: one session at a time, by the verb that a person would use.
//!
//! The host starts `creel reconcile ID` rather than doing it itself: the rules of who may act, and
//! what a session is owed afterwards, are then those of the verb, and what is started there does
//! not descend from the host.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use creel_record::{RunId, SessionId};
use creel_sys::process::Signal;
use creel_sys::spawn::{SessionCommand, spawn_session};
use tokio::task::spawn_blocking;

use crate::environment;
use crate::host::Host;
use crate::notice::Notice;
use crate::scope::Escape;

/// How long one takeover may take: the grace of an end, the time after which what is left is
/// killed, and twice as much again for a busy machine.
const TAKEN_WITHIN: Duration = Duration::from_secs(60);

/// A lost run: its store, its session and itself.
pub(crate) type Place = (PathBuf, SessionId, RunId);

/// The lost runs that wait to be taken over.
pub(crate) struct Takeovers {
    host: Arc<Host>,
    escape: Escape,
    waiting: VecDeque<Place>,
    is_busy: bool,
}

impl Takeovers {
    pub(crate) fn new(host: &Arc<Host>) -> Self {
        let escape = Escape::find();
        Self { host: Arc::clone(host), escape, waiting: VecDeque::new(), is_busy: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.is_busy
    }

    pub(crate) fn add(&mut self, place: Place) {
        if !self.waiting.contains(&place) {
            self.waiting.push_back(place);
        }
        self.next();
    }

    pub(crate) fn done(&mut self) {
        self.is_busy = false;
        self.next();
    }

    fn next(&mut self) {
        if self.is_busy {
            return;
        }
        let Some((root, session_id, run_id)) = self.waiting.pop_front() else { return };
        self.is_busy = true;
        let notices = self.host.notices.clone();
        let (exe, escape) = (self.host.config.exe.clone(), self.escape.clone());
        let work = spawn_blocking(move || {
            let error = reconcile((&exe, &escape), &root, session_id).err();
            // Without a supervisor there is nobody to tell.
            let _ = notices.blocking_send(Notice::TakenOver { session_id, run_id, error });
        });
        // It tells by its notice; a runtime that ends waits for it.
        drop(work);
    }
}

fn reconcile((exe, escape): (&Path, &Escape), root: &Path, id: SessionId) -> Result<(), String> {
    let args = ["reconcile", &id.to_string(), "--grace", "0", "--orb-root"].map(OsString::from);
    let args: Vec<OsString> = args.into_iter().chain([root.as_os_str().to_owned()]).collect();
    let (program, args) = escape.wrap(exe, args);
    let output = |fd: io::Stderr| std::os::fd::AsFd::as_fd(&fd).try_clone_to_owned();
    let command = || {
        Ok(SessionCommand {
            program,
            args,
            env: environment::inherited(),
            cwd: PathBuf::from("/"),
            stdin: std::fs::File::open("/dev/null")?.into(),
            stdout: output(io::stderr())?,
            stderr: output(io::stderr())?,
            inherited: Vec::new(),
            cgroup: None,
        })
    };
    let spawned = command().and_then(spawn_session);
    let child = spawned.map_err(|error| format!("creel reconcile can't be started: {error}"))?;
    match child.wait(TAKEN_WITHIN).map_err(|error| error.to_string())? {
        Some(exit) if exit.is_success() => Ok(()),
        Some(_) => Err(format!("see the log, or: creel reconcile {id}")),
        None => {
            // A takeover that is cut off is done again by the next one.
            child.signal(Signal::TERM).map_err(|error| error.to_string())?;
            let _ = child.wait(Duration::from_secs(5));
            Err("creel reconcile did not end in time".to_owned())
        }
    }
}
