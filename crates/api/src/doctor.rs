//! `doctor --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can be told about this machine and what Creel has on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorView {
    /// The supervisor whose stop ends more than a detach survives.
    pub boundary: BoundaryView,
    /// Each check, in order.
    pub checks: Vec<CheckView>,
}

/// What could end running agents although everything above them is detached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundaryView {
    /// `none`, `service`, `login-session`, `user-manager` or `container`.
    pub kind: String,
    /// One sentence: what stops what.
    pub detail: String,
    /// The unit or group that would be stopped.
    pub unit: Option<String>,
    /// Living runs that a stop of it would end.
    pub ends_session_count: u64,
    /// Living runs on this machine.
    pub live_session_count: u64,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    /// What was looked at.
    pub name: String,
    /// What came of it.
    pub verdict: Verdict,
    /// One sentence.
    pub detail: String,
    /// What to do about it.
    pub next: Option<String>,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Something is worse than it could be.
    Weak,
    /// Something doesn't work.
    Bad,
    /// A fact.
    Info,
}
