//! The snapshot: a session with the place in the log up to which it is published.
//!
//! One JSON object with its own checksum as the last member (CRC-32C over the bytes before it,
//! seeded with the session's id), so that a torn or zeroed file is told from a good one without a
//! sync. Tools of other makers read `ext.orbh.workState` and `ext.orbh.slices["core:interface"]`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dispatch::Dispatch;
use crate::ids::{EventId, SessionId};
use crate::limits::MAX_SNAPSHOT_BYTES;
use crate::line::{chain_seed, split};
use crate::session::Session;
use crate::words::WorkState;

/// The stored schema; a store of a newer one is read only.
pub const SCHEMA_VERSION: &str = "1.0";
/// The one space that sessions live in.
pub const SPACE_ID: &str = "local";
const INTERFACE: &str = "core:interface";
const DISPATCHES: &str = "core:dispatches";
/// Slices made from the session's own fields; no event sets one.
pub const DERIVED_SLICES: [&str; 2] = [INTERFACE, DISPATCHES];

/// Up to where the log is folded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogPosition {
    /// Bytes of the log.
    pub len_bytes: u64,
    /// The last event's sequence.
    pub sequence: u64,
    /// The last event's id.
    pub event_id: EventId,
    /// The chain value that the next line continues from.
    pub chain: u32,
}

/// Up to where the run index is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexPosition {
    /// Bytes of the index.
    pub len_bytes: u64,
    /// Runs in it.
    pub run_count: u64,
}

/// A published session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Up to where the log is folded in.
    pub log: LogPosition,
    /// Up to where the run index is filled.
    pub run_index: IndexPosition,
    /// The session.
    pub session: Session,
}

/// Why bytes are no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The checksum is missing or does not fit.
    #[error("snapshot checksum does not fit")]
    Checksum,
    /// The JSON is not that of a snapshot.
    #[error("snapshot is not readable")]
    Json(#[source] serde_json::Error),
    /// The file is over the bound.
    #[error("snapshot of {len_bytes} bytes is over the bound of {MAX_SNAPSHOT_BYTES}")]
    TooLong {
        /// Its length.
        len_bytes: usize,
    },
    /// It belongs to another session or a newer schema.
    #[error("snapshot {what} is {found}, expected {expected}")]
    Misplaced {
        /// `id` or `schemaVersion`.
        what: &'static str,
        /// The value found.
        found: String,
        /// The value that belongs here.
        expected: String,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Out<'a> {
    schema_version: &'a str,
    kind: &'a str,
    id: SessionId,
    space_id: &'a str,
    log: LogPosition,
    run_index: IndexPosition,
    ext: Ext<OrbhOut<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Ext<T> {
    orbh: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrbhOut<'a> {
    work_state: WorkState,
    slices: SlicesOut<'a>,
    #[serde(flatten)]
    session: &'a Session,
}

#[derive(Serialize)]
struct SlicesOut<'a> {
    #[serde(rename = "core:interface")]
    interface: &'a BTreeMap<String, String>,
    #[serde(rename = "core:dispatches")]
    dispatches: &'a [Dispatch],
    #[serde(flatten)]
    stored: &'a BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    schema_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct In {
    log: LogPosition,
    run_index: IndexPosition,
    ext: Ext<OrbhIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OrbhIn {
    slices: BTreeMap<String, Value>,
    #[serde(flatten)]
    session: Session,
}

impl Snapshot {
    /// Encodes the snapshot, newline included.
    ///
    /// # Errors
    /// When the session passes its bound, which no checked command brings about.
    pub fn encode(&self) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = serde_json::to_vec(&Out {
            schema_version: SCHEMA_VERSION,
            kind: "session",
            id: self.session.id,
            space_id: SPACE_ID,
            log: self.log,
            run_index: self.run_index,
            ext: Ext {
                orbh: OrbhOut {
                    work_state: self.session.work_state(),
                    slices: SlicesOut {
                        interface: &self.session.interface,
                        dispatches: &self.session.dispatches,
                        stored: &self.session.slices,
                    },
                    session: &self.session,
                },
            },
        })
        .map_err(SnapshotError::Json)?;
        bytes.pop();
        let crc = crc32c::crc32c_append(chain_seed(self.session.id), &bytes);
        bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
        if bytes.len() > MAX_SNAPSHOT_BYTES {
            return Err(SnapshotError::TooLong { len_bytes: bytes.len() });
        }
        Ok(bytes)
    }

    /// Decodes the snapshot of `id`.
    ///
    /// # Errors
    /// When the bytes are torn, too long, of another session or of another schema.
    pub fn decode(bytes: &[u8], id: SessionId) -> Result<Self, SnapshotError> {
        if bytes.len() > MAX_SNAPSHOT_BYTES {
            return Err(SnapshotError::TooLong { len_bytes: bytes.len() });
        }
        let line = bytes.strip_suffix(b"\n").ok_or(SnapshotError::Checksum)?;
        let parts = split(line).ok_or(SnapshotError::Checksum)?;
        if crc32c::crc32c_append(chain_seed(id), parts.covered) != parts.stored {
            return Err(SnapshotError::Checksum);
        }
        // The version first: a newer schema may be unreadable beyond it.
        let head: Head = serde_json::from_slice(line).map_err(SnapshotError::Json)?;
        if head.schema_version != SCHEMA_VERSION {
            return Err(SnapshotError::Misplaced {
                what: "schemaVersion",
                found: head.schema_version,
                expected: SCHEMA_VERSION.to_owned(),
            });
        }
        let stored: In = serde_json::from_slice(line).map_err(SnapshotError::Json)?;
        let OrbhIn { mut slices, mut session } = stored.ext.orbh;
        if session.id != id {
            return Err(SnapshotError::Misplaced {
                what: "id",
                found: session.id.to_string(),
                expected: id.to_string(),
            });
        }
        session.interface = take(&mut slices, INTERFACE)?;
        session.dispatches = take(&mut slices, DISPATCHES)?;
        session.slices = slices;
        Ok(Self { log: stored.log, run_index: stored.run_index, session })
    }
}

fn take<T: Default + for<'de> Deserialize<'de>>(
    slices: &mut BTreeMap<String, Value>,
    name: &str,
) -> Result<T, SnapshotError> {
    match slices.remove(name) {
        Some(value) => serde_json::from_value(value).map_err(SnapshotError::Json),
        None => Ok(T::default()),
    }
}
