//! The spool store: the event log of each session, its snapshot, the feed, and their repair.
//!
//! Owns every spool file. Decides nothing about lifecycle: `creel_record` says what an event means
//! and whether it may be appended; this crate makes it durable, publishes it and reads it back.
//! Must not know: processes, clocks, randomness, the catalog.
//!
//! Start reading at [`Store`], then at the `append` module for the order of a mutation.
//!
//! Invariants:
//! - One mutation is one line; it is acknowledged after `fdatasync` (and the directory's, when the
//!   log is new), never before.
//! - Published is what the snapshot covers, and the snapshot covers durable lines only.
//! - A read never opens the log, but for a checked read of one named line, [`Store::events`] and
//!   [`Store::verify`].
//! - A snapshot is made by a writer or by a repair that holds the spool's lock, never by a reader.
//! - Locks are `flock` on the log; the inode is checked again after locking; nothing breaks one.
//! - No byte of a log is thrown away: what is cut or replaced is first kept beside it.
//! - The feed and the run index are caches: losing either never fails or loses a mutation.

#![forbid(unsafe_code)]

mod access;
mod append;
mod convert;
mod damage;
mod error;
mod events;
mod feed;
mod file;
mod heal;
mod lease;
mod lines;
mod load;
mod log_file;
mod manifest;
mod publish;
mod read;
mod rebuild;
mod resolve;
mod run_index;
mod store;
mod transact;
mod verify;
mod walk;

pub use access::Access;
pub use convert::{RowFlags, to_row};
pub use damage::{Damage, Fault, FaultKind};
pub use error::{OpenError, ReadError, ResolveError, TransactError, WriteError};
pub use events::{Events, From as EventsFrom, StoredEvent};
pub use feed::rows::{Row, RowFilter, Rows};
pub use feed::watch::{Changed, FeedWatch, FeedWatchError};
pub use heal::{HealError, Healed, Mint};
pub use lease::{Lease, LeaseError};
pub use read::Published;
pub use rebuild::{Rebuild, Rebuilt, SnapshotState};
pub use store::{DEFAULT_FEED_ROOM_BYTES, DEFAULT_LOCK_WAIT, Store};
pub use transact::{Change, Committed, Visibility};
pub use verify::{Finding, Report};
