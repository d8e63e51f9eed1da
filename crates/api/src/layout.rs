//! The layout: tabs, splits and focus as a stored object, the same for every face.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the stored layout that this build writes and reads.
pub const LAYOUT_VERSION: u32 = 1;

/// The most tabs: more than a person tells apart.
pub const MAX_TABS: usize = 128;

/// The most panes of all tabs together.
pub const MAX_PANES: usize = 512;

/// How deep splits nest: a pane of a 500-column screen is a column wide far earlier.
pub const MAX_SPLIT_DEPTH: usize = 16;

/// The longest id of a tab or pane, in bytes.
pub const MAX_LAYOUT_ID_BYTES: usize = 64;

/// The longest title, in bytes.
pub const MAX_LAYOUT_TITLE_BYTES: usize = 256;

/// The whole of a split, of which a ratio is a part.
pub const RATIO_WHOLE: u16 = 1000;

/// A layout. The default is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Layout {
    /// [`LAYOUT_VERSION`].
    pub version: u32,
    /// The tabs, in order.
    pub tabs: Vec<Tab>,
    /// The tab that is shown; null only when there is none.
    #[serde(default)]
    pub active: Option<String>,
}

impl Default for Layout {
    fn default() -> Self {
        Self { version: LAYOUT_VERSION, tabs: Vec::new(), active: None }
    }
}

/// One tab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tab {
    /// Its id, unique among tabs.
    pub id: String,
    /// Its title.
    #[serde(default)]
    pub title: Option<String>,
    /// What it shows.
    pub root: Node,
    /// The pane that has the focus.
    pub focus: String,
}

/// A pane, or two parts side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Node {
    /// One pane.
    Pane(Pane),
    /// Two parts.
    Split(Split),
}

/// One pane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pane {
    /// Its id, unique among all panes.
    pub id: String,
    /// The session attached to it; null for an empty pane.
    #[serde(default)]
    pub session: Option<String>,
    /// The session's title when it was last seen, for when it is gone.
    #[serde(default)]
    pub title: Option<String>,
}

/// Two parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Split {
    /// How they lie.
    pub direction: Direction,
    /// The first one's part in thousandths, from 1 to 999.
    pub ratio: u16,
    /// The left or upper one.
    pub first: Box<Node>,
    /// The right or lower one.
    pub second: Box<Node>,
}

/// How two parts lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Side by side.
    Row,
    /// One below the other.
    Column,
}

/// What `layout show --json` prints, and `GET /v1/layout` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayoutView {
    /// How often it was changed; what a change has to name to be sure of what it changes.
    pub revision: u64,
    /// The layout.
    pub layout: Layout,
    /// What became of each attached session, by its id.
    pub sessions: Vec<AttachedSession>,
}

/// A session that a pane names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachedSession {
    /// The session.
    pub id: String,
    /// What became of it.
    pub state: AttachedState,
}

/// What became of a session that a pane names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttachedState {
    /// A run of it lives.
    Live,
    /// It is there, and nothing of it runs: its pane is a placeholder.
    Ended,
    /// No watched store holds it, or it can't be read: its pane is a placeholder.
    Gone,
}

/// `PUT /v1/layout`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LayoutChange {
    /// The revision that is changed; another one is refused. Null replaces whatever there is.
    #[serde(default)]
    pub revision: Option<u64>,
    /// The layout to be.
    pub layout: Layout,
}
