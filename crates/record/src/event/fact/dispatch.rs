//! Facts of what children owe.

use serde::{Deserialize, Serialize};

use crate::ids::{RunId, SessionId};
use crate::words::Outcome;

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
