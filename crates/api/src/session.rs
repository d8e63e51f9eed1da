//! One session as a line of `list --json`: enough to choose one, bounded, with no text of the log.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session in a list. Every member is always there; what is missing is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// The session's id.
    pub id: String,
    /// The space it lives in; `local`.
    pub space_id: String,
    /// The id of its stored form; equal to `id`.
    pub spool_id: String,
    /// The root transcript thread.
    pub root_thread_id: String,
    /// The harness.
    pub runtime: String,
    /// The preset of model and effort.
    pub profile: Option<String>,
    /// The login that runs use.
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
    /// The session that this one follows.
    pub continues: Option<String>,
    /// The session that collects this one's results.
    pub parent_session_id: Option<String>,
    /// When it was created.
    pub started: String,
    /// When its last event was written.
    pub updated: String,
    /// Since when the work state is what it is.
    pub state_since: String,
    /// Runs so far.
    pub run_count: u64,
    /// The newest run.
    pub current_run: Option<RunRow>,
    /// The open question that comes first: a blocking one, else the oldest.
    pub pending_request: Option<RequestRow>,
    /// Results so far.
    pub result_count: u64,
    /// True under a tombstone.
    pub discarded: bool,
    /// True when the log holds more than is published and nobody is writing.
    pub stale: bool,
    /// True when the log is damaged or may not be written until it is healed.
    pub damaged: bool,
    /// Depth in the dispatch tree; 0 for a root.
    pub depth: u32,
    /// Root of the dispatch tree.
    pub root_session_id: String,
    /// The key it was launched with.
    pub key: Option<String>,
}

/// The newest run of a session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRow {
    /// The run's id.
    pub id: String,
    /// Its number, from 1.
    pub number: u64,
    /// `running`, `suspended`, `completed` or `failed`.
    pub status: String,
    /// Why it started.
    pub cause: String,
    /// When it started.
    pub started: String,
    /// When it ended.
    pub ended: Option<String>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The harness's own session id.
    pub native_session_id: Option<String>,
}

/// An open question of a session in a list; its text is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestRow {
    /// The question's id.
    pub id: String,
    /// `blocking` or `deferred`.
    pub kind: String,
    /// When it was asked.
    pub asked: String,
}
