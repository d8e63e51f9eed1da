//! Creel's own wire and output shapes: plain data, versioned, additive only.
//!
//! Owns: the run plan handed to a holder, the keeper's socket protocol, transcript entries, and
//! every `--json` shape. Must not know: files, clocks, rules. Start at [`plan`].
//!
//! Invariants: a reader keeps unknown fields and kinds out of its way instead of failing; a field,
//! once published, keeps its name and meaning.

#![forbid(unsafe_code)]

pub mod attach;
pub mod doctor;
pub mod event;
pub mod host;
pub mod inspect;
pub mod keeper;
pub mod layout;
pub mod maintenance;
pub mod plan;
pub mod reconcile;
pub mod scope;
pub mod session;
pub mod store;
pub mod terminal;
pub mod transcript;
pub mod wait;
pub mod worktree;

/// The version of the `--json` shapes. It stays while members are only added.
pub const SHAPES_VERSION: u32 = 1;
