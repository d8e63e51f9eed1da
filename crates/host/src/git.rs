//! The `git` command: the only way in which anything here reads or changes a repository.
//!
//! Each call is a process in a session of its own, with a deadline at whose end the whole session
//! is killed, an environment that holds nothing of the caller's but paths, and bounded output.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use creel_sys::Deadline;
use creel_sys::end_tree::{Pressure, end_tree};
use creel_sys::exit::Exit;
use creel_sys::poll::wait_readable;
use creel_sys::process::Signal;
use creel_sys::session::{Proof, Suspect};
use creel_sys::spawn::{InheritedFd, SessionChild, SessionCommand, spawn_session};
use creel_sys::tree::ProcessTable;

mod error;

pub use error::GitError;

/// Bytes of an answer that is kept whole: an index of a million entries fits.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Bytes of git's complaint that are kept, its last ones: the reason comes at the end.
const MAX_STDERR_BYTES: usize = 4096;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long killed processes may take to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// The descriptor under which a call that writes holds the repository's lock.
const LOCK_NUMBER: i32 = 3;

/// Variables that git and the filters a user configured need; nothing else is passed on.
const PASSED_ON: [&str; 12] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "TMPDIR",
    "USER",
    "SSH_AUTH_SOCK",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Settings for every call: no hook of a user's, no helper that stays behind, nothing tuned that
/// changes what a command means, and objects on the disk before git says they are stored.
const SETTINGS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.ignoreStat=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.fsync=all",
    "core.bigFileThreshold=16m",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "index.sparse=false",
];

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It reads a few files of the repository.
    Quick,
    /// It reads the working tree, or walks the history.
    Scan,
    /// It copies the working tree.
    Copy,
}

impl Patience {
    fn limit(self) -> Duration {
        Duration::from_secs(match self {
            // Far above what it takes, since a cold or busy disk is no reason to give up.
            Self::Quick => 60,
            Self::Scan => 10 * 60,
            Self::Copy => 60 * 60,
        })
    }
}

/// The git program, and what every call of it gets.
#[derive(Clone, Debug)]
pub struct Git {
    env: Vec<(OsString, OsString)>,
    lock: Option<Arc<OwnedFd>>,
}

impl Git {
    /// Takes the variables to pass on from `lookup` (usually the environment of the process).
    pub fn new(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut env: Vec<(OsString, OsString)> =
            PASSED_ON.iter().filter_map(|name| Some(((*name).into(), lookup(name)?))).collect();
        let fixed = [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "true"),
            ("SSH_ASKPASS", "true"),
            ("GIT_PAGER", "cat"),
            ("GIT_NO_LAZY_FETCH", "1"),
        ];
        env.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        Self { env, lock: None }
    }

    /// Makes calls hold a lock's descriptor too: should this process be killed, the lock is not
    /// free before the git process it left behind has ended.
    #[must_use]
    pub fn holding(&self, lock: Arc<OwnedFd>) -> Self {
        Self { env: self.env.clone(), lock: Some(lock) }
    }

    /// Prepares a call that changes nothing: optional locks are not taken.
    pub fn read<A: AsRef<OsStr>>(&self, dir: &Path, args: impl IntoIterator<Item = A>) -> Call<'_> {
        let mut call = self.write(dir, args);
        call.env.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        call.is_write = false;
        call
    }

    /// Prepares a call that changes something.
    pub fn write<A: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Call<'_> {
        Call {
            git: self,
            dir: dir.to_owned(),
            settings: SETTINGS.iter().map(|setting| (*setting).into()).collect(),
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: Vec::new(),
            stdin: None,
            limit: Patience::Quick.limit(),
            is_write: true,
        }
    }
}

/// One call that is being prepared.
#[derive(Debug)]
pub struct Call<'g> {
    git: &'g Git,
    dir: PathBuf,
    settings: Vec<OsString>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Option<File>,
    limit: Duration,
    is_write: bool,
}

impl Call<'_> {
    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Adds a setting, `name=value`.
    #[must_use]
    pub fn setting(mut self, setting: impl AsRef<OsStr>) -> Self {
        self.settings.push(setting.as_ref().to_owned());
        self
    }

    /// Gives it more time.
    #[must_use]
    pub fn patience(mut self, patience: Patience) -> Self {
        self.limit = patience.limit();
        self
    }

    /// Gives standard input; through a file, so that neither side waits for the other.
    ///
    /// # Errors
    /// When no temporary file can be written.
    pub fn stdin(
        mut self,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<Self, GitError> {
        let fill = || {
            let mut file = tempfile::tempfile()?;
            write(&mut file)?;
            file.rewind()?;
            Ok(file)
        };
        self.stdin = Some(fill().map_err(|source| self.failed_to("prepare the input of", source))?);
        Ok(self)
    }

    /// Runs it and returns what it printed.
    ///
    /// # Errors
    /// When it can't be started, fails, takes too long or prints too much.
    pub fn run(self) -> Result<Vec<u8>, GitError> {
        let mut answer = Vec::new();
        self.stream(|bytes| {
            if answer.len() + bytes.len() > MAX_ANSWER_BYTES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            answer.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(answer)
    }

    /// Runs it and returns what it printed, without the newline at the end, as text.
    ///
    /// # Errors
    /// As [`Call::run`].
    pub fn line(self) -> Result<String, GitError> {
        let mut bytes = self.run()?;
        bytes.pop_if(|byte| *byte == b'\n');
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Runs it and tells whether it succeeded; false when it exits with 1, as git's questions do.
    ///
    /// # Errors
    /// As [`Call::run`], for every other end.
    pub fn holds(self) -> Result<bool, GitError> {
        match self.run() {
            Ok(_) => Ok(true),
            Err(GitError::Failed { exit: Exit::Code(1), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Runs it and hands each record that ends in NUL to `each`, without it.
    ///
    /// # Errors
    /// As [`Call::run`].
    pub fn records(self, mut each: impl FnMut(&[u8])) -> Result<(), GitError> {
        let mut open = Vec::new();
        self.stream(|bytes| {
            let mut parts = bytes.split(|byte| *byte == 0);
            // A split has at least one part; the last one goes on in the next chunk.
            let last = parts.next_back().unwrap_or_default();
            for part in parts {
                open.extend_from_slice(part);
                each(&open);
                open.clear();
            }
            open.extend_from_slice(last);
            if open.len() > MAX_ANSWER_BYTES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(())
        })
    }

    /// Runs it and hands what it prints to `sink` as it comes.
    ///
    /// # Errors
    /// As [`Call::run`], and when `sink` fails; the process is then killed.
    pub fn stream(mut self, mut sink: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), GitError> {
        let stdin = self.stdin.take();
        let deadline = Deadline::after(self.limit);
        let (mut out, stdout) = self.pipe()?;
        let (mut err, stderr) = self.pipe()?;
        let stdin = match stdin {
            Some(file) => file.into(),
            None => File::open("/dev/null").map_err(|e| self.failed_to("prepare", e))?.into(),
        };
        let child = spawn_session(self.command(stdin, (stdout, stderr))?)
            .map_err(|source| self.not_started(source))?;
        let mut complaint = Complaint::default();
        let pumped = pump(&child, (&mut out, &mut err), deadline, &mut |from_err, bytes| {
            if from_err {
                complaint.push(bytes);
                return Ok(());
            }
            sink(bytes)
        });
        match pumped {
            Ok(true) => {}
            Ok(false) => {
                kill(&child).map_err(|source| self.failed_to("end", source))?;
                return Err(GitError::TimedOut {
                    verb: self.verb(),
                    after: self.limit,
                    dir: self.dir,
                });
            }
            Err(source) => {
                kill(&child).map_err(|source| self.failed_to("end", source))?;
                return Err(self.failed_to("read the answer of", source));
            }
        }
        let exit = child.wait(KILL_LIMIT).map_err(|source| self.failed_to("wait for", source))?;
        match exit {
            Some(exit) if exit.is_success() => Ok(()),
            Some(exit) => Err(GitError::Failed {
                verb: self.verb(),
                dir: self.dir,
                exit,
                stderr: complaint.text(),
            }),
            None => Err(self.failed_to("wait for", io::ErrorKind::TimedOut.into())),
        }
    }

    fn pipe(&self) -> Result<(io::PipeReader, OwnedFd), GitError> {
        let (reader, writer) = io::pipe().map_err(|source| self.failed_to("prepare", source))?;
        Ok((reader, writer.into()))
    }

    fn command(
        &self,
        stdin: OwnedFd,
        (stdout, stderr): (OwnedFd, OwnedFd),
    ) -> Result<SessionCommand, GitError> {
        let mut args: Vec<OsString> = Vec::with_capacity(self.args.len() + 2 * SETTINGS.len() + 4);
        args.extend(["--no-pager".into(), "-C".into(), self.dir.clone().into()]);
        for setting in &self.settings {
            args.extend(["-c".into(), setting.clone()]);
        }
        args.extend(self.args.iter().cloned());
        let lock = self.git.lock.as_ref().filter(|_| self.is_write);
        let inherited = lock
            .map(|lock| lock.as_fd().try_clone_to_owned())
            .transpose()
            .map_err(|source| self.failed_to("prepare", source))?
            .map(|fd| InheritedFd { fd, number: LOCK_NUMBER });
        let env = self.git.env.iter().chain(&self.env).cloned().collect();
        Ok(SessionCommand {
            program: "git".into(),
            args,
            env,
            cwd: "/".into(),
            stdin,
            stdout,
            stderr,
            inherited: inherited.into_iter().collect(),
            cgroup: None,
        })
    }

    fn verb(&self) -> String {
        self.args.first().map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn failed_to(&self, what: &'static str, source: io::Error) -> GitError {
        GitError::Io { what, verb: self.verb(), source }
    }

    fn not_started(&self, source: io::Error) -> GitError {
        match source.kind() {
            io::ErrorKind::NotFound => GitError::Missing { source },
            _ => self.failed_to("start", source),
        }
    }
}

/// Hands on what a child prints until it has ended; false when the deadline passed first.
///
/// What it left running may keep the pipes open: its own end counts, then what is in them already.
fn pump(
    child: &SessionChild,
    (out, err): (&mut io::PipeReader, &mut io::PipeReader),
    deadline: Deadline,
    sink: &mut dyn FnMut(bool, &[u8]) -> io::Result<()>,
) -> io::Result<bool> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut open = [true, true];
    let mut has_ended = false;
    while open != [false, false] {
        let polled: Vec<usize> = (0..2).filter(|at| open[*at]).collect();
        let mut fds: Vec<_> =
            polled.iter().map(|at| if *at == 0 { out.as_fd() } else { err.as_fd() }).collect();
        if !has_ended {
            fds.push(child.as_fd());
        }
        let within = if has_ended { Duration::ZERO } else { deadline.remaining() };
        let ready = wait_readable(&fds, within)?;
        if ready.is_empty() {
            return Ok(has_ended);
        }
        for at in ready {
            let Some(which) = polled.get(at).copied() else {
                has_ended = true;
                continue;
            };
            let count = if which == 0 { out.read(&mut chunk)? } else { err.read(&mut chunk)? };
            match count {
                0 => open[which] = false,
                count => sink(which == 1, &chunk[..count])?,
            }
        }
    }
    Ok(has_ended || !wait_readable(&[child.as_fd()], deadline.remaining())?.is_empty())
}

/// Kills a child and all that is left of its process session, and collects it.
fn kill(child: &SessionChild) -> io::Result<()> {
    // The child is not collected yet, so that its number still names its session and no other.
    let leader = child.identity.pid;
    let find = || {
        let table = ProcessTable::read()?;
        let members = table.entries().filter(|entry| entry.sid == leader && !entry.is_dead());
        let mut found = Vec::new();
        for entry in members {
            let identity = creel_sys::process::ProcessIdentity::of(entry.pid)?;
            found.extend(identity.map(|identity| Suspect {
                identity,
                comm: entry.comm.clone(),
                proof: Proof::Session,
            }));
        }
        Ok(found)
    };
    let pressure =
        Pressure { first: Signal::TERM, grace: Duration::from_secs(2), limit: KILL_LIMIT };
    end_tree(find, pressure)?;
    child.wait(KILL_LIMIT)?;
    Ok(())
}

/// The end of what git complained about.
#[derive(Debug, Default)]
struct Complaint {
    bytes: Vec<u8>,
}

impl Complaint {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let excess = self.bytes.len().saturating_sub(MAX_STDERR_BYTES);
        self.bytes.drain(..excess);
    }

    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Writes records that end in NUL.
pub(crate) fn write_records<'r>(
    file: &mut File,
    records: impl IntoIterator<Item = &'r [u8]>,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(file);
    for record in records {
        out.write_all(record)?;
        out.write_all(&[0])?;
    }
    out.flush()
}

#[cfg(test)]
mod tests;
