//! Starting the agent, and what is left of its run when it is over.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::thread;

use creel_api::plan::{Command, TerminalPlan};
use creel_sys::cgroup::Cgroup;
use creel_sys::pty::{Pty, Size};
use creel_sys::spawn::{SessionChild, SessionCommand, spawn_on_terminal, spawn_session};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::inherited::duplicate;
use crate::say::say;

/// What the holder removes when the run is over.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) cgroup: Option<Cgroup>,
}

impl Agent {
    pub(super) fn clean_up(&self) {
        if let Some(group) = &self.cgroup
            && let Err(error) = group.remove()
        {
            say!("creel hold: can't remove {}: {error}", group.dir().display());
        }
    }
}

/// An agent that was started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: SessionChild,
    pub(super) output: Output,
    /// The group that it could be put into.
    pub(super) cgroup: Option<Cgroup>,
}

/// Our ends of what the agent writes to.
#[derive(Debug)]
pub(super) enum Output {
    Pipes {
        stdout: OwnedFd,
        stderr: OwnedFd,
    },
    /// The slave is kept open as well: an agent that closes all of its own for a moment is not at
    /// its end, and the master of a terminal without any slave would wake its reader for ever.
    Terminal {
        master: OwnedFd,
        _slave: OwnedFd,
    },
}

/// The agent's ends.
struct Ends {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

fn open(command: &Command, terminal: Option<&TerminalPlan>) -> io::Result<(Output, Ends)> {
    let Some(terminal) = terminal else {
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = io::pipe()?;
        let stdin = stdin_of(&command.stdin)?;
        let ends = Ends { stdin, stdout: stdout_end.into(), stderr: stderr_end.into() };
        return Ok((Output::Pipes { stdout: stdout.into(), stderr: stderr.into() }, ends));
    };
    let size = Size { columns: terminal.size.columns, lines: terminal.size.lines };
    let Pty { master, slave } = Pty::open(size)?;
    let ends =
        Ends { stdin: duplicate(&slave)?, stdout: duplicate(&slave)?, stderr: duplicate(&slave)? };
    Ok((Output::Terminal { master, _slave: slave }, ends))
}

/// Starts a command with pipes or on a terminal, in a group if that can be done.
pub(super) fn start(
    command: &Command,
    terminal: Option<&TerminalPlan>,
    cgroup: Option<Cgroup>,
) -> io::Result<Started> {
    let (output, ends) = open(command, terminal)?;
    let spawn = |cgroup: Option<&Cgroup>| {
        let start = if terminal.is_some() { spawn_on_terminal } else { spawn_session };
        start(SessionCommand {
            program: command.program.clone(),
            args: command.args.iter().map(OsString::from).collect(),
            env: command.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: command.cwd.clone(),
            stdin: duplicate(&ends.stdin)?,
            stdout: duplicate(&ends.stdout)?,
            stderr: duplicate(&ends.stderr)?,
            inherited: Vec::new(),
            cgroup: cgroup.map(Cgroup::join_file).transpose()?,
        })
    };
    let (child, cgroup) = match spawn(cgroup.as_ref()) {
        Ok(child) => (child, cgroup),
        // The group may be what failed: the agent is worth more than its name tag.
        Err(_) if cgroup.is_some() => {
            let child = spawn(None);
            remove(cgroup);
            (child?, None)
        }
        Err(error) => return Err(error),
    };
    Ok(Started { child, output, cgroup })
}

fn remove(cgroup: Option<Cgroup>) {
    if let Some(group) = cgroup
        && let Err(error) = group.remove()
    {
        say!("creel hold: can't remove {}: {error}", group.dir().display());
    }
}

/// Returns a pipe that gives `text` and then ends, whether or not anybody reads it.
fn stdin_of(text: &str) -> io::Result<OwnedFd> {
    if text.is_empty() {
        return Ok(File::open("/dev/null")?.into());
    }
    let (reader, mut writer) = io::pipe()?;
    let flags = fcntl_getfl(&writer)?;
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK)?;
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match writer.write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if !rest.is_empty() {
        fcntl_setfl(&writer, flags)?;
        feed(writer, rest.to_vec())?;
    }
    Ok(reader.into())
}

/// Writes what did not fit the pipe from a thread, which waits until the agent reads, or ends.
fn feed(mut writer: PipeWriter, rest: Vec<u8>) -> io::Result<()> {
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // An agent need not read its input.
        let _ = writer.write_all(&rest);
    })?;
    Ok(())
}
