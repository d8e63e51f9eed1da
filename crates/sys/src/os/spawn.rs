//! Starting a program in a process session of its own, with nothing inherited by accident.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::MAX_WAIT;
use crate::os::exit::{Exit, reap_one};
use crate::os::process::{ProcessHandle, ProcessIdentity, Signal};

mod program;

use program::Program;

/// A descriptor that the program finds under a number of its own.
#[derive(Debug)]
pub struct InheritedFd {
    /// What it gets.
    pub fd: OwnedFd,
    /// Where it gets it; 3 or more.
    pub number: RawFd,
}

/// A program to start. Nothing but what is listed here reaches it: no variable, no descriptor, no
/// ignored signal, no signal mask.
#[derive(Debug)]
pub struct SessionCommand {
    /// The executable; sought in the absolute directories of the `PATH` of `env` when it has no
    /// slash.
    pub program: PathBuf,
    /// Arguments after the program's name.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Standard input.
    pub stdin: OwnedFd,
    /// Standard output.
    pub stdout: OwnedFd,
    /// Standard error.
    pub stderr: OwnedFd,
    /// Further descriptors.
    pub inherited: Vec<InheritedFd>,
    /// The `cgroup.procs` of the group it joins before it runs
    /// ([`Cgroup::join_file`](crate::cgroup::Cgroup::join_file)).
    pub cgroup: Option<OwnedFd>,
}

/// A started child. Dropping it neither ends nor collects it.
#[derive(Debug)]
pub struct SessionChild {
    /// Who it is. Also the leader of its process session.
    pub identity: ProcessIdentity,
    handle: ProcessHandle,
}

impl SessionChild {
    /// Sends a signal; false when the child is gone.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        self.handle.signal(signal)
    }

    /// Waits for the end and collects it; `None` when `within` passed first.
    pub fn wait(&self, within: Duration) -> io::Result<Option<Exit>> {
        if self.handle.wait_gone(within)? { reap_one(self.handle.as_fd()) } else { Ok(None) }
    }
}

/// Readable once the child has ended.
impl AsFd for SessionChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Starts a program as leader of a new process session.
///
/// Fails with the error of `exec` when the program can't be run, and with that of the cgroup when
/// it can't be joined; nothing is left running then.
pub fn spawn_session(command: SessionCommand) -> io::Result<SessionChild> {
    spawn(command, Terminal::None)
}

/// Starts a program as [`spawn_session`] does, with the terminal that its standard input is as the
/// controlling one of its session.
///
/// # Errors
/// As [`spawn_session`], and when standard input is no terminal or controls another session.
pub fn spawn_on_terminal(command: SessionCommand) -> io::Result<SessionChild> {
    spawn(command, Terminal::StandardInput)
}

/// Which terminal controls the new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminal {
    None,
    StandardInput,
}

fn spawn(command: SessionCommand, terminal: Terminal) -> io::Result<SessionChild> {
    let inherited = Inherited::new(&command.inherited)?;
    let program = Program::new(&command)?;
    let (failure, report) = failure_pipe(inherited.above)?;
    let mut child = Command::new(&command.program);
    child
        .env_clear()
        .current_dir(&command.cwd)
        .stdin(command.stdin)
        .stdout(command.stdout)
        .stderr(command.stderr);
    let place = Place {
        moves: inherited.moves(),
        cgroup: command.cgroup.as_ref().map(AsRawFd::as_raw_fd),
        terminal,
    };
    let report_number = report.as_raw_fd();
    // SAFETY: the closure runs between fork and exec. It makes system calls only, on numbers and
    // texts that were laid out before: no allocation, no lock, no panic.
    unsafe {
        child.pre_exec(move || become_program(&place, &program, report_number));
    }
    let pid = i32::try_from(child.spawn()?.id()).map_err(|_| io::ErrorKind::InvalidData)?;
    // The child is not reaped yet, so that even if it ended, its pid is still its own.
    let handle = ProcessHandle::of_child(pid)?;
    drop(report);
    if let Some(error) = read_failure(&failure)? {
        handle.wait_gone(MAX_WAIT)?;
        reap_one(handle.as_fd())?;
        return Err(error);
    }
    let identity = ProcessIdentity::of(pid)?.ok_or(io::ErrorKind::NotFound)?;
    Ok(SessionChild { identity, handle })
}

/// Makes a pipe whose writing end is above every number the child gets.
fn failure_pipe(above: RawFd) -> io::Result<(OwnedFd, OwnedFd)> {
    let (failure, report) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((failure, fcntl_dupfd_cloexec(report, above)?))
}

/// Reads what the child reports: an error number, or the end, which comes with `exec`.
fn read_failure(failure: &OwnedFd) -> io::Result<Option<io::Error>> {
    let mut number = [0; size_of::<i32>()];
    loop {
        match rustix::io::read(failure, &mut number) {
            Ok(0) => return Ok(None),
            // A pipe passes so few bytes whole.
            Ok(_) => return Ok(Some(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the child inherits, duplicated above every number it is to get there, so that no move
/// overwrites what is still to be moved.
struct Inherited {
    sources: Vec<(OwnedFd, RawFd)>,
    above: RawFd,
}

impl Inherited {
    fn new(inherited: &[InheritedFd]) -> io::Result<Self> {
        if inherited.iter().any(|fd| fd.number < 3) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let above = inherited.iter().map(|fd| fd.number + 1).max().unwrap_or(3);
        let sources = inherited
            .iter()
            .map(|InheritedFd { fd, number }| Ok((fcntl_dupfd_cloexec(fd, above)?, *number)))
            .collect::<io::Result<_>>()?;
        Ok(Self { sources, above })
    }

    fn moves(&self) -> Vec<(RawFd, RawFd)> {
        self.sources.iter().map(|(fd, number)| (fd.as_raw_fd(), *number)).collect()
    }
}

/// Runs in the child and never returns: the standard library's own pipe for errors of `exec` may
/// have a number that is given to something else here, so that it can't be used any more.
fn become_program(place: &Place, program: &Program, report: RawFd) -> io::Result<()> {
    let error = match prepare(place) {
        Ok(()) => program.exec(),
        Err(error) => error,
    };
    let number = error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes();
    // SAFETY: writes a buffer of its own to a descriptor that the parent keeps open, and ends the
    // process without running anything of the parent's.
    unsafe {
        libc::write(report, number.as_ptr().cast(), number.len());
        libc::_exit(127)
    }
}

/// What the child does to itself before `exec`, laid out before the fork.
struct Place {
    moves: Vec<(RawFd, RawFd)>,
    cgroup: Option<RawFd>,
    terminal: Terminal,
}

/// Only async-signal-safe calls.
fn prepare(place: &Place) -> io::Result<()> {
    rustix::process::setsid()?;
    if place.terminal == Terminal::StandardInput {
        // SAFETY: the number is open: the standard library put standard input there.
        let input = unsafe { BorrowedFd::borrow_raw(0) };
        rustix::process::ioctl_tiocsctty(input)?;
    }
    if let Some(cgroup) = place.cgroup {
        // SAFETY: the descriptor stays open in the parent until the spawn returned.
        let cgroup = unsafe { BorrowedFd::borrow_raw(cgroup) };
        rustix::io::write(cgroup, b"0")?;
    }
    reset_signals();
    // Descriptors that we inherited ourselves, e.g. the lock of a script that started us, must
    // not live on in a program that outlives it. Kernels before 5.11 refuse the flag; there only
    // our own, all close-on-exec, are kept back.
    // SAFETY: marks descriptors of this process; no memory is touched.
    unsafe {
        libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
    }
    for (from, to) in &place.moves {
        // SAFETY: `from` is open (it was duplicated before the fork and is kept until the spawn
        // returned), and nothing in this process uses `to` from now on.
        if unsafe { libc::dup2(*from, *to) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn reset_signals() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: sets a default disposition. Numbers that can't be set are refused, which is
        // what is wanted for them.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
        }
    }
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises the set before it is read.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests;
