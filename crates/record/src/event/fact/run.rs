//! Facts of runs and turns.

use serde::{Deserialize, Serialize};

use crate::ids::{RequestId, RunId, TurnId};
use crate::words::{Cause, Disposition, EndReason};

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
