//! Unix stream sockets: ours alone, with bounds and deadlines.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, recv,
    socket_with,
};
use thiserror::Error;

use crate::Deadline;
use crate::fs::{FsFile, LockMode, OpenHow};
use crate::os::os_fs::OsFs;
use crate::os::poll::wait_readable;

/// Connections that may wait to be accepted; the kernel's own default bound is higher.
const MAX_WAITING_CONNECTIONS: i32 = 128;

/// How long another process may take to bind in the same directory: a few system calls.
const BIND_WITHIN: Duration = Duration::from_secs(5);

/// Why a listener couldn't be made.
#[derive(Debug, Error)]
pub enum BindError {
    /// Somebody listens there.
    #[error("the socket {} is in use", path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// It failed at the operating system.
    #[error("can't listen on the socket {}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Listens on `path` with mode 0600.
///
/// What a dead process left there is replaced, which is known by the refusal of a connection and
/// by nothing else. Those who bind in one directory do so one after the other, held by a lock on
/// the directory, so that a socket between its making and its listening isn't taken for dead.
pub fn bind_listener(path: &Path) -> Result<UnixListener, BindError> {
    let failed = |source| BindError::Io { path: path.to_owned(), source };
    let dir = OsFs.open_file(path.parent().unwrap_or(Path::new("/")), OpenHow::Read);
    let dir = dir.map_err(failed)?;
    if !dir.lock(LockMode::Exclusive, BIND_WITHIN).map_err(failed)? {
        return Err(failed(io::ErrorKind::TimedOut.into()));
    }
    if !is_free(path).map_err(failed)? {
        return Err(BindError::InUse { path: path.to_owned() });
    }
    listen_at(path).map_err(failed)
}

/// Tells whether nobody listens at `path`; a dead socket there is removed.
fn is_free(path: &Path) -> io::Result<bool> {
    match connect_within(path, Duration::ZERO) {
        // A full queue of connections still has somebody behind it.
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            // A file that is no socket refuses connections too, but is none of ours.
            if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            std::fs::remove_file(path).map(|()| true)
        }
        Err(error) => Err(error),
    }
}

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Linux makes the file with the mode of the descriptor: it is never open to others.
    fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
    bind(&fd, &SocketAddrUnix::new(path)?)?;
    listen(&fd, MAX_WAITING_CONNECTIONS)?;
    Ok(fd.into())
}

/// Connects to a listener; fails with `TimedOut` when its queue stays full for `within`.
pub fn connect_within(path: &Path, within: Duration) -> io::Result<UnixStream> {
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A zero would mean to wait for ever.
    let wait = within.clamp(Duration::from_millis(1), crate::MAX_WAIT);
    set_socket_timeout(&fd, Timeout::Send, Some(wait))?;
    match connect(&fd, &SocketAddrUnix::new(path)?) {
        Ok(()) => {}
        Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
        Err(error) => return Err(error.into()),
    }
    set_socket_timeout(&fd, Timeout::Send, None)?;
    Ok(fd.into())
}

/// Accepts a connection; `None` when none came within the time.
pub fn accept_within(listener: &UnixListener, within: Duration) -> io::Result<Option<UnixStream>> {
    if wait_readable(&[listener.as_fd()], within)?.is_empty() {
        return Ok(None);
    }
    listener.accept().map(|(stream, _)| Some(stream))
}

/// Who is at the other end, as the kernel saw it when the connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its pid then; 0 when it lives in a pid namespace that ours doesn't contain.
    pub pid: i32,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
}

impl Peer {
    /// Reads who is at the other end of `stream`.
    pub fn of(stream: &UnixStream) -> io::Result<Self> {
        let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len_bytes = libc::socklen_t::try_from(size_of::<libc::ucred>())
            .expect("twelve bytes fit any length");
        // SAFETY: the kernel writes at most `len_bytes` bytes of plain numbers into `found`.
        let done = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut found).cast(),
                &raw mut len_bytes,
            )
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { pid: found.pid, uid: found.uid, gid: found.gid })
    }

    /// Tells whether it is the user of this process.
    #[must_use]
    pub fn is_same_user(&self) -> bool {
        self.uid == rustix::process::geteuid().as_raw()
    }
}

/// Why no line came.
#[derive(Debug, Error)]
pub enum LineError {
    /// The peer sent more bytes than allowed without ending the line.
    #[error("the line is longer than {max_bytes} bytes")]
    TooLong {
        /// The bound.
        max_bytes: usize,
    },
    /// The peer closed the connection within a line.
    #[error("the connection was closed within a line")]
    Truncated,
    /// The deadline passed.
    #[error("no line came in time")]
    TimedOut,
    /// The connection failed.
    #[error("can't read from the socket")]
    Io(#[from] io::Error),
}

/// Reads lines from a stream, each within a bound and a deadline.
#[derive(Debug)]
pub struct LineReader<'a> {
    stream: &'a UnixStream,
    buffer: Vec<u8>,
    max_bytes: usize,
}

impl<'a> LineReader<'a> {
    /// Reads from `stream` lines of at most `max_bytes` bytes, the newline not counted.
    #[must_use]
    pub fn new(stream: &'a UnixStream, max_bytes: usize) -> Self {
        Self { stream, buffer: Vec::new(), max_bytes }
    }

    /// Returns what was read behind the last line.
    #[must_use]
    pub fn into_rest(self) -> Vec<u8> {
        self.buffer
    }

    /// Returns the next line without its newline; `None` when the peer closed between lines.
    /// After a time-out what came so far is kept, and the next call goes on.
    pub fn next_line(&mut self, within: Duration) -> Result<Option<Vec<u8>>, LineError> {
        let deadline = Deadline::after(within);
        let mut searched = 0;
        loop {
            let newline = self.buffer[searched..].iter().position(|byte| *byte == b'\n');
            let len_bytes = newline.map_or(self.buffer.len(), |at| searched + at);
            if len_bytes > self.max_bytes {
                return Err(LineError::TooLong { max_bytes: self.max_bytes });
            }
            if newline.is_some() {
                let mut line: Vec<u8> = self.buffer.drain(..=len_bytes).collect();
                line.pop();
                return Ok(Some(line));
            }
            searched = self.buffer.len();
            if !self.fill(deadline)? {
                return if self.buffer.is_empty() { Ok(None) } else { Err(LineError::Truncated) };
            }
        }
    }

    /// Reads what is there; false at the end.
    fn fill(&mut self, deadline: Deadline) -> Result<bool, LineError> {
        let mut chunk = [0; 4096];
        loop {
            match recv(self.stream, &mut chunk[..], RecvFlags::DONTWAIT) {
                Ok((count, _)) => {
                    self.buffer.extend_from_slice(&chunk[..count]);
                    return Ok(count > 0);
                }
                Err(Errno::AGAIN) => {
                    let ready = wait_readable(&[self.stream.as_fd()], deadline.remaining())?;
                    if ready.is_empty() {
                        return Err(LineError::TimedOut);
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(LineError::Io(error.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests;
