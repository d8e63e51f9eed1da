//! The rows of a list, from the feed.

use std::ops::Range;

use creel_api::session::SessionRow;
use creel_record::SessionId;
use creel_sys::fs::OpenHow;

use crate::access::Access;
use crate::convert::to_row;
use crate::error::ReadError;
use crate::feed::content::Content;
use crate::feed::line::{self, Line, RowLine, Updated};
use crate::feed::{self, remake};
use crate::store::Store;

/// How often the feed is made anew for one list; each time another process spoiled it.
const MAX_REMAKES: usize = 2;

/// Which sessions a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFilter {
    /// Those without a tombstone.
    Visible,
    /// All.
    All,
}

/// A list: the session that changed last comes first.
#[derive(Debug)]
pub struct Rows {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    unreadable: Vec<(SessionId, ReadError)>,
}

#[derive(Clone, Debug)]
struct Entry {
    id: SessionId,
    updated: Updated,
    json: Range<usize>,
    is_discarded: bool,
}

/// One session of a list, not parsed yet.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The session.
    pub id: SessionId,
    /// True under a tombstone.
    pub is_discarded: bool,
    /// The row as JSON: what [`SessionRow`] prints.
    pub json: &'a str,
}

impl Row<'_> {
    /// Parses the row.
    ///
    /// # Errors
    /// When a newer build wrote it in a form that this one can't read.
    pub fn parse(&self) -> Result<SessionRow, serde_json::Error> {
        serde_json::from_str(self.json)
    }
}

impl Rows {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns them in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.entries.iter().map(|entry| Row {
            id: entry.id,
            is_discarded: entry.is_discarded,
            json: std::str::from_utf8(&self.bytes[entry.json.clone()]).unwrap_or("null"),
        })
    }

    /// Returns the sessions that have no readable snapshot, and why.
    pub fn unreadable(&self) -> &[(SessionId, ReadError)] {
        &self.unreadable
    }
}

impl Store {
    /// Lists the sessions from the feed, and from the snapshots of those that were changing when
    /// their writer was last heard of. A feed that is missing, torn or of another boot is made
    /// anew first; where it can't be, all snapshots are read.
    ///
    /// # Errors
    /// When neither feed nor spools can be read. A single session that can't is in
    /// [`Rows::unreadable`].
    pub fn rows(&self, filter: RowFilter) -> Result<Rows, ReadError> {
        let mut rows = Rows { bytes: Vec::new(), entries: Vec::new(), unreadable: Vec::new() };
        match current(self) {
            Some(content) => rows.take(self, content),
            None => {
                for id in self.ids()? {
                    rows.look_up(self, id);
                }
            }
        }
        if filter == RowFilter::Visible {
            rows.entries.retain(|entry| !entry.is_discarded);
        }
        rows.sort();
        Ok(rows)
    }
}

/// Reads the feed, made anew where it has to be; none when that fails.
fn current(store: &Store) -> Option<Content> {
    for attempt in 0..=MAX_REMAKES {
        let file = store.fs().open(&feed::path(store), OpenHow::Read);
        if let Ok(content) = file.and_then(|file| Content::read(file.as_ref()))
            && content.is_whole
            && content.header.as_ref().is_some_and(|header| header.is_good(store.boot_id()))
        {
            let len = content.bytes.len();
            if len as u64 > store.feed_room_bytes() && content.live_bytes() < len / 2 {
                compact(store);
            }
            return Some(content);
        }
        if attempt == MAX_REMAKES || *store.access() != Access::ReadWrite {
            break;
        }
        // Another attempt may follow a failure: somebody else may have made the feed meanwhile.
        let _ = remake::remake(store);
    }
    None
}

fn compact(store: &Store) {
    if *store.access() == Access::ReadWrite {
        remake::compact(store);
    }
}

impl Rows {
    fn take(&mut self, store: &Store, content: Content) {
        self.bytes = content.bytes;
        self.entries.reserve_exact(content.sessions.len());
        for (id, newest) in content.sessions {
            match newest.row {
                Some(row) if !newest.is_dirty => self.entries.push(Entry {
                    id,
                    updated: row.updated,
                    json: row.json,
                    is_discarded: row.is_discarded,
                }),
                _ => self.look_up(store, id),
            }
        }
    }

    /// Adds a session as its snapshot has it.
    fn look_up(&mut self, store: &Store, id: SessionId) {
        let published = match store.read_settled(id) {
            Ok(published) => published,
            Err(ReadError::NotFound { .. }) => return,
            Err(error) => return self.unreadable.push((id, error)),
        };
        let text = line::row(&to_row(published.session(), published.flags()));
        let start = self.bytes.len() + 1;
        self.bytes.extend_from_slice(&text);
        let range = start..self.bytes.len();
        if let Some(Line::Row(row)) = line::decode(&self.bytes[start..range.end - 1]) {
            let json = line::json_range(&row, &range);
            let RowLine { updated, is_discarded, .. } = row;
            self.entries.push(Entry { id, updated, json, is_discarded });
        }
    }

    fn sort(&mut self) {
        self.entries
            .sort_unstable_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.id.cmp(&b.id)));
    }
}
