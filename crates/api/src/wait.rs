//! `wait --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::inspect::ResultView;

/// What came of one turn that was waited for. Printed as JSON Lines, in the order of the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeView {
    /// The session.
    pub id: String,
    /// `result`, `api-error`, `failed-unreturned`, `abandoned`, `hangup`, `adopted` or `pending`.
    pub outcome: String,
    /// The run that the waiting began at.
    pub anchor_run_id: Option<String>,
    /// The run that gave the outcome.
    pub run_number: Option<u64>,
    /// The result, with its text, when the outcome is one.
    pub result: Option<ResultView>,
}
