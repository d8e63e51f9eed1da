//! Worktrees: made without touching anything else, found wherever they were made, removed without
//! loss.
//!
//! Start reading at [`Repo`], then [`create`](create()) and [`remove`](remove()); [`Rescue`] is
//! what a removal leaves behind, [`Watcher`] decides when to look for what others changed.
//!
//! # Invariants
//!
//! - A branch or directory that is there is never replaced.
//! - A removal saves first, reads back what it saved, and only then takes anything away.
//! - The user's index and files are not written while they are saved.
//! - Whatever is cut short is finished, or explained, by the same call once more.

mod admin;
mod branch;
mod changes;
mod create;
mod entries;
mod fingerprint;
mod ignored;
mod intent;
mod listing;
mod lock;
mod name;
mod nested;
mod operation;
mod provenance;
mod remove;
mod repo;
mod rescue;
mod sessions;
mod surroundings;
mod survey;
mod watch;

pub use branch::{BranchFate, MergeProof};
pub use changes::Changes;
pub use create::{CreateError, Created, Order, create};
pub use fingerprint::Fingerprint;
pub use listing::{Worktree, dirty, list, resolve};
pub use lock::LockError;
pub use name::{Name, NameError};
pub use nested::{Nested, NestedKind};
pub use provenance::Provenance;
pub use remove::{Ignored, RemoveError, RemoveOrder, Removed, abandon, remove};
pub use repo::{OpenError, Repo};
pub use rescue::{
    Content, LeftOut, Rescue, RescueError, RescueMeta, Restored, contents, drop_rescue,
    find_rescue, list_rescues, restore,
};
pub use sessions::{Occupied, SessionAt, join};
pub use surroundings::FileError;
pub use watch::{Due, LOOK_EVERY_MS, SCAN_EVERY_MS, ScanReason, Watcher};
