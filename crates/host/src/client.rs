//! Asking the host, for verbs: one request a connection, without an async runtime.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use creel_api::host::{API_HEADER, API_MAJOR, API_MINOR, ErrorView, SOCKET_NAME};
use creel_sys::Deadline;
use creel_sys::runtime_dir::{RuntimeDir, RuntimeDirError};
use creel_sys::socket::{Peer, connect_within};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// How long the host may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Bytes of an answer: ten thousand of the longest rows that occur.
const MAX_ANSWER_BYTES: u64 = 256 * 1024 * 1024;

/// Why the host did not do as asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("no host runs")]
    Absent,
    /// Its socket can't be looked for.
    #[error("can't look for the host's socket")]
    RuntimeDir(#[source] RuntimeDirError),
    /// The other end isn't a host that we understand.
    #[error("the process at {} is no host of ours: {why}", path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It did not answer in time.
    #[error("the host did not answer within {} s", ANSWER_WITHIN.as_secs())]
    TimedOut,
    /// It refused.
    #[error("{}", view.message)]
    Refused {
        /// What it said.
        view: ErrorView,
    },
    /// The connection failed.
    #[error("can't talk to the host")]
    Io(#[source] io::Error),
}

/// The way to the host of a runtime directory.
#[derive(Clone, Debug)]
pub struct Client {
    path: PathBuf,
}

impl Client {
    /// Makes a client; nothing is connected yet.
    ///
    /// # Errors
    /// When the socket's path is too long.
    pub fn new(runtime: &RuntimeDir) -> Result<Self, ClientError> {
        let path = runtime.socket_path(SOCKET_NAME).map_err(ClientError::RuntimeDir)?;
        Ok(Self { path })
    }

    /// Tells whether somebody listens, without asking anything or waiting.
    pub fn is_up(&self) -> bool {
        match connect_within(&self.path, Duration::ZERO) {
            Ok(_) => true,
            // A full queue has somebody behind it.
            Err(error) => error.kind() == io::ErrorKind::TimedOut,
        }
    }

    /// Asks for a value.
    ///
    /// # Errors
    /// When there is no host, or it refuses.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.ask("GET", path, &[])
    }

    /// Asks for something to be done.
    ///
    /// # Errors
    /// When there is no host, or it refuses.
    pub fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.ask("POST", path, &[])
    }

    /// Asks for something to be replaced.
    ///
    /// # Errors
    /// When there is no host, or it refuses.
    pub fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        value: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(value).map_err(|error| ClientError::Io(error.into()))?;
        self.ask("PUT", path, &body)
    }

    fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Result<T, ClientError> {
        let deadline = Deadline::after(ANSWER_WITHIN);
        let mut stream = self.connect(deadline)?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: creel\r\n{API_HEADER}: {API_MAJOR}.{API_MINOR}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        // A host that refuses by the head alone has closed its end by the time the body is sent:
        // its answer is read all the same.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let bytes = read_all(&mut stream, deadline)?;
        let (status, body) = parts(&bytes).ok_or_else(|| self.stranger("it speaks no HTTP"))?;
        if status == 200 {
            return serde_json::from_slice(body)
                .map_err(|_| self.stranger("its answer has another shape"));
        }
        match serde_json::from_slice(body) {
            Ok(view) => Err(ClientError::Refused { view }),
            Err(_) => Err(self.stranger("its refusal has another shape")),
        }
    }

    fn connect(&self, deadline: Deadline) -> Result<UnixStream, ClientError> {
        let stream =
            connect_within(&self.path, deadline.remaining()).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                        ClientError::Absent
                    }
                    io::ErrorKind::TimedOut => ClientError::TimedOut,
                    _ => ClientError::Io(error),
                }
            })?;
        if !Peer::of(&stream).map_err(ClientError::Io)?.is_same_user() {
            return Err(self.stranger("it belongs to another user"));
        }
        stream.set_write_timeout(Some(ANSWER_WITHIN)).map_err(ClientError::Io)?;
        Ok(stream)
    }

    fn stranger(&self, why: &'static str) -> ClientError {
        ClientError::Stranger { path: self.path.clone(), why }
    }
}

fn read_all(stream: &mut UnixStream, deadline: Deadline) -> Result<Vec<u8>, ClientError> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        if deadline.is_past() {
            return Err(ClientError::TimedOut);
        }
        stream.set_read_timeout(Some(deadline.remaining())).map_err(ClientError::Io)?;
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(ClientError::TimedOut);
            }
            Err(error) => return Err(ClientError::Io(error)),
        }
        if bytes.len() as u64 > MAX_ANSWER_BYTES {
            return Err(ClientError::Io(io::ErrorKind::FileTooLarge.into()));
        }
    }
}

/// Returns status and body of a whole answer; a body that is cut is none.
fn parts(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    let body = bytes.get(end + 4..)?;
    (body.len() == length).then_some((status, body))
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn only_a_whole_answer_is_one() {
        let check = |text: &str, expected: Option<(u16, &str)>| {
            let expected = expected.map(|(status, body)| (status, body.as_bytes()));
            assert_eq!(parts(text.as_bytes()), expected, "{text:?}");
        };
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Some((200, "{}")));
        check("HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n", Some((404, "")));
        check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", None);
        check("HTTP/1.1 200 OK\r\n\r\n{}", None);
        check("HTTP/1.1 200 OK\r\nContent-Length: 2", None);
        check("hello", None);
        check("", None);
    }
}
