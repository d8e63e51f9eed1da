//! The host's line to one run's keeper: kept open, since its end is the event that the run, or its
//! keeper, is over.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::keeper::{
    Hello, KEEPER_VERSION, MAX_LINE_BYTES, Reply, Request, Status, decode_line, encode_line,
};
use creel_record::{RunId, SessionId};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// How long a keeper may take to greet: one that was killed is started anew meanwhile.
const GREET_WITHIN: Duration = Duration::from_secs(30);

/// How long a keeper may take to answer: it does nothing that takes longer than a sync.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Questions that wait for a keeper's answer; those beyond are not asked.
pub(crate) const MAX_ASKS: usize = 8;

/// A question for a keeper: how does the run stand?
pub(crate) type Ask = oneshot::Sender<Status>;

/// Who greeted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Greeted {
    pub(crate) session_id: SessionId,
    pub(crate) run_id: RunId,
    pub(crate) run_number: u64,
}

/// How a contact ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nobody listens.
    Nobody,
    /// Somebody listens and doesn't say who, or who isn't what they should be.
    Stranger(&'static str),
    /// The line was closed: the run or its keeper is over.
    Closed,
}

/// An open line.
#[derive(Debug)]
pub(crate) struct Contact {
    stream: BufReader<UnixStream>,
}

impl Contact {
    /// Greets whoever listens at `path`.
    pub(crate) async fn open(path: &Path) -> Result<(Self, Greeted), Ended> {
        let until = Instant::now() + GREET_WITHIN;
        loop {
            match timeout_at(until, greet(path)).await {
                Ok(Ok(greeted)) => return Ok(greeted),
                // A keeper that ended with us in its queue: the next one greets.
                Ok(Err(Ended::Closed)) if Instant::now() < until => {}
                Ok(Err(ended)) => return Err(ended),
                Err(_) => return Err(Ended::Stranger("it says nothing")),
            }
        }
    }

    /// Passes questions on until the line is closed.
    pub(crate) async fn serve(mut self, mut asks: mpsc::Receiver<Ask>) -> Ended {
        loop {
            tokio::select! {
                ask = asks.recv() => match ask {
                    None => return Ended::Closed,
                    Some(ask) => match timeout(ANSWER_WITHIN, self.status()).await {
                        Ok(Some(status)) => {
                            // Whoever asked may be gone by now.
                            let _ = ask.send(status);
                        }
                        _ => return Ended::Stranger("it does not answer"),
                    },
                },
                filled = self.stream.fill_buf() => match filled {
                    Ok([]) | Err(_) => return Ended::Closed,
                    Ok(_) => return Ended::Stranger("it talks unasked"),
                },
            }
        }
    }

    async fn status(&mut self) -> Option<Status> {
        let line = encode_line(&Request::Status).ok()?;
        self.stream.write_all(&line).await.ok()?;
        match decode_line(&read_line(&mut self.stream).await.ok()?) {
            Ok(Reply::Status(status)) => Some(*status),
            _ => None,
        }
    }
}

async fn greet(path: &Path) -> Result<(Contact, Greeted), Ended> {
    let stream = UnixStream::connect(path).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ended::Nobody,
        _ => Ended::Stranger("it can't be connected to"),
    })?;
    let peer = stream.peer_cred().map_err(|_| Ended::Closed)?;
    if peer.uid() != own_user() {
        return Err(Ended::Stranger("it belongs to another user"));
    }
    let mut stream = BufReader::new(stream);
    let line = read_line(&mut stream).await.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Ended::Stranger("it doesn't speak the protocol"),
        _ => Ended::Closed,
    })?;
    let hello: Hello =
        decode_line(&line).map_err(|_| Ended::Stranger("it doesn't speak the protocol"))?;
    if hello.version > KEEPER_VERSION {
        return Err(Ended::Stranger("it speaks a newer version of the protocol"));
    }
    match (hello.session_id.parse(), hello.run_id.parse()) {
        (Ok(session_id), Ok(run_id)) => {
            let run_number = hello.run_number;
            Ok((Contact { stream }, Greeted { session_id, run_id, run_number }))
        }
        _ => Err(Ended::Stranger("it doesn't say whom it keeps")),
    }
}

/// Reads a line within its bound; its end without one is an error.
async fn read_line(stream: &mut BufReader<UnixStream>) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let limit = MAX_LINE_BYTES as u64 + 1;
    stream.take(limit).read_until(b'\n', &mut line).await?;
    match line.pop() {
        Some(b'\n') => Ok(line),
        Some(_) if line.len() >= MAX_LINE_BYTES => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns the user of this process.
pub(crate) fn own_user() -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    static USER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    // Without `/proc` no process could be told from another, and no host gets this far.
    *USER.get_or_init(|| std::fs::metadata("/proc/self").map_or(u32::MAX, |own| own.uid()))
}

/// Returns the sockets of runs in the runtime directory.
pub(crate) fn run_sockets(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if run_of(entry.file_name().to_str().unwrap_or_default()).is_some() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Reads the run's id from the name of its socket.
pub(crate) fn run_of(name: &str) -> Option<RunId> {
    let hex = name.strip_prefix("r-").filter(|hex| hex.len() == 32 && hex.is_ascii())?;
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    format!("{a}-{b}-{c}-{d}-{e}").parse().ok()
}

#[cfg(test)]
mod tests {
    use creel_api::keeper::socket_name;

    use super::*;

    #[test]
    fn a_socket_name_leads_back_to_its_run() {
        let id: RunId = "01939c00-0000-7000-8000-000000000001".parse().expect("an id");
        assert_eq!(run_of(&socket_name(&id.to_string())), Some(id));
        for other in ["host", "r-", "r-01939c00", "bin-1234", "r-01939c0000007000800000000000000g"]
        {
            assert_eq!(run_of(other), None, "{other}");
        }
    }

    async fn greeting(said: &'static [u8]) -> Result<Greeted, Ended> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        let listener = tokio::net::UnixListener::bind(&path).expect("listens");
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("accepts");
            stream.write_all(said).await.expect("writes");
            stream
        });
        let greeted = greet(&path).await.map(|(_, greeted)| greeted);
        drop(served.await);
        greeted
    }

    #[tokio::test]
    async fn only_a_keeper_is_taken_for_one() {
        let stranger = |why| Err(Ended::Stranger(why));
        assert_eq!(
            greeting(b"GET / HTTP/1.1\r\n\r\n").await,
            stranger("it doesn't speak the protocol")
        );
        let newer = br#"{"version":99,"sessionId":"a","runId":"b","runNumber":1}
"#;
        assert_eq!(greeting(newer).await, stranger("it speaks a newer version of the protocol"));
        let nameless = br#"{"version":1,"sessionId":"a","runId":"b","runNumber":1}
"#;
        assert_eq!(greeting(nameless).await, stranger("it doesn't say whom it keeps"));
        let nobody = greet(Path::new("/nonexistent/s")).await.map(|(_, greeted)| greeted);
        assert_eq!(nobody, Err(Ended::Nobody));
    }
}
