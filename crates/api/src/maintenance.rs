//! `verify --json`, `heal --json` and `rebuild-session-snapshots --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a look at, or a repair of, one session came to. Printed as JSON Lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceView {
    /// The session.
    pub id: String,
    /// True when nothing is wrong, or nothing any more.
    pub is_sound: bool,
    /// Events that are sound, from the first one on.
    pub event_count: u64,
    /// What was found, in the order of the log.
    pub problems: Vec<ProblemView>,
    /// What was done about it, or would be done with `--dry-run`.
    pub repairs: Vec<String>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemView {
    /// The part of the spool: `log`, `snapshot`, `runs` and so on.
    pub part: String,
    /// Where in it.
    pub offset_bytes: Option<u64>,
    /// What is wrong.
    pub detail: String,
}
