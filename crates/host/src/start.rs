//! Starting a host that outlives whoever starts it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::host::HostStatus;
use creel_sys::Deadline;
use creel_sys::fs::{Fs, FsFile, LockMode, OpenHow};
use creel_sys::os_fs::OsFs;
use creel_sys::poll::wait_readable;
use creel_sys::runtime_dir::RuntimeDir;
use creel_sys::spawn::{SessionChild, SessionCommand, spawn_session};
use creel_sys::watch::{DirWatch, WatchError};
use thiserror::Error;

use crate::client::{Client, ClientError};
use crate::environment;
use crate::instance::holder;
use crate::scope::Escape;

/// How long a host may take until it answers: it reads the feeds of its stores before.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// Bytes of a log with which a host begins; a longer one is put aside first, over the last one.
const MAX_LOG_BYTES: u64 = 1024 * 1024;

/// Lines of the log that a failure tells.
const MAX_TOLD_LINES: usize = 5;

/// What to start.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program.
    pub exe: PathBuf,
    /// Its arguments: those of `host run`.
    pub args: Vec<OsString>,
    /// The host's state directory, where its log is.
    pub state_dir: PathBuf,
    /// Where its socket will be.
    pub runtime: RuntimeDir,
}

/// Why no host was started.
#[derive(Debug, Error)]
pub enum StartError {
    /// It can't be started at all.
    #[error("can't {what} {}", path.display())]
    Prepare {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The runtime directory can't be watched.
    #[error("can't wait for the host's socket")]
    Watch(#[source] WatchError),
    /// The host can't be asked.
    #[error("the host can't be asked")]
    Client(#[source] ClientError),
    /// It ended.
    #[error("the host ended before it answered: {told}")]
    Ended {
        /// The last lines of its log.
        told: String,
    },
    /// It runs, and does not answer.
    #[error("the host did not answer within {} s: {told}", ANSWERS_WITHIN.as_secs())]
    Silent {
        /// The last lines of its log.
        told: String,
    },
}

impl StartError {
    fn prepare(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Prepare { what, path, source }
    }
}

/// Starts a host in a process session of its own, and in a scope of its own where that can be had,
/// and waits until it answers.
///
/// # Errors
/// When it doesn't; the error tells what its log said last.
pub fn start(start: &Start) -> Result<HostStatus, StartError> {
    match attempt(start, &Escape::find()) {
        // Whatever is wrong with the service manager: a host that is only detached is better than
        // none.
        Err(StartError::Ended { .. }) if Escape::find() != Escape::Detach => {
            attempt(start, &Escape::Detach)
        }
        other => other,
    }
}

fn attempt(start: &Start, escape: &Escape) -> Result<HostStatus, StartError> {
    let deadline = Deadline::after(ANSWERS_WITHIN);
    let client = Client::new(&start.runtime).map_err(StartError::Client)?;
    // Made before the host, so that its socket doesn't come unseen.
    let watch = DirWatch::new(start.runtime.path()).map_err(StartError::Watch)?;
    let log = Log::open(&start.state_dir)?;
    let child = spawn(start, escape, &log)?;
    let mut has_ended = false;
    loop {
        match client.get("/v1/host") {
            Ok(status) => return Ok(status),
            Err(ClientError::Absent) => {}
            Err(error) => return Err(StartError::Client(error)),
        }
        let mut fds = vec![watch.as_fd()];
        if !has_ended {
            fds.push(child.as_fd());
        }
        let ready = wait_readable(&fds, deadline.remaining())
            .map_err(StartError::prepare("wait for", &start.exe))?;
        if ready.is_empty() {
            return Err(StartError::Silent { told: log.told() });
        }
        if ready.contains(&1) {
            // Another one was faster, and answers soon.
            if holder(&start.state_dir).is_none() {
                return client.get("/v1/host").map_err(|_| StartError::Ended { told: log.told() });
            }
            has_ended = true;
        }
        watch.drain().map_err(StartError::Watch)?;
        wait_bound(start.runtime.path(), deadline)?;
    }
}

/// Waits until nobody is between making a socket in the directory and listening on it: that is what
/// a lock on the directory says.
fn wait_bound(dir: &Path, deadline: Deadline) -> Result<(), StartError> {
    let locked = OsFs
        .open_file(dir, OpenHow::Read)
        .and_then(|dir| dir.lock(LockMode::Shared, deadline.remaining()));
    // Whether it was had or not: the host is asked next, or the time is up.
    locked.map(|_| ()).map_err(StartError::prepare("lock", dir))
}

fn spawn(start: &Start, escape: &Escape, log: &Log) -> Result<SessionChild, StartError> {
    let (program, args) = escape.wrap(&start.exe, start.args.clone());
    let failed = StartError::prepare("start", &program);
    let command = || {
        Ok(SessionCommand {
            program: program.clone(),
            args,
            env: environment::inherited(),
            cwd: PathBuf::from("/"),
            stdin: File::open("/dev/null")?.into(),
            stdout: log.file.try_clone()?.into(),
            stderr: log.file.try_clone()?.into(),
            inherited: Vec::new(),
            cgroup: None,
        })
    };
    command().and_then(spawn_session).map_err(failed)
}

/// The host's log, and where it ended before.
struct Log {
    path: PathBuf,
    file: File,
    from: u64,
}

impl Log {
    fn open(state_dir: &Path) -> Result<Self, StartError> {
        OsFs.create_dir_all(state_dir)
            .map_err(StartError::prepare("make the directory", state_dir))?;
        let path = state_dir.join("log");
        if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > MAX_LOG_BYTES) {
            std::fs::rename(&path, state_dir.join("log.old"))
                .map_err(StartError::prepare("put aside", &path))?;
        }
        let mut options = std::fs::OpenOptions::new();
        let file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(StartError::prepare("open", &path))?;
        let from = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(Self { path, file, from })
    }

    /// Returns the last lines since it was opened, on one line.
    fn told(&self) -> String {
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.from))?;
            file.take(MAX_LOG_BYTES).read_to_string(&mut text)
        });
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(MAX_TOLD_LINES)..].join("; ");
        let shown = self.path.display();
        match read {
            Ok(_) if last.is_empty() => format!("{shown} has no word of it"),
            Ok(_) => format!("{last} ({shown})"),
            Err(error) => format!("{shown} can't be read: {error}"),
        }
    }
}
