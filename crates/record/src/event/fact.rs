//! The kinds of event and the data of each, as stored.
//!
//! Stored shapes are additive only: a field, once written, keeps its name and meaning; a new field
//! has a default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Unknown;
use crate::ids::{RequestId, RunId, SessionId, ThreadId, TurnId};
use crate::time::Timestamp;
use crate::words::{Authority, Cause, Disposition, EndReason, Mode, Outcome, QuestionKind};

macro_rules! facts {
    ($($variant:ident = $type_name:literal #[doc = $doc:literal]),* $(,)?) => {
        /// What happened.
        #[expect(
            clippy::large_enum_variant,
            reason = "facts live one at a time; the large kind comes once in a log"
        )]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Fact {
            $(#[doc = $doc] $variant($variant),)*
            /// A kind of a newer build.
            Unknown(Unknown),
        }

        impl Fact {
            /// Every known CloudEvents type.
            pub const TYPES: &[&str] = &[$($type_name),*];

            /// Returns the CloudEvents type.
            pub fn type_name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $type_name,)*
                    Self::Unknown(unknown) => &unknown.type_name,
                }
            }

            /// Encodes the data.
            pub fn to_data(&self) -> Result<Box<RawValue>, serde_json::Error> {
                match self {
                    $(Self::$variant(data) => serde_json::value::to_raw_value(data),)*
                    Self::Unknown(unknown) => Ok(unknown.data.clone()),
                }
            }

            /// Decodes the data of a kind; an unknown kind is kept as it is.
            pub fn from_data(type_name: &str, data: &RawValue) -> Result<Self, serde_json::Error> {
                match type_name {
                    $($type_name => serde_json::from_str(data.get()).map(Self::$variant),)*
                    _ => Ok(Self::Unknown(Unknown {
                        type_name: type_name.to_owned(),
                        data: data.to_owned(),
                    })),
                }
            }
        }

        $(impl From<$variant> for Fact {
            fn from(data: $variant) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

facts! {
    SessionCreated = "orbh.session.created" #[doc = "The first event of every session."],
    SessionRegistered = "orbh.session.registered" #[doc = "Title and description were set."],
    InterfaceSet = "orbh.session.interface_set" #[doc = "A free key was set."],
    SliceSet = "orbh.session.slice_set" #[doc = "A reserved slice was set by the system."],
    NoteAdded = "orbh.session.note_added" #[doc = "An annotation."],
    ArtifactTracked = "orbh.session.artifact_tracked" #[doc = "A produced file was named."],
    SessionClosed = "orbh.session.closed" #[doc = "Closed with no live run."],
    SessionParked = "orbh.session.parked" #[doc = "Parked with no live run."],
    SessionDiscarded = "orbh.session.discarded" #[doc = "Tombstone, with no live run."],
    SessionKilled = "orbh.session.killed" #[doc = "Killed with no live run."],
    SessionEnded = "orbh.session.ended" #[doc = "Ended with a result and no live run."],
    SessionRestored = "orbh.session.restored" #[doc = "The tombstone was taken back."],
    AccountChanged = "orbh.session.account_changed" #[doc = "Another account from the next run on."],
    ProfileChanged = "orbh.session.profile_changed" #[doc = "Another profile from the next run on."],
    ModeSwitched = "orbh.session.mode_switched" #[doc = "Another shape from the next run on."],
    RunIntended = "orbh.run.intended" #[doc = "A wake: prompt and cursor advance in one."],
    RunStarted = "orbh.run.started" #[doc = "The lease holder starts a harness process."],
    RunSpawned = "orbh.run.spawned" #[doc = "The process exists."],
    NativeIdentified = "orbh.run.native_identified" #[doc = "The harness's own id became known."],
    TurnStarted = "orbh.run.turn_started" #[doc = "A further turn within a structured run."],
    RunReturned = "orbh.run.returned" #[doc = "The explicit end of a turn, with its result."],
    RunEndRequested = "orbh.run.end_requested" #[doc = "Somebody asked a live run to end."],
    RunEnded = "orbh.run.ended" #[doc = "All exit facts, together."],
    RequestAsked = "orbh.request.asked" #[doc = "A question."],
    RequestAnswered = "orbh.request.answered" #[doc = "Its answer."],
    AnswerTaken = "orbh.request.taken" #[doc = "Its waiter printed the answer, so no wake carries it."],
    RequestCancelled = "orbh.request.cancelled" #[doc = "It needs no answer any more."],
    MessageReceived = "orbh.message.received" #[doc = "A message for this session."],
    RoomNoticed = "orbh.room.noticed" #[doc = "Activity in a subscribed room."],
    WakeScheduled = "orbh.session.wake_scheduled" #[doc = "A time to wake at."],
    DispatchClaimed = "orbh.dispatch.claimed" #[doc = "A slot is taken; the child may not exist yet."],
    DispatchMaterialized = "orbh.dispatch.materialized" #[doc = "The child exists."],
    DispatchSettled = "orbh.dispatch.settled" #[doc = "The dispatched turn has its outcome."],
    LogHealed = "orb.spool.healed" #[doc = "Stands in for a damaged line that was set aside."],
}

impl Fact {
    /// Returns the long text of the event: what a [`TextRef`](crate::run::TextRef) points at.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::SessionCreated(data) => Some(&data.prompt),
            Self::NoteAdded(data) => Some(&data.text),
            Self::SessionEnded(data) => data.result.as_deref(),
            Self::RunIntended(data) => Some(&data.prompt),
            Self::RunStarted(data) => data.prompt.as_deref(),
            Self::TurnStarted(data) => Some(&data.prompt),
            Self::RunReturned(data) => Some(&data.payload),
            Self::RunEndRequested(data) => {
                data.result.as_deref().or(data.follow_up.as_ref().map(|f| f.prompt.as_str()))
            }
            Self::RequestAsked(data) => Some(&data.question),
            Self::RequestAnswered(data) => Some(&data.response),
            Self::MessageReceived(data) => Some(&data.text),
            Self::RoomNoticed(data) => Some(&data.text),
            _ => None,
        }
    }
}

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

/// Data of `orbh.run.intended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunIntended {
    /// The run to start.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// The digest of everything pending.
    pub prompt: String,
    /// Every wake-worthy event up to this sequence is delivered by this prompt.
    pub through_sequence: u64,
    /// The questions whose answers it delivers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_ids: Vec<RequestId>,
}

/// Data of `orbh.run.started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    /// The run.
    pub run_id: RunId,
    /// The turn it opens.
    pub turn_id: TurnId,
    /// Its number, from 1 over all runs of the session.
    pub number: u64,
    /// Why it starts.
    pub cause: Cause,
    /// 1 or 2 for a re-prompt, else 0.
    #[serde(default)]
    pub attempt: u32,
    /// The run it continues; the chain that collectors follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues_run_id: Option<RunId>,
    /// The prompt; absent when an intent or the creation already holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The machine, so that no other machine judges the run.
    pub machine_id: String,
    /// The boot, so that a pid of another boot is never believed.
    pub boot_id: String,
}

/// A process, named so that a reused pid is not mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessFacts {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    /// Boot id.
    pub boot_id: String,
}

/// Data of `orbh.run.spawned`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSpawned {
    /// The run.
    pub run_id: RunId,
    /// The harness process, leader of its own process session.
    pub agent: ProcessFacts,
    /// Its holder.
    pub holder: ProcessFacts,
    /// The control group it lives in, when one could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
}

/// Data of `orbh.run.native_identified`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NativeIdentified {
    /// The run.
    pub run_id: RunId,
    /// The harness's own session id.
    pub native_session_id: String,
}

/// Data of `orbh.run.turn_started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    /// The run.
    pub run_id: RunId,
    /// The new turn.
    pub turn_id: TurnId,
    /// Its prompt.
    pub prompt: String,
}

/// Data of `orbh.run.returned`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunReturned {
    /// The run.
    pub run_id: RunId,
    /// The turn that ends.
    pub turn_id: TurnId,
    /// How it leaves the session.
    pub disposition: Disposition,
    /// The deliverable.
    pub payload: String,
}

/// Data of `orbh.run.end_requested`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEndRequested {
    /// The run.
    pub run_id: RunId,
    /// Why it shall end.
    pub reason: EndReason,
    /// A last result, with reason `ended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The run that follows, with reason `interrupted`: whoever records the end starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<FollowUp>,
}

/// A run that follows an interrupted one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// The run.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// Its prompt.
    pub prompt: String,
}

/// Data of `orbh.run.ended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnded {
    /// The run.
    pub run_id: RunId,
    /// Why it ended.
    pub reason: EndReason,
    /// Exit code, when it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal number, when one killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// One line of detail, such as the provider's message or why the spawn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Data of `orbh.request.asked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestAsked {
    /// The question's id.
    pub request_id: RequestId,
    /// The run that asks; none for a deferred question from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The turn that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Whether it holds the run.
    pub kind: QuestionKind,
    /// The question.
    pub question: String,
}

/// Data of `orbh.request.answered`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestAnswered {
    /// The question.
    pub request_id: RequestId,
    /// The answer.
    pub response: String,
}

/// Data of `orbh.request.taken`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerTaken {
    /// The question.
    pub request_id: RequestId,
}

/// Data of `orbh.request.cancelled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestCancelled {
    /// The question.
    pub request_id: RequestId,
}

/// Data of `orbh.message.received`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageReceived {
    /// The text.
    pub text: String,
}

/// Data of `orbh.room.noticed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomNoticed {
    /// The room's name.
    pub room: String,
    /// The room's position that this notice covers.
    pub through_sequence: u64,
    /// A line about it.
    pub text: String,
}

/// Data of `orbh.session.wake_scheduled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WakeScheduled {
    /// When; none cancels.
    pub wake_at: Option<Timestamp>,
}

/// Data of `orbh.dispatch.claimed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchClaimed {
    /// The child session, named before it exists.
    pub child_session_id: SessionId,
    /// The run whose result is owed.
    pub initiated_run_id: RunId,
    /// The child's `runtime/profile`.
    pub target: String,
}

/// Data of `orbh.dispatch.materialized`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchMaterialized {
    /// The child session.
    pub child_session_id: SessionId,
    /// The run whose result is owed.
    pub initiated_run_id: RunId,
}

/// Data of `orbh.dispatch.settled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchSettled {
    /// The child session.
    pub child_session_id: SessionId,
    /// The run whose result was owed.
    pub initiated_run_id: RunId,
    /// What came of it.
    pub outcome: Outcome,
    /// The run that gave the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_number: Option<u64>,
    /// True when a waiting caller took it, so that it wakes nobody.
    #[serde(default)]
    pub is_collected: bool,
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
