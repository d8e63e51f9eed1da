//! `store list --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One store that commands may use unasked, or that was passed over. Printed as JSON Lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreView {
    /// Its root, absolute.
    pub root: String,
    /// `machine`, `trusted`, or `untrusted` for one found upward from the working place.
    pub basis: String,
    /// False when nothing, or another directory, stands at the root: the store is then not used.
    pub is_there: bool,
}
