//! `events --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a session's log: the CloudEvents object, as it is stored, without its checksum.
/// Printed as JSON Lines, in log order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    /// `1.0`.
    pub specversion: String,
    /// Its id.
    pub id: String,
    /// Who caused it: `/operator`, `/session/ID`, `/keeper` or `/maintenance`.
    pub source: String,
    /// What happened, such as `orbh.run.returned`.
    pub r#type: String,
    /// When, by the writer's clock.
    pub time: String,
    /// The session.
    pub subject: String,
    /// Its position in the log, from 1, zero-padded.
    pub sequence: String,
    /// What belongs to its type.
    pub data: Value,
}
