//! What `reconcile --json` prints: one object for each session that something was done for.

use serde::{Deserialize, Serialize};

/// One session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconcileView {
    /// Its id.
    pub id: String,
    /// The root of its store.
    pub store: String,
    /// What was done, in words; `none` when it failed.
    pub action: String,
    /// Why nothing could be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
