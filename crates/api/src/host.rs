//! What the host says about itself, its runs and what changes: `host status --json` and the bodies
//! of its HTTP interface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::layout::LayoutView;
use crate::session::SessionRow;
use crate::terminal::TerminalStatus;

/// The major version of the host's interface: the `v1` of its paths.
pub const API_MAJOR: u32 = 1;

/// The minor version: members and routes that were added since `v1`.
pub const API_MINOR: u32 = 0;

/// The header in which both sides say their version, as `MAJOR.MINOR`. A client without one is
/// taken for one of the path's version.
pub const API_HEADER: &str = "x-creel-api";

/// The file name of the host's socket in the runtime directory. Runs' sockets begin with `r-`.
pub const SOCKET_NAME: &str = "host";

/// The longest body a client may send, in bytes: four times the largest layout.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// The most sessions one answer lists.
pub const MAX_LISTED_SESSIONS: usize = 10_000;

/// How a host stands. Without one, `isRunning` is false and only `stateDir` is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    /// True when a host answers.
    pub is_running: bool,
    /// Its process id.
    pub pid: Option<i32>,
    /// Its start in clock ticks since boot; with pid and boot id, who it is.
    pub start_ticks: Option<u64>,
    /// The boot it started in.
    pub boot_id: Option<String>,
    /// The version of its program.
    pub version: Option<String>,
    /// The version of its interface, `MAJOR.MINOR`.
    pub api: Option<String>,
    /// What its event cursors begin with; another one means another host process.
    pub epoch: Option<String>,
    /// Since when it runs.
    pub since: Option<String>,
    /// Where its lock, its log and its own files are.
    pub state_dir: String,
    /// Its socket.
    pub socket: Option<String>,
    /// Where it serves HTTP; the token is in the file `token` of the state directory.
    pub http: Option<String>,
    /// True when it ends by itself after a while with nothing to look after.
    pub ends_when_idle: bool,
    /// Runs whose holder lives.
    pub holder_count: u64,
    /// The stores it watches.
    pub stores: Vec<HostStore>,
    /// What it can't do at the moment, and why.
    pub degraded: Vec<String>,
}

/// A store that the host watches, or would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostStore {
    /// Its root.
    pub root: String,
    /// True while changes of it are seen at once.
    pub is_watched: bool,
}

/// How a run stands, as the host knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunContact {
    /// The host is about to ask.
    Looking,
    /// Its keeper greeted, is of this user, and the lease is held.
    Live,
    /// Its lease is held, and no keeper answers: it is being started, or is in trouble.
    Silent,
    /// The record says that it runs, and nobody holds its lease: it is over, and nobody wrote it
    /// down yet.
    LostUnrecorded,
    /// A keeper greeted for a session of no store that is watched.
    Unregistered,
}

/// A run that is live by the record, or whose socket answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEntry {
    /// The run.
    pub run_id: String,
    /// Its number within the session.
    pub run_number: u64,
    /// Its session.
    pub session_id: String,
    /// The root of the session's store; null when no watched store holds it.
    pub store: Option<String>,
    /// What is known of its processes.
    pub contact: RunContact,
}

/// One hosted run with what its keeper says. The keeper's part is null when it does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalEntry {
    /// The run.
    #[serde(flatten)]
    pub run: RunEntry,
    /// `running`, `ending`, `draining`, `recording` or `deciding`.
    pub phase: Option<String>,
    /// The agent's process id.
    pub agent_pid: Option<i32>,
    /// How often its keeper was started; more than 1 after a crash or an upgrade.
    pub keeper_starts: Option<u32>,
    /// Bytes of output so far.
    pub output_bytes: Option<u64>,
    /// Bytes of output that were lost.
    pub dropped_bytes: Option<u64>,
    /// How its terminal stands; null for a run without one.
    pub terminal: Option<TerminalStatus>,
}

/// `GET /v1/terminals`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalsView {
    /// In the order of their runs' ids, which is the order of their starts.
    pub terminals: Vec<TerminalEntry>,
}

/// `GET /v1/sessions`: the sessions of each watched store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsView {
    /// The stores, the machine store first.
    pub stores: Vec<StoreSessions>,
}

/// The sessions of one store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreSessions {
    /// Its root.
    pub root: String,
    /// The rows of `list --json`, the last changed one first.
    pub sessions: Vec<SessionRow>,
    /// Sessions that the bound left out.
    pub left_out: u64,
    /// Sessions that can't be read.
    pub unreadable: Vec<String>,
    /// Why the store can't be listed.
    pub error: Option<String>,
}

/// The data of an event of kind `reset`: everything that later events change, and the cursor they
/// go on from. Sessions are listed by `GET /v1/sessions`, after the reset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResetEvent {
    /// Why the cursor that was asked for can't be gone on from: `start`, `other-host`, `too-old` or
    /// `unknown-cursor`.
    pub reason: String,
    /// The host.
    pub status: HostStatus,
    /// The runs.
    pub runs: Vec<RunEntry>,
    /// The layout.
    pub layout: LayoutView,
}

/// The data of an event of kind `session`: the session as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// The root of its store.
    pub store: String,
    /// Its row.
    pub session: SessionRow,
}

/// The data of an event of kind `stores`: stores came, went or changed in a way that no single
/// event tells; list the sessions again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoresEvent {
    /// The stores.
    pub stores: Vec<HostStore>,
    /// What the host can't do at the moment.
    pub degraded: Vec<String>,
}

/// The data of an event of kind `run`: a run as it is now; `contact` is null when it is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEvent {
    /// The run.
    pub run_id: String,
    /// Its session.
    pub session_id: String,
    /// What is known of its processes.
    pub contact: Option<RunContact>,
}

/// The data of an event of kind `layout`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayoutEvent {
    /// The layout's revision now.
    pub revision: u64,
}

/// `POST /v1/host/stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopView {
    /// The process that ends.
    pub pid: i32,
    /// Runs whose holder lives, and goes on living.
    pub holder_count: u64,
}

/// What went wrong, in every answer that isn't a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    /// A stable word; each has a page `docs/errors/CODE.md`.
    pub code: String,
    /// One clause: what failed, with which input.
    pub message: String,
    /// What to do next.
    pub next: Option<String>,
}
