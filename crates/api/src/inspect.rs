//! `inspect --json`: one session with everything the record keeps of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::terminal::TerminalView;

/// One session, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// The space it lives in: `local`.
    pub space_id: String,
    /// Its spool; the same id.
    pub spool_id: String,
    /// Its root transcript thread.
    pub root_thread_id: String,
    /// The harness.
    pub runtime: String,
    /// The preset of model and effort.
    pub profile: Option<String>,
    /// The login.
    pub account: Option<String>,
    /// `interactive`, `headless` or `subagent`.
    pub mode: String,
    /// The shelf: `active`, `parked`, `closed`, `finished` or `error`.
    pub retention: String,
    /// `working`, `needs-input`, `awaiting`, `finished` or `abandoned`.
    pub work_state: String,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The free keys.
    pub interface: BTreeMap<String, String>,
    /// The session it follows.
    pub continues: Option<String>,
    /// The session its results are for.
    pub parent_session_id: Option<String>,
    /// When it was created.
    pub started: String,
    /// When its last event was written.
    pub updated: String,
    /// Runs so far.
    pub run_count: u64,
    /// The newest run.
    pub current_run: Option<RunView>,
    /// The question that waits for an answer: the blocking one, else the oldest.
    pub pending_request: Option<RequestView>,
    /// True when the log holds more than the snapshot, and nobody is writing.
    pub stale: bool,
    /// True when the log is damaged or may not be written until it is healed.
    pub damaged: bool,
    /// What is wrong with it.
    pub damage: Option<String>,

    /// Since when the work state is what it is.
    pub state_since: String,
    /// True under a tombstone.
    pub discarded: bool,
    /// Who rules at a run's end: `record` or `delivery`.
    pub authority: String,
    /// Working directory of every run.
    pub cwd: String,
    /// `launch --key`.
    pub key: Option<String>,
    /// The launch prompt.
    pub prompt: Option<String>,
    /// The allow-listed environment of the launch, which later runs get back.
    pub environment: BTreeMap<String, String>,
    /// Root of its dispatch tree.
    pub root_session_id: String,
    /// Its depth in the tree.
    pub depth: u32,
    /// The harness's own id of the conversation.
    pub native_session_id: Option<String>,
    /// A run that is recorded as wanted and not started yet.
    pub intended_run_id: Option<String>,
    /// Every run, oldest first.
    pub runs: Vec<RunView>,
    /// Results so far.
    pub result_count: u64,
    /// The newest result.
    pub latest_result: Option<ResultView>,
    /// Questions without an answer that was taken.
    pub requests: Vec<RequestView>,
    /// Results that other sessions owe this one.
    pub dispatches: Vec<DispatchView>,
    /// Reserved data beside the free keys.
    pub slices: BTreeMap<String, Value>,
    /// Notes so far.
    pub note_count: u64,
    /// Artifacts so far.
    pub artifact_count: u64,
    /// The newest artifacts, oldest first.
    pub artifacts: Vec<String>,
    /// Things that came in since the last wake and wait to wake it.
    pub pending_count: u64,
    /// A time to wake at.
    pub wake_at: Option<String>,
    /// The last published event's sequence.
    pub sequence: u64,
    /// Its terminal; none when its newest run had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalView>,
    /// When something was last seen of its agent: of a live terminal the last output, else the last
    /// event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_observed: Option<String>,
    /// True while its terminal can be shown by `attach`.
    #[serde(default)]
    pub can_reattach: bool,
    /// True when `restart` would start a run.
    #[serde(default)]
    pub can_restart: bool,
    /// Who may start and end its runs.
    pub lease: LeaseView,
    /// Where it is stored.
    pub paths: PathsView,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// Its number, from 1.
    pub number: u64,
    /// `running`, `suspended`, `completed` or `failed`.
    pub status: String,
    /// Why it started.
    pub cause: String,
    /// 1 or 2 for a re-prompt, else 0.
    pub attempt: u32,
    /// Turns so far.
    pub turn_count: u64,
    /// The run it continues.
    pub continues_run_id: Option<String>,
    /// When it started.
    pub started: String,
    /// When it ended.
    pub ended: Option<String>,
    /// The harness process.
    pub pid: Option<i32>,
    /// The harness's own session id.
    pub native_session_id: Option<String>,
    /// The end that somebody asked for.
    pub end_requested: Option<String>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// Exit code.
    pub exit_code: Option<i32>,
    /// Signal.
    pub signal: Option<i32>,
    /// A line about the end.
    pub detail: Option<String>,
    /// How its current turn was returned.
    pub disposition: Option<String>,
    /// Its last result.
    pub result: Option<ResultView>,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultView {
    /// The run that returned it.
    pub run_number: u64,
    /// `finish` or `await`.
    pub disposition: String,
    /// When it was stored.
    pub at: String,
    /// Who returned it.
    pub source: String,
    /// Its length.
    pub len_bytes: u64,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// True when its run had already ended, so that it moved nothing.
    pub is_late: bool,
    /// The payload, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestView {
    /// Its id.
    pub id: String,
    /// `blocking` or `deferred`.
    pub kind: String,
    /// The run that asked.
    pub run_id: Option<String>,
    /// When it was asked.
    pub asked: String,
    /// True when an answer waits to be taken.
    pub is_answered: bool,
    /// The question, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// One owed result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchView {
    /// The session that owes it.
    pub child_session_id: String,
    /// The run whose result is owed.
    pub initiated_run_id: String,
    /// When the slot was taken.
    pub started_at: String,
    /// True once the child is known to exist.
    pub is_materialized: bool,
}

/// The right to start and end runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseView {
    /// True while a process has it.
    pub held: bool,
    /// What the live run's processes are told by: the path of its control group, else `process
    /// session`. None without a live run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
    /// What the last holder wrote about itself; for people only.
    pub note: Option<String>,
    /// What keeps the run's keeper from going on, while it tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// Where a session is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathsView {
    /// The event log.
    pub log: String,
    /// The snapshot.
    pub snapshot: String,
    /// The transcript of the root thread.
    pub transcript: String,
    /// Its directory: scratch files and what each run left.
    pub directory: String,
}
