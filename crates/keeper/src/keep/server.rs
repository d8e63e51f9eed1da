//! The run's socket.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use creel_api::keeper::{Hello, MAX_LINE_BYTES, Reply, Request, decode_line, encode_line};
use creel_sys::socket::Peer;

use crate::lines::{Filled, Lines};
use crate::say::say;

/// Connections served together; each waiter of the run is one.
const MAX_PEERS: usize = 256;

struct Connection {
    id: u64,
    stream: UnixStream,
    lines: Lines,
}

/// A request and who made it.
pub(super) struct Asked {
    pub(super) by: u64,
    pub(super) request: Request,
}

/// Listener and connections.
pub(super) struct Server {
    listener: UnixListener,
    hello: Vec<u8>,
    connections: Vec<Connection>,
    next_id: u64,
}

impl Server {
    pub(super) fn new(listener: UnixListener, hello: &Hello) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let hello = encode_line(hello)?;
        Ok(Self { listener, hello, connections: Vec::new(), next_id: 0 })
    }

    /// Returns what to poll.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let connections = self.connections.iter().map(|connection| connection.stream.as_fd());
        // Those over the bound wait in the kernel's queue until somebody leaves.
        let listener = (self.connections.len() < MAX_PEERS).then(|| self.listener.as_fd());
        listener.into_iter().chain(connections)
    }

    /// Accepts who waits and reads what is there. Never waits.
    pub(super) fn serve(&mut self) -> Vec<Asked> {
        let mut asked = Vec::new();
        let mut open = Vec::with_capacity(self.connections.len());
        for mut connection in std::mem::take(&mut self.connections) {
            if connection.read(&mut asked) == Filled::Open {
                open.push(connection);
            }
        }
        self.connections = open;
        while self.connections.len() < MAX_PEERS {
            let Ok((stream, _)) = self.listener.accept() else { break };
            match self.welcome(stream) {
                Ok(Some(connection)) => self.connections.push(connection),
                Ok(None) => {}
                Err(error) => say!("creel keep: a connection failed: {error}"),
            }
        }
        asked
    }

    fn welcome(&mut self, mut stream: UnixStream) -> io::Result<Option<Connection>> {
        if !Peer::of(&stream)?.is_same_user() {
            return Ok(None);
        }
        stream.set_nonblocking(true)?;
        stream.write_all(&self.hello)?;
        self.next_id += 1;
        let lines = Lines::new(MAX_LINE_BYTES);
        Ok(Some(Connection { id: self.next_id, stream, lines }))
    }

    /// Answers a request. A peer that doesn't read its answers loses its connection.
    pub(super) fn reply(&mut self, to: u64, reply: &Reply) {
        let Some(at) = self.connections.iter().position(|connection| connection.id == to) else {
            return;
        };
        let sent = encode_line(reply)
            .map_err(io::Error::from)
            .and_then(|line| self.connections[at].stream.write_all(&line));
        if sent.is_err() {
            self.connections.remove(at);
        }
    }
}

impl Connection {
    fn read(&mut self, asked: &mut Vec<Asked>) -> Filled {
        let mut is_garbage = false;
        let by = self.id;
        let filled = self.lines.fill(&mut self.stream, |line| match decode_line(line) {
            Ok(request) => asked.push(Asked { by, request }),
            Err(_) => is_garbage = true,
        });
        if is_garbage { Filled::Closed } else { filled }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::time::Duration;

    use super::*;

    fn server() -> (Server, tempfile::TempDir) {
        let dir = tempfile::tempdir().expect("a directory");
        let listener = UnixListener::bind(dir.path().join("s")).expect("listens");
        let hello =
            Hello { version: 1, session_id: "s".to_owned(), run_id: "r".to_owned(), run_number: 1 };
        (Server::new(listener, &hello).expect("a server"), dir)
    }

    fn connect(dir: &tempfile::TempDir) -> BufReader<UnixStream> {
        let stream = UnixStream::connect(dir.path().join("s")).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a deadline");
        BufReader::new(stream)
    }

    /// Sends bytes, has them served, and returns what came back and how many stay connected.
    fn check(sent: &[u8], expected: &[Request], connections: usize) {
        let (mut server, dir) = server();
        let mut client = connect(&dir);
        server.serve();
        client.get_mut().write_all(sent).expect("sends");
        let asked = server.serve();
        for Asked { by, .. } in &asked {
            server.reply(*by, &Reply::Pong);
        }
        let requests: Vec<_> = asked.into_iter().map(|asked| asked.request).collect();
        assert_eq!(requests, expected);
        assert_eq!(server.connections.len(), connections);
        let mut hello = String::new();
        client.read_line(&mut hello).expect("a hello");
        assert!(hello.starts_with("{\"version\":1,"), "{hello}");
        drop(server);
        let mut rest = String::new();
        // What the server had not read when it closed resets the connection.
        let _ = client.read_to_string(&mut rest);
        assert_eq!(rest.lines().count(), if connections == 0 { 0 } else { expected.len() });
    }

    #[test]
    fn requests_are_answered_in_order() {
        check(b"", &[], 1);
        check(b"{\"op\":\"ping\"}\n", &[Request::Ping], 1);
        check(b"{\"op\":\"ping\"}\n{\"op\":\"status\"}\n", &[Request::Ping, Request::Status], 1);
        check(b"{\"op\":\"dance\"}\n", &[Request::Unknown], 1);
    }

    #[test]
    fn garbage_and_overlong_lines_end_the_connection() {
        check(b"hello\n", &[], 0);
        check(&vec![b'x'; MAX_LINE_BYTES + 1], &[], 1);
    }
}
