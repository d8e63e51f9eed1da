//! The scripted model server: one for all trials, ended with them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::Deserialize;

/// The server's program.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/model_server.py");

/// Starts the server, and ends it when standard input is closed: also when the trials are killed.
const GUARD: &str = r#"python3 "$0" --port 0 --log "$1" &
exec > /dev/null 2>&1
read -r _
kill $!
wait"#;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    guard: Child,
    port: u16,
    log: PathBuf,
}

/// A line of the server's log: what one request of an agent said.
#[derive(Debug, Deserialize)]
struct Request {
    /// Who said what so far, such as `["user", "..."]`.
    #[serde(default)]
    history: Vec<(String, String)>,
}

impl Server {
    /// Starts a server on a free port.
    ///
    /// # Errors
    /// When there is no Python.
    pub(crate) fn start() -> Result<Self, String> {
        let log = crate::home::base().join("requests.jsonl");
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, PROGRAM])
            .arg(&log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("no model server: {error}"))?;
        let mut line = String::new();
        let mut output = BufReader::new(guard.stdout.take().expect("it is piped"));
        output.read_line(&mut line).expect("its output can be read");
        match line.trim().rsplit_once(' ').and_then(|(_, port)| port.parse().ok()) {
            Some(port) => Ok(Self { guard, port, log }),
            None => {
                drop(guard.stdin.take());
                let _ = guard.wait();
                Err("no model server: no python3".to_owned())
            }
        }
    }

    /// Returns the port it listens on, on the loopback.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns every conversation that held all of `marks` in what the user's side said: for each
    /// request, the user's texts in order.
    pub(crate) fn prompts_with(&self, marks: &[&str]) -> Vec<Vec<String>> {
        self.conversations()
            .into_iter()
            .filter(|texts| marks.iter().all(|mark| texts.iter().any(|text| text.contains(mark))))
            .collect()
    }

    fn conversations(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may still be written for another trial.
        let requests = text.lines().filter_map(|line| serde_json::from_str::<Request>(line).ok());
        let users = |request: Request| {
            let said = request.history.into_iter();
            said.filter(|(who, _)| who == "user").map(|(_, text)| text).collect()
        };
        requests.map(users).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
        let _ = fs::remove_file(Path::new(&self.log));
    }
}
