//! Publishing: the snapshot that makes durable lines visible.

use std::io;

use creel_record::snapshot::{Snapshot, SnapshotError};
use creel_record::{Session, SessionId};
use creel_sys::fs::FsFile;

use crate::feed;
use crate::file::replace;
use crate::load::State;
use crate::run_index;
use crate::store::Store;

/// What is durable could not be published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PublishError {
    /// There is no session.
    #[error("the log is empty")]
    Empty,
    /// The snapshot can't be encoded.
    #[error("can't encode the snapshot")]
    Encode(#[source] SnapshotError),
    /// A file can't be written.
    #[error("can't write the {what}: {source}")]
    Io {
        /// Which one.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// Encodes the snapshot of a state.
pub(crate) fn encode(state: &mut State) -> Result<Vec<u8>, PublishError> {
    let (Some(session), Some(log)) = (state.session.take(), state.position) else {
        return Err(PublishError::Empty);
    };
    let snapshot = Snapshot { log, run_index: state.run_index, session };
    let bytes = snapshot.encode().map_err(PublishError::Encode);
    state.session = Some(snapshot.session);
    bytes
}

/// Publishes a state whose log is durable: the run index first, then the snapshot, by a rename
/// and without a sync, since its own checksum tells what a power loss left of it.
pub(crate) fn publish(
    store: &Store,
    (id, log): (SessionId, &dyn FsFile),
    state: &mut State,
) -> Result<(), PublishError> {
    let bytes = encode(state)?;
    publish_bytes(store, (id, log), (state, &bytes))
}

/// Publishes a state whose snapshot is encoded.
pub(crate) fn publish_bytes(
    store: &Store,
    (id, log): (SessionId, &dyn FsFile),
    (state, bytes): (&mut State, &[u8]),
) -> Result<(), PublishError> {
    run_index::write(store, (id, log), state)
        .map_err(|source| PublishError::Io { what: "run index", source })?;
    let path = store.snapshot_path(id);
    let tmp = path.with_extension("json.tmp");
    replace(store.fs(), &path, &tmp, bytes)
        .map_err(|source| PublishError::Io { what: "snapshot", source })?;
    state.is_published = true;
    Ok(())
}

/// Publishes a state that a dead writer left, together with its row.
pub(crate) fn repair(
    store: &Store,
    (id, log): (SessionId, &dyn FsFile),
    state: &mut State,
) -> Result<(), PublishError> {
    if state.is_published {
        return Ok(());
    }
    feed::mark_dirty(store, id);
    publish(store, (id, log), state)?;
    put_row(store, state.session.as_ref());
    Ok(())
}

/// Tells the feed about a published session.
pub(crate) fn put_row(store: &Store, session: Option<&Session>) {
    if let Some(session) = session {
        feed::put_row(store, session);
    }
}
