//! Making the feed anew, and compacting it.
//!
//! Making it anew takes long in a large store, and writers must not wait for it. So first an
//! incomplete feed takes the name, and writers go on in it; then the snapshots are read; then both
//! are put together. A change that the snapshots don't show yet is announced in the new file.

use std::io;

use creel_record::SessionId;
use creel_sys::fs::{LockMode, OpenHow};

use crate::convert::{RowFlags, to_row};
use crate::error::ReadError;
use crate::feed::content::Content;
use crate::feed::line::{self, Header};
use crate::feed::{
    Growth, first_generation, growth, is_named, lock, open_to_add, path, peek, replace,
};
use crate::store::Store;

/// Makes the feed anew from the snapshots.
pub(crate) fn remake(store: &Store) -> io::Result<()> {
    begin(store)?;
    let rows = scan(store)?;
    finish(store, rows)
}

/// Puts an incomplete feed of this boot in place. The marks of changes that are under way are
/// carried over.
fn begin(store: &Store) -> io::Result<()> {
    let path = path(store);
    let (file, stat) = lock(store, LockMode::Exclusive, &|| open_to_add(store))?;
    let content = Content::read(file.as_ref())?;
    if content.is_whole
        && content.header.as_ref().is_some_and(|header| header.is_of(store.boot_id()))
    {
        return Ok(());
    }
    let generation = content
        .header
        .as_ref()
        .map_or_else(|| first_generation(&stat), |header| header.generation.wrapping_add(1));
    let mut bytes = line::header(&Header::partial(store.boot_id(), generation));
    for id in content.dirty() {
        bytes.extend_from_slice(&line::dirty(id));
    }
    replace(store.fs(), &path, &bytes)
}

/// Returns the lines of all sessions. One whose row would not be its snapshot alone is marked, so
/// that every list looks again.
fn scan(store: &Store) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for id in store.ids().map_err(io::Error::other)? {
        match store.read(id) {
            Ok(published) if published.flags() == RowFlags::default() => {
                bytes.extend_from_slice(&line::row(&to_row(
                    published.session(),
                    RowFlags::default(),
                )));
            }
            Err(ReadError::NotFound { .. }) => {}
            Ok(_) | Err(_) => bytes.extend_from_slice(&line::dirty(id)),
        }
    }
    Ok(bytes)
}

/// Replaces the incomplete feed by a complete one.
fn finish(store: &Store, mut rows: Vec<u8>) -> io::Result<()> {
    let path = path(store);
    let (file, _) =
        lock(store, LockMode::Exclusive, &|| store.fs().open(&path, OpenHow::ReadWrite))?;
    let content = Content::read(file.as_ref())?;
    let begun = content.header.as_ref().filter(|h| content.is_whole && h.is_of(store.boot_id()));
    match begun {
        None => Err(io::ErrorKind::Interrupted.into()),
        Some(header) if header.is_complete => Ok(()),
        Some(header) => {
            rows.extend_from_slice(&content.bytes[content.header_len..]);
            let rows = Content::parse(rows).newest_lines();
            let mut bytes = line::header(&header.next(&rows));
            bytes.extend_from_slice(&rows);
            replace(store.fs(), &path, &bytes)
        }
    }
}

/// Replaces a feed that has grown by one with the newest line of each session, if nobody is
/// writing to it at the moment. A failure leaves it as it is.
pub(crate) fn compact(store: &Store) {
    // It is only too long: the next writer or reader tries again.
    let _ = try_compact(store);
}

fn try_compact(store: &Store) -> io::Result<()> {
    let path = path(store);
    let file = store.fs().open(&path, OpenHow::ReadWrite)?;
    if !file.try_lock(LockMode::Exclusive)? {
        return Ok(());
    }
    let stat = file.stat()?;
    if !is_named(store, &stat) || growth(store, file.as_ref(), stat.len_bytes)? == Growth::Fit {
        return Ok(());
    }
    // A feed of another boot is made anew by its next reader. Told by its header alone, since
    // every writer comes by here until then.
    let Some((header, _)) = peek(file.as_ref())?.filter(|(h, _)| h.is_of(store.boot_id())) else {
        return Ok(());
    };
    let content = Content::read(file.as_ref())?;
    if !content.is_whole {
        return Ok(());
    }
    let rows = content.newest_lines();
    let mut bytes = line::header(&header.compacted(&rows));
    bytes.extend_from_slice(&rows);
    replace(store.fs(), &path, &bytes)
}

impl Content {
    /// Returns the sessions whose last line is a mark.
    fn dirty(&self) -> Vec<SessionId> {
        let dirty = self.sessions.iter().filter(|(_, newest)| newest.is_dirty);
        let mut ids: Vec<SessionId> = dirty.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the newest row of each session, in the order of the feed, and the marks after them.
    fn newest_lines(&self) -> Vec<u8> {
        let rows = self.sessions.values().filter_map(|newest| newest.row.as_ref());
        let mut ranges: Vec<_> = rows.map(|row| row.line.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut bytes = Vec::new();
        for range in ranges {
            bytes.push(b'\n');
            bytes.extend_from_slice(&self.bytes[range]);
        }
        for id in self.dirty() {
            bytes.extend_from_slice(&line::dirty(id));
        }
        bytes
    }
}
