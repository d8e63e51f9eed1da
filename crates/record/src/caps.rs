//! Caps of dispatch trees.

use crate::limits::MAX_DISPATCHES;

/// How deep and how wide a dispatch tree may grow. Peers stand outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Greatest depth of a child; a root has depth 0.
    pub max_depth: u32,
    /// Most undischarged dispatches of one session.
    pub max_fanout: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { max_depth: 5, max_fanout: 16 }
    }
}

impl Caps {
    /// Returns the caps with overrides (`ORBH_DISPATCH_DEPTH_CAP`, `ORBH_DISPATCH_FANOUT_CAP`);
    /// the fan-out stays within what a snapshot holds.
    pub fn with_overrides(max_depth: Option<u32>, max_fanout: Option<usize>) -> Self {
        let default = Self::default();
        Self {
            max_depth: max_depth.unwrap_or(default.max_depth),
            max_fanout: max_fanout.unwrap_or(default.max_fanout).min(MAX_DISPATCHES),
        }
    }
}
