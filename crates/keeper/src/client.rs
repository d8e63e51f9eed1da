//! Talking to the keeper of a run.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::attach::ATTACH_VERSION;
use creel_api::keeper::{
    Hello, KEEPER_VERSION, MAX_LINE_BYTES, Reply, Request, Status, decode_line, encode_line,
    socket_name,
};
use creel_api::plan::TerminalSize;
use creel_api::terminal::{Match, ScreenFormat, ViewerMode};
use creel_record::{EndReason, Run, RunId, SessionId};
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::runtime_dir::{RuntimeDir, RuntimeDirError};
use creel_sys::socket::{LineError, LineReader, Peer, connect_within};
use creel_sys::watch::DirWatch;
use thiserror::Error;

/// Why a keeper can't be talked to. What was recorded stays recorded: a keeper that starts reads
/// the record.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens: the run is over, or was never started on this machine.
    #[error("run {run_id} has no keeper")]
    NotRunning {
        /// The run.
        run_id: RunId,
    },
    /// The runtime directory can't be used.
    #[error("can't look for the run's socket")]
    RuntimeDir(#[source] RuntimeDirError),
    /// The other end isn't a keeper of this run that we understand.
    #[error("the process at {} is not the keeper of this run: {why}", path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It did not answer in time.
    #[error("the keeper of the run did not answer within {} ms", within.as_millis())]
    TimedOut {
        /// The time.
        within: Duration,
    },
    /// The keeper answered with an error.
    #[error("the keeper refused: {message}")]
    Refused {
        /// The stable word.
        code: String,
        /// The sentence.
        message: String,
    },
    /// The connection failed.
    #[error("can't talk to the keeper of the run")]
    Io(#[source] io::Error),
}

/// How long a holder may take to put its socket's name back.
const RECALL_WITHIN: Duration = Duration::from_secs(5);

/// How long its end is waited for before its name is looked for again, where no watch is left.
const RECALL_STEP: Duration = Duration::from_millis(50);

/// What somebody who attaches wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachWish {
    /// What to do.
    pub mode: ViewerMode,
    /// The size of the own terminal; none to have no say.
    pub size: Option<TerminalSize>,
    /// Lines of history above the first redraw.
    pub history_lines: u32,
}

/// A viewer's connection.
#[derive(Debug)]
pub struct Attached {
    /// It.
    pub stream: UnixStream,
    /// What was read already.
    pub received: Vec<u8>,
    /// The viewer's number.
    pub viewer: u64,
    /// The terminal's size.
    pub size: TerminalSize,
}

/// A screen as a keeper has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenBytes {
    /// Its lines.
    pub bytes: Vec<u8>,
    /// Its size.
    pub size: TerminalSize,
    /// Why it may not be what the agent drew; none when it is.
    pub doubt: Option<String>,
}

/// A connection to a run's keeper.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    session_id: SessionId,
    run_id: RunId,
    stream: UnixStream,
}

impl Client {
    /// Connects to the keeper of a run. While a keeper is being restarted this waits for the new
    /// one.
    ///
    /// # Errors
    /// [`ClientError::NotRunning`] when there is none.
    pub fn connect(
        session_id: SessionId,
        run_id: RunId,
        within: Duration,
    ) -> Result<Self, ClientError> {
        let dir = RuntimeDir::open().map_err(ClientError::RuntimeDir)?;
        Self::connect_in(&dir, (session_id, run_id), within)
    }

    /// Connects like [`Client::connect`], in a given runtime directory.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_in(
        dir: &RuntimeDir,
        (session_id, run_id): (SessionId, RunId),
        within: Duration,
    ) -> Result<Self, ClientError> {
        let path =
            dir.socket_path(&socket_name(&run_id.to_string())).map_err(ClientError::RuntimeDir)?;
        let deadline = Deadline::after(within);
        let stream = loop {
            match greet(&path, (session_id, run_id), deadline)? {
                Greeting::Heard(stream) => break stream,
                Greeting::Nobody => return Err(ClientError::NotRunning { run_id }),
                Greeting::Closed if deadline.is_past() => {
                    return Err(ClientError::TimedOut { within });
                }
                Greeting::Closed => {}
            }
        };
        Ok(Self { path, session_id, run_id, stream })
    }

    /// Connects to the keeper of a live run. Where its name is gone from the runtime directory, its
    /// holder is called to put it back: one that has no watch left doesn't notice by itself.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn recall(session_id: SessionId, run: &Run, within: Duration) -> Result<Self, ClientError> {
        let first = Self::connect(session_id, run.id, within);
        let (Err(ClientError::NotRunning { .. }), Some(facts)) = (&first, &run.holder) else {
            return first;
        };
        let (pid, start_ticks, boot_id) = (facts.pid, facts.start_ticks, facts.boot_id.clone());
        let holder = ProcessIdentity { pid, start_ticks, boot_id };
        let dir = RuntimeDir::open().map_err(ClientError::RuntimeDir)?;
        let watch = DirWatch::new(dir.path());
        if !holder.signal(Signal::USR1).map_err(ClientError::Io)? {
            return first;
        }
        let deadline = Deadline::after(within.min(RECALL_WITHIN));
        while !deadline.is_past() {
            match Self::connect(session_id, run.id, deadline.remaining()) {
                Err(ClientError::NotRunning { .. }) => {}
                other => return other,
            }
            match &watch {
                Ok(watch) => drop(watch.wait(deadline.remaining())),
                // Without a watch there is nothing else to wait for than the holder's end.
                Err(_) => drop(holder.wait_gone(RECALL_STEP)),
            }
        }
        first
    }

    /// Asks how the run stands.
    ///
    /// # Errors
    /// When the keeper doesn't answer.
    pub fn status(&mut self, within: Duration) -> Result<Status, ClientError> {
        match self.ask(&Request::Status, within)? {
            Reply::Status(status) => Ok(*status),
            _ => Err(self.stranger("it answers something else than a status")),
        }
    }

    /// Says that an end of the run is recorded.
    ///
    /// # Errors
    /// When the keeper doesn't answer; it will then find the end in the record.
    pub fn end(&mut self, reason: EndReason, within: Duration) -> Result<(), ClientError> {
        self.ask(&Request::End { reason: reason.to_string() }, within).map(drop)
    }

    /// Says that a return of the run is recorded.
    ///
    /// # Errors
    /// When the keeper doesn't answer; it will then find the return in the record.
    pub fn returned(&mut self, within: Duration) -> Result<(), ClientError> {
        self.ask(&Request::Returned, within).map(drop)
    }

    /// Asks whether somebody is there.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn ping(&mut self, within: Duration) -> Result<(), ClientError> {
        self.ask(&Request::Ping, within).map(drop)
    }

    /// Waits until the run is over; false when `within` passed first. A keeper that is restarted
    /// meanwhile does not end the wait.
    ///
    /// # Errors
    /// When the connection fails in another way than by its end.
    pub fn wait_closed(&mut self, within: Duration) -> Result<bool, ClientError> {
        let deadline = Deadline::after(within);
        loop {
            match LineReader::new(&self.stream, MAX_LINE_BYTES).next_line(deadline.remaining()) {
                Ok(Some(_)) => continue,
                Err(LineError::TimedOut) => return Ok(false),
                Ok(None) | Err(_) => {}
            }
            match greet(&self.path, (self.session_id, self.run_id), deadline) {
                Ok(Greeting::Heard(stream)) => self.stream = stream,
                Ok(Greeting::Nobody) => return Ok(true),
                Ok(Greeting::Closed) if deadline.is_past() => return Ok(false),
                Ok(Greeting::Closed) => {}
                Err(ClientError::TimedOut { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    fn ask(&mut self, request: &Request, within: Duration) -> Result<Reply, ClientError> {
        self.converse(request, within).map(|(reply, _)| reply)
    }

    /// Asks, and returns the answer and what was read behind it.
    fn converse(
        &mut self,
        request: &Request,
        within: Duration,
    ) -> Result<(Reply, Vec<u8>), ClientError> {
        let line = encode_line(request).map_err(|error| ClientError::Io(error.into()))?;
        self.stream.write_all(&line).map_err(ClientError::Io)?;
        let mut reader = LineReader::new(&self.stream, MAX_LINE_BYTES);
        let line = match reader.next_line(within) {
            Ok(Some(line)) => line,
            Ok(None) => return Err(ClientError::NotRunning { run_id: self.run_id }),
            Err(LineError::TimedOut) => return Err(ClientError::TimedOut { within }),
            Err(LineError::Io(error)) => return Err(ClientError::Io(error)),
            Err(_) => return Err(self.stranger("it doesn't speak the protocol")),
        };
        match decode_line(&line) {
            Ok(Reply::Error { code, message }) => Err(ClientError::Refused { code, message }),
            Ok(reply) => Ok((reply, reader.into_rest())),
            Err(_) => Err(self.stranger("it doesn't speak the protocol")),
        }
    }

    /// Asks for the screen with so many lines of history above it; returns its bytes, and why it
    /// may not be what the agent drew.
    ///
    /// # Errors
    /// When the keeper doesn't answer, or the run has no terminal.
    pub fn screen(
        &mut self,
        (format, history_lines): (ScreenFormat, u32),
        within: Duration,
    ) -> Result<ScreenBytes, ClientError> {
        let deadline = Deadline::after(within);
        let (reply, rest) = self.converse(&Request::Screen { format, history_lines }, within)?;
        let Reply::Screen { len_bytes, size, doubt } = reply else {
            return Err(self.stranger("it answers something else than a screen"));
        };
        let mut bytes = rest;
        let len = usize::try_from(len_bytes).unwrap_or(usize::MAX);
        while bytes.len() < len {
            let ready = wait_readable(&[self.stream.as_fd()], deadline.remaining());
            if ready.map_err(ClientError::Io)?.is_empty() {
                return Err(ClientError::TimedOut { within });
            }
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk).map_err(ClientError::Io)? {
                0 => return Err(ClientError::NotRunning { run_id: self.run_id }),
                count => bytes.extend_from_slice(&chunk[..count]),
            }
        }
        Ok(ScreenBytes { bytes, size, doubt })
    }

    /// Searches screen and history; returns the places, and whether there are more.
    ///
    /// # Errors
    /// When the keeper doesn't answer, the run has no terminal, or the pattern is none.
    pub fn search(
        &mut self,
        (pattern, is_regex): (&str, bool),
        within: Duration,
    ) -> Result<(Vec<Match>, bool), ClientError> {
        let pattern = pattern.to_owned();
        match self.ask(&Request::Search { pattern, is_regex }, within)? {
            Reply::Found { matches, is_cut } => Ok((matches, is_cut)),
            _ => Err(self.stranger("it answers something else than a search")),
        }
    }

    /// Gives the terminal a size.
    ///
    /// # Errors
    /// When the keeper doesn't answer, or the run has no terminal.
    pub fn resize(&mut self, size: TerminalSize, within: Duration) -> Result<(), ClientError> {
        self.ask(&Request::Resize { size }, within).map(drop)
    }

    /// Detaches every viewer; returns how many there were.
    ///
    /// # Errors
    /// When the keeper doesn't answer, or the run has no terminal.
    pub fn detach_all(&mut self, within: Duration) -> Result<u32, ClientError> {
        match self.ask(&Request::DetachAll, within)? {
            Reply::Detached { viewer_count } => Ok(viewer_count),
            _ => Err(self.stranger("it answers something else than a count")),
        }
    }

    /// Has the keeper leave the run to another one, of the program that is installed now.
    ///
    /// # Errors
    /// When the keeper doesn't answer.
    pub fn hand_over(&mut self, within: Duration) -> Result<(), ClientError> {
        self.ask(&Request::Handover, within).map(drop)
    }

    /// Becomes a viewer of the terminal: from here on the connection carries frames.
    ///
    /// # Errors
    /// When the keeper doesn't answer, the run has no terminal, or the keeper speaks another
    /// version of the frames.
    pub fn attach(mut self, wish: &AttachWish, within: Duration) -> Result<Attached, ClientError> {
        let request = Request::Attach {
            version: ATTACH_VERSION,
            mode: wish.mode,
            size: wish.size,
            history_lines: wish.history_lines,
        };
        let (reply, received) = self.converse(&request, within)?;
        let Reply::Attached { viewer, size, .. } = reply else {
            return Err(self.stranger("it answers something else than an attachment"));
        };
        Ok(Attached { stream: self.stream, received, viewer, size })
    }

    fn stranger(&self, why: &'static str) -> ClientError {
        ClientError::Stranger { path: self.path.clone(), why }
    }
}

enum Greeting {
    Heard(UnixStream),
    /// Nobody listens.
    Nobody,
    /// Somebody listened and closed: a keeper that ended with connections in its queue.
    Closed,
}

fn greet(
    path: &Path,
    (session_id, run_id): (SessionId, RunId),
    deadline: Deadline,
) -> Result<Greeting, ClientError> {
    let stream = match connect_within(path, deadline.remaining()) {
        Ok(stream) => stream,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(Greeting::Nobody),
                io::ErrorKind::TimedOut => Ok(Greeting::Closed),
                _ => Err(ClientError::Io(error)),
            };
        }
    };
    let stranger = |why| Err(ClientError::Stranger { path: path.to_owned(), why });
    if !Peer::of(&stream).map_err(ClientError::Io)?.is_same_user() {
        return stranger("it belongs to another user");
    }
    let within = deadline.remaining();
    let line = match LineReader::new(&stream, MAX_LINE_BYTES).next_line(within) {
        Ok(Some(line)) => line,
        Ok(None) | Err(LineError::Truncated | LineError::Io(_)) => return Ok(Greeting::Closed),
        Err(LineError::TimedOut) => return Err(ClientError::TimedOut { within }),
        Err(LineError::TooLong { .. }) => return stranger("it doesn't speak the protocol"),
    };
    let Ok(hello) = decode_line::<Hello>(&line) else {
        return stranger("it doesn't speak the protocol");
    };
    if hello.version > KEEPER_VERSION {
        return stranger("it speaks a newer version of the protocol");
    }
    if hello.session_id != session_id.to_string() || hello.run_id != run_id.to_string() {
        return stranger("it keeps another run");
    }
    Ok(Greeting::Heard(stream))
}
