//! A home with a host in it, and a hand that speaks raw HTTP.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use creel_api::host::{HostStatus, TerminalsView};
use creel_record::SessionId;
use creel_sys::process::{ProcessIdentity, Signal};
use serde_json::Value;

use crate::world::{DEADLINE, World};

/// A world whose host is started by the test.
pub(crate) struct Scene {
    pub(crate) world: World,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { world: World::new() }
    }

    /// Makes a world, and starts its host.
    pub(crate) fn hosted() -> Self {
        let scene = Self::new();
        scene.start();
        scene
    }

    /// Starts a host and returns who it is.
    #[track_caller]
    pub(crate) fn start(&self) -> ProcessIdentity {
        self.world.run(&["host", "start"]).success();
        self.identity()
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.world.env.home().join(".local/state/creel/host")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.world.env.runtime_dir().join("host")
    }

    #[track_caller]
    pub(crate) fn status(&self) -> HostStatus {
        let printed = self.world.run(&["host", "status", "--json"]).success().stdout;
        serde_json::from_str(&printed).expect("a status")
    }

    #[track_caller]
    pub(crate) fn identity(&self) -> ProcessIdentity {
        let status = self.status();
        ProcessIdentity {
            pid: status.pid.expect("a pid"),
            start_ticks: status.start_ticks.expect("ticks"),
            boot_id: status.boot_id.expect("a boot"),
        }
    }

    /// Kills the host, hard, and waits until it is gone.
    #[track_caller]
    pub(crate) fn kill(&self, host: &ProcessIdentity) {
        host.signal(Signal::KILL).expect("it is ours");
        assert!(host.wait_gone(DEADLINE).expect("a wait"));
    }

    /// Opens a connection to the socket.
    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
        stream
    }

    /// Asks by the socket; returns the status and the answer as JSON.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\n");
        let (status, body) = talk(self.connect(), &finished(&head, body));
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    /// Opens a connection to the loopback port.
    pub(crate) fn connect_loopback(&self) -> (TcpStream, String) {
        let address = self.status().http.expect("it serves HTTP");
        let address = address.strip_prefix("http://").expect("an address").to_owned();
        let stream = TcpStream::connect(&address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
        (stream, address)
    }

    pub(crate) fn token(&self) -> String {
        let text = std::fs::read_to_string(self.state_dir().join("token")).expect("a token");
        text.trim().to_owned()
    }

    /// Waits until the host knows what is asked for, by the stream of its events.
    #[track_caller]
    pub(crate) fn until<T>(&self, mut holds: impl FnMut(&Self) -> Option<T>) -> T {
        let mut stream = Stream::open(self, None);
        loop {
            if let Some(found) = holds(self) {
                return found;
            }
            stream.next().expect("an event comes in time");
        }
    }

    /// Waits until the host has the line of a session's keeper.
    #[track_caller]
    pub(crate) fn until_live(&self, id: SessionId) {
        self.until(|scene| {
            let is_it = |run: &&creel_api::host::TerminalEntry| {
                run.run.session_id == id.to_string() && run.agent_pid.is_some()
            };
            scene.terminals().terminals.iter().find(is_it).map(drop)
        });
    }

    #[track_caller]
    pub(crate) fn terminals(&self) -> TerminalsView {
        let (status, value) = self.ask("GET", "/v1/terminals", "");
        assert_eq!(status, 200, "{value}");
        serde_json::from_value(value).expect("terminals")
    }
}

/// Ends a head with what goes with a body, and the body.
pub(crate) fn finished(head: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}

/// Sends a request, and reads the whole answer. A peer that closed early has answered by then.
#[track_caller]
pub(crate) fn talk(mut stream: impl Read + Write, request: &[u8]) -> (u16, String) {
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
    }
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    (status, body.to_owned())
}

/// An event as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl Event {
    pub(crate) fn sequence(&self) -> u64 {
        self.id.split_once('-').expect("a cursor").1.parse().expect("a number")
    }
}

/// A reader of events.
pub(crate) struct Stream {
    stream: UnixStream,
    text: String,
}

impl Stream {
    pub(crate) fn open(scene: &Scene, cursor: Option<&str>) -> Self {
        let mut stream = scene.connect();
        let cursor = cursor.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        write!(stream, "GET /v1/events HTTP/1.1\r\nhost: x\r\n{cursor}\r\n").expect("writes");
        Self { stream, text: String::new() }
    }

    /// Returns the next event; none at the end of the stream.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.taken() {
                return Some(event);
            }
            let mut bytes = [0; 16 * 1024];
            let read = match self.stream.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
                read => read,
            };
            match read.expect("an event comes in time") {
                0 => return None,
                count => self.text.push_str(&String::from_utf8_lossy(&bytes[..count])),
            }
        }
    }

    /// Takes a whole event out of what was read. The sizes of chunks stand between the lines, and
    /// hold no colon.
    fn taken(&mut self) -> Option<Event> {
        let start = self.text.find("id: ")?;
        let end = start + self.text[start..].find("\n\n")?;
        let lines: Vec<String> = self.text[start..end].lines().map(str::to_owned).collect();
        let field =
            |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let (Some(id), Some(kind), Some(data)) = (field("id: "), field("event: "), field("data: "))
        else {
            return None;
        };
        self.text.drain(..end + 2);
        let data = serde_json::from_str(&data).expect("JSON on one line");
        Some(Event { id, kind, data })
    }
}
