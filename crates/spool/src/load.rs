//! What a writer knows once it holds the lock: the session as the whole log says, made sure.

use std::io;
use std::path::Path;

use creel_record::fold::{self, FoldError};
use creel_record::limits::MAX_SNAPSHOT_BYTES;
use creel_record::snapshot::{IndexPosition, LogPosition, Snapshot, SnapshotError};
use creel_record::{Session, SessionId};
use creel_sys::fs::{FsFile, read_exact_at};

use crate::damage::{Damage, Fault, FaultKind};
use crate::error::WriteError;
use crate::feed;
use crate::file::{first_free, keep, read_bounded};
use crate::log_file::LockedLog;
use crate::run_index;
use crate::store::Store;
use crate::walk::{Bounds, GoodLine, Start, Step, Walk};

/// A session folded up to some place in its log.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The session; none for an empty log.
    pub(crate) session: Option<Session>,
    /// The place; none for an empty log.
    pub(crate) position: Option<LogPosition>,
    /// Up to where the run index reaches once `index_tail` is in it.
    pub(crate) run_index: IndexPosition,
    /// Lines of the run index that are not published yet.
    pub(crate) index_tail: Vec<u8>,
    /// True when the snapshot says all this.
    pub(crate) is_published: bool,
}

impl State {
    /// Returns a published state.
    pub(crate) fn of(snapshot: Snapshot) -> Self {
        Self {
            session: Some(snapshot.session),
            position: Some(snapshot.log),
            run_index: snapshot.run_index,
            index_tail: Vec::new(),
            is_published: true,
        }
    }

    /// Returns the length of the log that is folded in.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.position.map_or(0, |position| position.len_bytes)
    }

    /// Returns where the log goes on.
    pub(crate) fn end(&self, id: SessionId) -> Start {
        self.position.as_ref().map_or_else(|| Start::of_log(id), Start::after)
    }

    /// Folds one more line in.
    pub(crate) fn fold(&mut self, good: &GoodLine) -> Result<(), FoldError> {
        let step = fold::apply(&mut self.session, &good.event, good.line)?;
        if let Some(run) = step.evicted {
            let line = run_index::encode(good.event.subject, &run);
            self.run_index.len_bytes += line.len() as u64;
            self.run_index.run_count += 1;
            self.index_tail.extend_from_slice(&line);
        }
        self.position = Some(good.position());
        self.is_published = false;
        Ok(())
    }
}

/// What stands at a snapshot's path.
#[derive(Debug)]
pub(crate) enum Stored {
    /// A snapshot.
    Good(Box<Snapshot>),
    /// Nothing.
    Missing,
    /// No snapshot of this session and schema.
    Bad(SnapshotError),
}

/// Reads a snapshot.
pub(crate) fn stored(store: &Store, id: SessionId) -> io::Result<Stored> {
    match read_bounded(store.fs(), &store.snapshot_path(id), MAX_SNAPSHOT_BYTES) {
        Ok(bytes) => Ok(match Snapshot::decode(&bytes, id) {
            Ok(snapshot) => Stored::Good(Box::new(snapshot)),
            Err(error) => Stored::Bad(error),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stored::Missing),
        Err(error) => Err(error),
    }
}

/// Loads a session under its lock. Lines beyond the snapshot are folded in and made durable; an
/// unfinished one at the end is kept aside and cut. Reads nothing of a log that is published whole.
pub(crate) fn load(store: &Store, id: SessionId, log: &LockedLog) -> Result<State, WriteError> {
    let not_written = |what| move |source| WriteError::NotWritten { id, what, source };
    let len_bytes = log.stat.len_bytes;
    let state = match stored(store, id).map_err(not_written("read the snapshot"))? {
        Stored::Good(snapshot) if snapshot.log.len_bytes > len_bytes => {
            let published_bytes = snapshot.log.len_bytes;
            let damage = Damage::Shorter { len_bytes, published_bytes };
            return Err(mark(store, id, log.file.as_ref(), damage));
        }
        Stored::Good(snapshot) => State::of(*snapshot),
        Stored::Missing | Stored::Bad(_) => State::default(),
    };
    if state.len_bytes() == len_bytes {
        return Ok(state);
    }
    let published_bytes = state.len_bytes();
    catch_up(store, (id, log), (state, published_bytes))
}

/// Folds a whole log, whatever its snapshot says but for how much of it was published.
pub(crate) fn load_whole(
    store: &Store,
    (id, log): (SessionId, &LockedLog),
    stored: &Stored,
) -> Result<State, WriteError> {
    let published_bytes = match stored {
        Stored::Good(snapshot) => snapshot.log.len_bytes,
        Stored::Missing | Stored::Bad(_) => 0,
    };
    let len_bytes = log.stat.len_bytes;
    if published_bytes > len_bytes {
        let damage = Damage::Shorter { len_bytes, published_bytes };
        return Err(mark(store, id, log.file.as_ref(), damage));
    }
    catch_up(store, (id, log), (State::default(), published_bytes))
}

/// Folds in what stands behind a state.
fn catch_up(
    store: &Store,
    (id, log): (SessionId, &LockedLog),
    (mut state, published_bytes): (State, u64),
) -> Result<State, WriteError> {
    let not_written = |what| move |source| WriteError::NotWritten { id, what, source };
    let file = log.file.as_ref();
    let is_unseen = state.session.is_none();
    let bounds = Bounds { end: log.stat.len_bytes, published_bytes };
    let mut walk = Walk::new(file, id, state.end(id), bounds);
    let mut torn = None;
    while let Some(step) = walk.next().map_err(not_written("read the log"))? {
        match step {
            Step::Good(good) => {
                if state.fold(&good).is_err() {
                    let damage = Damage::Line(unfoldable(&good));
                    return Err(mark(store, id, file, damage));
                }
            }
            Step::Bad(bad) if bad.may_be_torn => torn = Some(bad.fault),
            Step::Bad(bad) => return Err(mark(store, id, file, Damage::Line(bad.fault))),
        }
    }
    if let Some(fault) = torn {
        set_aside(store, id, file, &fault).map_err(not_written("keep the torn tail aside"))?;
        file.set_len(fault.offset_bytes).map_err(not_written("cut the torn tail"))?;
    }
    // Invariant: what a writer that died left complete is durable before it is published, or
    // before anything that follows it is acknowledged.
    if let Err(source) = file.sync_data() {
        // A later sync might not report what this one could not write.
        let _ = file.set_read_only(true);
        feed::mark_dirty(store, id);
        return Err(WriteError::NotWritten { id, what: "sync the log", source });
    }
    // A log without a snapshot may have lost its writer before its name was durable.
    if is_unseen && state.session.is_some() {
        store.fs().sync_dir(store.spool_dir()).map_err(not_written("sync the directory"))?;
    }
    Ok(state)
}

/// Returns the fault of a line that is good but can't stand where it does.
pub(crate) fn unfoldable(good: &GoodLine) -> Fault {
    Fault {
        offset_bytes: good.line.offset_bytes,
        len_bytes: good.line.len_bytes,
        line_number: good.event.sequence,
        kind: FaultKind::NotTheEvent,
        missing: (good.event.sequence, 1),
    }
}

/// Marks a damaged log, so that every reader and writer knows, and returns the error.
fn mark(store: &Store, id: SessionId, file: &dyn FsFile, damage: Damage) -> WriteError {
    // A mark that fails is made by the next writer, which finds the same damage.
    let _ = file.set_read_only(true);
    feed::mark_dirty(store, id);
    WriteError::Damaged { id, damage }
}

/// Keeps a torn tail, durably, before it is cut; returns where, below the session's directory.
pub(crate) fn set_aside(
    store: &Store,
    id: SessionId,
    file: &dyn FsFile,
    fault: &Fault,
) -> io::Result<String> {
    let len = usize::try_from(fault.len_bytes).map_err(io::Error::other)?;
    let bytes = read_exact_at(file, fault.offset_bytes, len)?;
    let dir = store.session_dir(id).join("torn");
    let name = keep_in(store, &dir, &bytes, &|n| format!("{}-{n}.bin", fault.offset_bytes))?;
    Ok(format!("torn/{name}"))
}

/// Keeps bytes in a directory of a session under the first free of numbered names; durably.
pub(crate) fn keep_in(
    store: &Store,
    dir: &Path,
    bytes: &[u8],
    name: &dyn Fn(u64) -> String,
) -> io::Result<String> {
    store.fs().create_dir_all(dir)?;
    let (number, path) = first_free(store.fs(), |n| dir.join(name(n)))?;
    keep(store.fs(), &path, bytes)?;
    for dir in dir.ancestors().take_while(|dir| *dir != store.root()).take(3) {
        store.fs().sync_dir(dir)?;
    }
    Ok(name(number))
}
