//! Talking to the keeper of a run.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::keeper::{
    Hello, KEEPER_VERSION, MAX_LINE_BYTES, Reply, Request, Status, decode_line, encode_line,
    socket_name,
};
use creel_record::{EndReason, RunId, SessionId};
use creel_sys::Deadline;
use creel_sys::runtime_dir::{RuntimeDir, RuntimeDirError};
use creel_sys::socket::{LineError, LineReader, Peer, connect_within};
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
        let line = encode_line(request).map_err(|error| ClientError::Io(error.into()))?;
        self.stream.write_all(&line).map_err(ClientError::Io)?;
        let line = match LineReader::new(&self.stream, MAX_LINE_BYTES).next_line(within) {
            Ok(Some(line)) => line,
            Ok(None) => return Err(ClientError::NotRunning { run_id: self.run_id }),
            Err(LineError::TimedOut) => return Err(ClientError::TimedOut { within }),
            Err(LineError::Io(error)) => return Err(ClientError::Io(error)),
            Err(_) => return Err(self.stranger("it doesn't speak the protocol")),
        };
        match decode_line(&line) {
            Ok(Reply::Error { code, message }) => Err(ClientError::Refused { code, message }),
            Ok(reply) => Ok(reply),
            Err(_) => Err(self.stranger("it doesn't speak the protocol")),
        }
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
