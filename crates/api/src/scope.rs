//! `scope --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The store a command would use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeView {
    /// Its root, absolute.
    pub root: String,
    /// Why it is the one: `flag`, `variable`, `project` or `machine`.
    pub basis: String,
    /// True when it is there.
    pub exists: bool,
    /// A `.orb` that was passed over, since this machine doesn't trust it.
    pub untrusted: Option<String>,
}
