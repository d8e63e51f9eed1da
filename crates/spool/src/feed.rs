//! The feed, `indexes/changes.jsonl`: one file that tells of every change in the store.
//!
//! A cache. Writers append `dirty` with the session's id before a mutation and the session's row
//! after its publication, under a shared lock, in one write each. The newest row of a session
//! counts; one whose last line is `dirty` is looked up in its snapshot. The file is replaced as a
//! whole, under the exclusive lock, when it is compacted or made anew.
//!
//! A feed that can't be written is removed: whoever reads next makes it from the snapshots. No
//! failure of the feed fails a mutation.

pub(crate) mod content;
pub(crate) mod line;
pub(crate) mod remake;
pub(crate) mod rows;
pub(crate) mod watch;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use creel_record::{Session, SessionId};
use creel_sys::fs::{Fs, FsFile, LockMode, OpenHow, Stat};

use crate::convert::{RowFlags, to_row};
use crate::store::Store;
use line::Header;

/// How long a writer waits for one who replaces the file, which takes far less.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How often the file may be replaced while somebody opens it.
const MAX_ATTEMPTS: usize = 16;
/// A header is far shorter.
const MAX_HEADER_BYTES: usize = 512;

/// Returns the path of the feed.
pub(crate) fn path(store: &Store) -> PathBuf {
    store.index_dir().join("changes.jsonl")
}

/// Says that a session is about to change.
pub(crate) fn mark_dirty(store: &Store, id: SessionId) {
    put(store, &line::dirty(id));
}

/// Says what a session is, now that it is published.
pub(crate) fn put_row(store: &Store, session: &Session) {
    let row = to_row(session, RowFlags::default());
    if put(store, &line::row(&row)) == Growth::Overgrown {
        remake::compact(store);
    }
}

/// Whether a feed has more than it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    Fit,
    Overgrown,
}

/// Appends a line, or removes the feed.
fn put(store: &Store, line: &[u8]) -> Growth {
    append(store, line).unwrap_or_else(|_| {
        remove(store);
        Growth::Fit
    })
}

fn append(store: &Store, line: &[u8]) -> io::Result<Growth> {
    let open = || open_to_add(store);
    let (file, stat) = lock(store, LockMode::Shared, &open)?;
    if stat.len_bytes == 0 {
        // The first writer after a loss: the others' rows are missing, and the header says so.
        let header = Header::partial(store.boot_id(), first_generation(&stat));
        write_once(file.as_ref(), &line::header(&header), 0)?;
    }
    write_once(file.as_ref(), line, stat.len_bytes)?;
    growth(store, file.as_ref(), stat.len_bytes)
}

/// Opens the feed to add to it, and makes it where there is none.
fn open_to_add(store: &Store) -> io::Result<Box<dyn FsFile>> {
    let path = path(store);
    match store.fs().open(&path, OpenHow::Append) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_dir(store)?;
            store.fs().open(&path, OpenHow::Append)
        }
        other => other,
    }
}

/// Makes the feed's directory, which is as disposable as the feed. One of a store that is gone is
/// not made.
fn make_dir(store: &Store) -> io::Result<()> {
    store.fs().stat(store.spool_dir())?;
    store.fs().create_dir_all(store.index_dir())
}

/// Tells whether more was added to the feed than it was made with, and so whether half of it may
/// be dead. The test costs a read only once the feed is large.
fn growth(store: &Store, file: &dyn FsFile, len_bytes: u64) -> io::Result<Growth> {
    if len_bytes <= store.feed_room_bytes() {
        return Ok(Growth::Fit);
    }
    let base_bytes = peek(file)?.map_or(0, |(header, _)| header.base_bytes);
    let is_fit = len_bytes / 2 <= base_bytes;
    Ok(if is_fit { Growth::Fit } else { Growth::Overgrown })
}

/// Reads the header and its length with its newline.
fn peek(file: &dyn FsFile) -> io::Result<Option<(Header, u64)>> {
    let mut bytes = Vec::new();
    crate::file::read_from(file, 0, MAX_HEADER_BYTES, &mut bytes)?;
    let Some(end) = memchr::memchr(b'\n', &bytes) else { return Ok(None) };
    Ok(match line::decode(&bytes[..end]) {
        Some(line::Line::Header(header)) => Some((header, end as u64 + 1)),
        _ => None,
    })
}

/// Returns the first number of a feed that succeeds none, so that its successors are not taken
/// for those of another one.
fn first_generation(stat: &Stat) -> u64 {
    stat.file_id.inode << 20
}

/// Writes a line in one piece. What a short write leaves is no line, and is told by its checksum.
fn write_once(file: &dyn FsFile, line: &[u8], offset: u64) -> io::Result<()> {
    if file.write_at(line, offset)? < line.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

/// Opens and locks the file that has the feed's name.
fn lock(
    store: &Store,
    mode: LockMode,
    open: &dyn Fn() -> io::Result<Box<dyn FsFile>>,
) -> io::Result<(Box<dyn FsFile>, Stat)> {
    for _ in 0..MAX_ATTEMPTS {
        let file = open()?;
        if !file.lock(mode, LOCK_WAIT)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let stat = file.stat()?;
        if is_named(store, &stat) {
            return Ok((file, stat));
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// True while a file has the feed's name.
fn is_named(store: &Store, stat: &Stat) -> bool {
    store.fs().stat(&path(store)).is_ok_and(|named| named.file_id == stat.file_id)
}

/// Removes the feed, or empties it: its next reader makes it anew.
fn remove(store: &Store) {
    let path = path(store);
    match store.fs().remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(_) => {
            // Cutting needs no room. If that fails too, the feed lags until its next compaction.
            let _ = store.fs().open(&path, OpenHow::ReadWrite).and_then(|file| file.set_len(0));
        }
    }
}

/// Replaces the feed, whose lock the caller holds.
fn replace(fs: &dyn Fs, path: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
    crate::file::replace(fs, path, &path.with_extension("jsonl.tmp"), bytes)
}
