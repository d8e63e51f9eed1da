//! A run's terminal as its keeper and the verbs tell of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::TerminalSize;

/// The most places that a search tells.
pub const MAX_MATCHES: usize = 200;

/// The most characters of a line that a search tells.
pub const MAX_MATCH_CHARS: usize = 200;

/// The most viewers a status names.
pub const MAX_VIEWERS: usize = 64;

/// What a client of the terminal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ViewerMode {
    /// Sees the screen, types, and has a say in the size.
    Full,
    /// Sees the screen; its input and sizes are ignored.
    ReadOnly,
    /// Types, and sees nothing but how far its input is.
    Send,
}

/// A form of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScreenFormat {
    /// Its text, a line each.
    Text,
    /// Its text with colours and styles, a line each.
    Ansi,
}

/// A client of the terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewerStatus {
    /// Its number.
    pub id: u64,
    /// Its process.
    pub pid: i32,
    /// What it does.
    pub mode: ViewerMode,
    /// The size of its own terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<TerminalSize>,
    /// How often it was too slow and got a redraw in the place of output.
    pub redraw_count: u64,
}

/// How a terminal stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalStatus {
    /// Its size.
    pub size: TerminalSize,
    /// Who decided the size: `plan`, `request`, or the number of the viewer that last typed,
    /// resized or came.
    pub size_from: String,
    /// The title that the agent set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Position in the agent's output that the screen is of.
    pub offset: u64,
    /// When output came last, in milliseconds since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_at_ms: Option<u64>,
    /// Why the screen may not be what the agent drew; none when it is. It may be once the agent
    /// has drawn everything anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Bytes of input that wait until the agent reads.
    pub waiting_input_bytes: u64,
    /// Who is attached.
    pub viewers: Vec<ViewerStatus>,
}

/// A place where a terminal shows what was searched for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// The line: 1 is the first of the screen, 0 and less are history.
    pub line: i64,
    /// The column of the match, from 1.
    pub column: u32,
    /// The whole line's text.
    pub text: String,
}

/// `inspect --json`: the terminal of a session's newest run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalView {
    /// `live`, or `ended` when the screen is what the run left.
    pub state: String,
    /// How it stands, while it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TerminalStatus>,
}

/// `terminal list --json`: one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRow {
    /// The session.
    pub session_id: String,
    /// Its run.
    pub run_number: u64,
    /// The harness.
    pub runtime: String,
    /// The session's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How the terminal stands; none when its keeper didn't answer in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalStatus>,
}

/// `terminal read --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScreenView {
    /// The session.
    pub session_id: String,
    /// The run.
    pub run_number: u64,
    /// True while the run lives.
    pub is_live: bool,
    /// The size of the terminal.
    pub size: TerminalSize,
    /// Why the screen may not be what the agent drew; none when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The screen, in the form that was asked for.
    pub screen: String,
}

/// `terminal send --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendView {
    /// The session.
    pub session_id: String,
    /// How far the input came: `accepted`, `written` or `echoed`; none when not even that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// True when it came as far as was asked for.
    pub is_done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T>(value: &T, expected: &str)
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
    {
        assert_eq!(serde_json::to_string(value).expect("encodes"), expected);
        assert_eq!(&serde_json::from_str::<T>(expected).expect("decodes"), value);
    }

    const SIZE: TerminalSize = TerminalSize { columns: 80, lines: 24 };

    fn status() -> TerminalStatus {
        TerminalStatus {
            size: SIZE,
            size_from: "viewer 3".to_owned(),
            title: Some("a title".to_owned()),
            offset: 7,
            output_at_ms: Some(9),
            doubt: None,
            waiting_input_bytes: 0,
            viewers: vec![ViewerStatus {
                id: 3,
                pid: 4711,
                mode: ViewerMode::ReadOnly,
                size: None,
                redraw_count: 1,
            }],
        }
    }

    #[test]
    fn shapes_keep_their_members() {
        let inner = r#"{"size":{"columns":80,"lines":24},"sizeFrom":"viewer 3","title":"a title","offset":7,"outputAtMs":9,"waitingInputBytes":0,"viewers":[{"id":3,"pid":4711,"mode":"read-only","redrawCount":1}]}"#;
        check(&status(), inner);
        check(
            &TerminalView { state: "live".to_owned(), status: Some(status()) },
            &format!(r#"{{"state":"live","status":{inner}}}"#),
        );
        check(
            &TerminalRow {
                session_id: "s".to_owned(),
                run_number: 2,
                runtime: "sh".to_owned(),
                title: None,
                terminal: None,
            },
            r#"{"sessionId":"s","runNumber":2,"runtime":"sh"}"#,
        );
        check(
            &ScreenView {
                session_id: "s".to_owned(),
                run_number: 2,
                is_live: true,
                size: SIZE,
                doubt: Some("why".to_owned()),
                screen: "text".to_owned(),
            },
            r#"{"sessionId":"s","runNumber":2,"isLive":true,"size":{"columns":80,"lines":24},"doubt":"why","screen":"text"}"#,
        );
        check(
            &SendView {
                session_id: "s".to_owned(),
                stage: Some("written".to_owned()),
                is_done: false,
            },
            r#"{"sessionId":"s","stage":"written","isDone":false}"#,
        );
        check(
            &Match { line: -3, column: 1, text: "found".to_owned() },
            r#"{"line":-3,"column":1,"text":"found"}"#,
        );
    }
}
