//! The run's socket.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use creel_api::keeper::{Hello, MAX_LINE_BYTES, Reply, Request, decode_line, encode_line};
use creel_sys::poll::Interest;
use creel_sys::socket::Peer;

use crate::lines::{Filled, Lines};
use crate::say::say;

/// The most that waits for one peer, in bytes: a screen with all of its history, several times.
const MAX_UNSENT_BYTES: usize = 64 << 20;

/// Connections served together; each waiter of the run is one.
const MAX_PEERS: usize = 256;

struct Connection {
    id: u64,
    pid: i32,
    stream: UnixStream,
    lines: Lines,
    /// What it has not taken yet of an answer.
    unsent: Vec<u8>,
    sent: usize,
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

    /// Listens on another socket from now on; whoever is connected stays.
    pub(super) fn listen(&mut self, listener: UnixListener) {
        match listener.set_nonblocking(true) {
            Ok(()) => self.listener = listener,
            Err(error) => say!("creel keep: can't listen on the new socket: {error}"),
        }
    }

    /// Returns what to poll.
    pub(super) fn fds(&self) -> impl Iterator<Item = (BorrowedFd<'_>, Interest)> {
        let connections = self.connections.iter().map(|connection| {
            // One that doesn't take its answer is not read from until it has.
            let is_sent = connection.unsent.is_empty();
            (connection.stream.as_fd(), if is_sent { Interest::Read } else { Interest::Write })
        });
        // Those over the bound wait in the kernel's queue until somebody leaves.
        let listener =
            (self.connections.len() < MAX_PEERS).then(|| (self.listener.as_fd(), Interest::Read));
        listener.into_iter().chain(connections)
    }

    /// Accepts who waits and reads what is there. Never waits.
    pub(super) fn serve(&mut self) -> Vec<Asked> {
        let mut asked = Vec::new();
        let mut open = Vec::with_capacity(self.connections.len());
        for mut connection in std::mem::take(&mut self.connections) {
            let is_open = connection.send().is_ok()
                && (!connection.unsent.is_empty() || connection.read(&mut asked) == Filled::Open);
            if is_open {
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
        let peer = Peer::of(&stream)?;
        if !peer.is_same_user() {
            return Ok(None);
        }
        stream.set_nonblocking(true)?;
        stream.write_all(&self.hello)?;
        self.next_id += 1;
        let lines = Lines::new(MAX_LINE_BYTES);
        let (id, pid) = (self.next_id, peer.pid);
        Ok(Some(Connection { id, pid, stream, lines, unsent: Vec::new(), sent: 0 }))
    }

    /// Answers a request. A peer that doesn't take its answers is not heard meanwhile.
    pub(super) fn reply(&mut self, to: u64, reply: &Reply) {
        self.reply_with(to, reply, &[]);
    }

    /// Answers a request with a line and the bytes it announces.
    pub(super) fn reply_with(&mut self, to: u64, reply: &Reply, body: &[u8]) {
        let Some(at) = self.connections.iter().position(|connection| connection.id == to) else {
            return;
        };
        let sent = encode_line(reply).map_err(io::Error::from).and_then(|line| {
            let connection = &mut self.connections[at];
            connection.unsent.extend(line);
            connection.unsent.extend_from_slice(body);
            connection.send()
        });
        if sent.is_err() || self.connections[at].unsent.len() > MAX_UNSENT_BYTES {
            self.connections.remove(at);
        }
    }

    /// Gives a connection away, and the pid of its peer.
    pub(super) fn take(&mut self, id: u64) -> Option<(UnixStream, i32)> {
        let at = self.connections.iter().position(|connection| connection.id == id)?;
        let connection = self.connections.remove(at);
        Some((connection.stream, connection.pid))
    }
}

impl Connection {
    /// Sends as much as the peer takes.
    fn send(&mut self) -> io::Result<()> {
        while self.sent < self.unsent.len() {
            match self.stream.write(&self.unsent[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        (self.unsent, self.sent) = (Vec::new(), 0);
        Ok(())
    }

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
        let hello = Hello {
            version: 1,
            session_id: "s".to_owned(),
            run_id: "r".to_owned(),
            run_number: 1,
            attach_version: None,
        };
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
