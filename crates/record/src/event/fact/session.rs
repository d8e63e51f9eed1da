//! Facts of a whole session: its creation, what it keeps, verdicts, moves, and its log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{RunId, SessionId, ThreadId, TurnId};
use crate::time::Timestamp;
use crate::words::{Authority, Cause, Mode};

/// Data of `orbh.session.created`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreated {
    /// Spool kind; `session` here.
    pub kind: String,
    /// The harness.
    pub runtime: String,
    /// The preset of model and effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The login that runs use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The shape.
    pub mode: Mode,
    /// Who rules at a run's end.
    pub authority: Authority,
    /// The launch prompt.
    pub prompt: String,
    /// Working directory of every run.
    pub cwd: String,
    /// The root transcript thread.
    pub root_thread_id: ThreadId,
    /// Title given at launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description given at launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `launch --key` and the hash of the arguments given with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LaunchKey>,
    /// The session that collects this one's results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The session that this one follows; a link only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<SessionId>,
    /// Root of the dispatch tree (itself for a root).
    pub root_session_id: SessionId,
    /// Depth in the tree; 0 for a root.
    pub depth: u32,
    /// The first run, by id: with no `run.started` and a free lease it is started again.
    pub first_run: FirstRun,
    /// Why the first run starts: `launch` or `request`.
    pub cause: Cause,
    /// The allow-listed environment that later runs get back.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// A launch key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchKey {
    /// The key.
    pub key: String,
    /// Hash over the other arguments, so that a retry is told from a different launch.
    pub arguments_hash: String,
}

/// The parent of a subagent and the run that dispatched it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    /// The parent session.
    pub session_id: SessionId,
    /// The parent's run at the time, if one was live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// Ids of a session's first run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FirstRun {
    /// The run.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
}

/// Data of `orbh.session.registered`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRegistered {
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
}

/// Data of `orbh.session.interface_set`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterfaceSet {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Data of `orbh.session.slice_set`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SliceSet {
    /// Slice name, beginning with `core:`.
    pub slice: String,
    /// Its whole value; null removes it.
    pub value: serde_json::Value,
}

/// Data of `orbh.session.note_added`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteAdded {
    /// The text.
    pub text: String,
}

/// Data of `orbh.session.artifact_tracked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactTracked {
    /// The file, absolute or below the session's directory.
    pub path: String,
}

macro_rules! verdicts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {}
    )*};
}

verdicts!(
    /// Data of `orbh.session.closed`.
    SessionClosed,
    /// Data of `orbh.session.parked`.
    SessionParked,
    /// Data of `orbh.session.discarded`.
    SessionDiscarded,
    /// Data of `orbh.session.killed`.
    SessionKilled,
    /// Data of `orbh.session.restored`.
    SessionRestored,
);

/// Data of `orbh.session.ended`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEnded {
    /// A last result, stored on the newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// Data of `orbh.session.account_changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountChanged {
    /// The new account; none is the harness's own login.
    pub account: Option<String>,
}

/// Data of `orbh.session.profile_changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileChanged {
    /// The new profile; none is the harness's default.
    pub profile: Option<String>,
}

/// Data of `orbh.session.mode_switched`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeSwitched {
    /// The new mode.
    pub mode: Mode,
}

/// Data of `orbh.session.wake_scheduled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WakeScheduled {
    /// When; none cancels.
    pub wake_at: Option<Timestamp>,
}

/// Data of `orb.spool.healed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogHealed {
    /// Offset of the damaged bytes in the log that was set aside.
    pub offset_bytes: u64,
    /// Their length.
    pub len_bytes: u64,
    /// The file that keeps the whole old log, below the spool's directory.
    pub kept_as: String,
}
