//! What a run's keeper says on its socket: JSON Lines, one object a line, both ways.
//!
//! The keeper opens with a [`Hello`]. After that every [`Request`] line gets one [`Reply`] line,
//! in order. The connection lives as long as the run does: its end is the end of the run, and what
//! came of it stands in the record. Everything said here is a hint; the record is the truth.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::plan::{Plan, TerminalSize};
use crate::terminal::{Match, ScreenFormat, TerminalStatus, ViewerMode};

/// The protocol version this build speaks.
pub const KEEPER_VERSION: u32 = 1;

/// The longest line either side sends or takes, in bytes without its newline: a status with every
/// list at its bound takes a tenth of it.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// The most survivors a status names.
pub const MAX_SURVIVORS: usize = 32;

/// Returns the file name of a run's socket in the runtime directory: `r-` and the run's id without
/// its hyphens, so that the path stays short.
pub fn socket_name(run_id: &str) -> String {
    let mut name = String::from("r-");
    name.extend(run_id.chars().filter(|c| *c != '-'));
    name
}

/// The first line on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// [`KEEPER_VERSION`].
    pub version: u32,
    /// The session.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// The run's number.
    pub run_number: u64,
    /// [`ATTACH_VERSION`](crate::attach::ATTACH_VERSION) of a keeper whose run has a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach_version: Option<u32>,
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Request {
    /// How does the run stand?
    Status,
    /// An end of the run is recorded; end its processes.
    End {
        /// The recorded reason.
        reason: String,
    },
    /// A return of the run is recorded.
    Returned,
    /// Are you there?
    Ping,
    /// Show me the terminal: once this is answered with `attached`, the connection carries frames
    /// (see [`attach`](crate::attach)). The client sends nothing in between.
    Attach {
        /// The version of the frames that the client speaks.
        version: u32,
        /// What the client wants to do.
        mode: ViewerMode,
        /// The size of the client's terminal; none for one that has no say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<TerminalSize>,
        /// Lines of history to put above the first redraw.
        #[serde(default)]
        history_lines: u32,
    },
    /// What is on the screen?
    Screen {
        /// In which form.
        format: ScreenFormat,
        /// Lines of history above it.
        #[serde(default)]
        history_lines: u32,
    },
    /// Where does the terminal show this text?
    Search {
        /// The text or regular expression.
        pattern: String,
        /// True for a regular expression.
        #[serde(default)]
        is_regex: bool,
    },
    /// Give the terminal this size.
    Resize {
        /// The size.
        size: TerminalSize,
    },
    /// Detach every viewer.
    DetachAll,
    /// Let another keeper go on, of the program that is installed now.
    Handover,
    /// A request of a newer client.
    #[serde(other)]
    Unknown,
}

/// What the keeper answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reply {
    /// To `status`.
    Status(Box<Status>),
    /// To `end`, `returned` and `handover`: heard, and being done. To `resize`: done.
    Accepted,
    /// To `attach`: frames follow.
    Attached {
        /// The version of the frames.
        version: u32,
        /// The number of the viewer.
        viewer: u64,
        /// The terminal's size.
        size: TerminalSize,
    },
    /// To `screen`: so many bytes follow this line, and lines again after them.
    Screen {
        /// How many.
        len_bytes: u64,
        /// The terminal's size.
        size: TerminalSize,
        /// Why the screen may not be what the agent drew; none when it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        doubt: Option<String>,
    },
    /// To `search`.
    Found {
        /// The places, oldest line first.
        matches: Vec<Match>,
        /// True when there are more.
        is_cut: bool,
    },
    /// To `detachAll`.
    Detached {
        /// How many viewers there were.
        viewer_count: u32,
    },
    /// To `ping`.
    Pong,
    /// The request was not understood or can't be done; the connection stays.
    Error {
        /// A stable word: `unknown-op`, `no-terminal`, `unsupported-version`, `too-many-viewers`,
        /// `bad-pattern`.
        code: String,
        /// A sentence for people.
        message: String,
    },
    /// An answer of a newer keeper.
    #[serde(other)]
    Unknown,
}

/// Where a run is on its way from start to recorded end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The agent runs.
    Running,
    /// Its processes are being ended.
    Ending,
    /// Its processes are dead; the rest of its output is read.
    Draining,
    /// Its end is being recorded.
    Recording,
    /// What follows is being decided.
    Deciding,
    /// A phase of a newer keeper.
    #[serde(other)]
    Unknown,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Where it is.
    pub phase: Phase,
    /// The agent's process id.
    pub agent_pid: i32,
    /// The agent's exit code, once it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed the agent, once one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How often the keeper was started for this run; 1 is the first time.
    pub keeper_starts: u32,
    /// Bytes of output seen so far, lost ones included: the position in the output log.
    pub output_bytes: u64,
    /// Bytes of output that this keeper saw and could not write down.
    pub dropped_bytes: u64,
    /// Why the output or the transcript stopped growing, while it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_error: Option<String>,
    /// Why an event of the run could not be recorded yet, while it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_error: Option<String>,
    /// Processes that outlived the last attempt to end them; the next one is under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Survivor>,
    /// How the terminal stands, for a run that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalStatus>,
}

/// A process that could not be ended or proven dead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Survivor {
    /// Its process id.
    pub pid: i32,
    /// Its start in clock ticks since boot.
    pub start_ticks: u64,
    /// The name of its program.
    pub comm: String,
    /// Why it is taken to belong to the run.
    pub proof: String,
}

/// What `creel plan` answers to the keeper of a run that ended: one line on standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "owed", rename_all = "camelCase")]
pub enum Owed {
    /// No run follows.
    Nothing,
    /// This one does.
    Run {
        /// It.
        plan: Box<Plan>,
    },
    /// It can't be told or planned now, and may be later: a file of the user's is wrong, say.
    Blocked {
        /// What stands in the way, in one line.
        why: String,
    },
    /// Something that this keeper doesn't know how to do.
    #[serde(other)]
    Unknown,
}

/// Encodes a line of the protocol, its newline included.
pub fn encode_line<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Decodes a line of the protocol.
///
/// # Errors
/// When the line isn't of this shape. A request or reply of an unknown kind is of this shape.
pub fn decode_line<'de, T: Deserialize<'de>>(line: &'de [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

/// Says in one line who outlived an end: `4711 (node, descends from the session), ...`.
pub fn survivors_text(survivors: &[Survivor]) -> String {
    let mut text = String::new();
    for Survivor { pid, comm, proof, .. } in survivors {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = write!(text, "{comma}{pid} ({comm}, {proof})");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T>(value: &T, expected: &str)
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
    {
        let line = encode_line(value).expect("encodes");
        assert_eq!(String::from_utf8_lossy(&line), format!("{expected}\n"));
        let back: T = decode_line(expected.as_bytes()).expect("decodes");
        assert_eq!(&back, value);
    }

    #[test]
    fn lines_keep_their_shape() {
        check(
            &Hello {
                version: 1,
                session_id: "s".to_owned(),
                run_id: "r".to_owned(),
                run_number: 3,
                attach_version: None,
            },
            r#"{"version":1,"sessionId":"s","runId":"r","runNumber":3}"#,
        );
        check(&Request::Status, r#"{"op":"status"}"#);
        check(&Request::End { reason: "killed".to_owned() }, r#"{"op":"end","reason":"killed"}"#);
        check(&Request::Returned, r#"{"op":"returned"}"#);
        let size = TerminalSize { columns: 80, lines: 24 };
        check(
            &Request::Attach {
                version: 1,
                mode: ViewerMode::Full,
                size: Some(size),
                history_lines: 9,
            },
            r#"{"op":"attach","version":1,"mode":"full","size":{"columns":80,"lines":24},"historyLines":9}"#,
        );
        check(
            &Request::Screen { format: ScreenFormat::Ansi, history_lines: 0 },
            r#"{"op":"screen","format":"ansi","historyLines":0}"#,
        );
        check(
            &Request::Search { pattern: "p".to_owned(), is_regex: true },
            r#"{"op":"search","pattern":"p","isRegex":true}"#,
        );
        check(&Request::Resize { size }, r#"{"op":"resize","size":{"columns":80,"lines":24}}"#);
        check(&Request::DetachAll, r#"{"op":"detachAll"}"#);
        check(&Request::Handover, r#"{"op":"handover"}"#);
        check(
            &Reply::Attached { version: 1, viewer: 2, size },
            r#"{"reply":"attached","version":1,"viewer":2,"size":{"columns":80,"lines":24}}"#,
        );
        check(
            &Reply::Screen { len_bytes: 5, size, doubt: None },
            r#"{"reply":"screen","lenBytes":5,"size":{"columns":80,"lines":24}}"#,
        );
        check(
            &Reply::Found { matches: Vec::new(), is_cut: false },
            r#"{"reply":"found","matches":[],"isCut":false}"#,
        );
        check(&Reply::Detached { viewer_count: 2 }, r#"{"reply":"detached","viewerCount":2}"#);
        check(&Reply::Accepted, r#"{"reply":"accepted"}"#);
        check(
            &Reply::Status(Box::new(Status {
                phase: Phase::Running,
                agent_pid: 7,
                exit_code: None,
                signal: Some(9),
                keeper_starts: 1,
                output_bytes: 10,
                dropped_bytes: 0,
                disk_error: None,
                record_error: None,
                survivors: vec![Survivor {
                    pid: 8,
                    start_ticks: 9,
                    comm: "node".to_owned(),
                    proof: "is in the run's cgroup".to_owned(),
                }],
                terminal: None,
            })),
            r#"{"reply":"status","phase":"running","agentPid":7,"signal":9,"keeperStarts":1,"outputBytes":10,"droppedBytes":0,"survivors":[{"pid":8,"startTicks":9,"comm":"node","proof":"is in the run's cgroup"}]}"#,
        );
    }

    #[test]
    fn nothing_owed_is_one_word() {
        check(&Owed::Nothing, r#"{"owed":"nothing"}"#);
    }

    #[test]
    fn unknown_kinds_and_fields_are_read() {
        let request: Request = decode_line(br#"{"op":"dance","x":1}"#).expect("decodes");
        assert_eq!(request, Request::Unknown);
        let request: Request = decode_line(br#"{"op":"ping","x":1}"#).expect("decodes");
        assert_eq!(request, Request::Ping);
        assert!(decode_line::<Request>(b"[]").is_err());
    }

    #[test]
    fn a_socket_name_is_short() {
        assert_eq!(
            socket_name("01939c00-0000-7000-8000-000000000001"),
            "r-01939c000000700080000000000000 01".replace(' ', "")
        );
    }
}
