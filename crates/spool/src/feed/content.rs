//! A feed as read: the newest line of each session.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use creel_record::SessionId;
use creel_sys::fs::FsFile;
use memchr::memchr_iter;

use crate::feed::line::{self, Header, Line, RowLine, Updated};

/// A row and its mark in a store of sessions with a title and few keys.
const USUAL_LINE_BYTES: usize = 1024;

/// The newest line of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    /// Its row, within the bytes; none when there is only a mark.
    pub(crate) row: Option<RowRange>,
    /// True when a change was announced after the row.
    pub(crate) is_dirty: bool,
}

/// Where a row stands in the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowRange {
    /// The whole line with its last newline.
    pub(crate) line: Range<usize>,
    /// The row's JSON.
    pub(crate) json: Range<usize>,
    /// The time of its last event.
    pub(crate) updated: Updated,
    pub(crate) is_discarded: bool,
}

/// The whole feed.
#[derive(Debug)]
pub(crate) struct Content {
    /// Its bytes up to the last newline.
    pub(crate) bytes: Vec<u8>,
    /// Its first line, if that is a header.
    pub(crate) header: Option<Header>,
    /// Length of the first line with its newline.
    pub(crate) header_len: usize,
    /// The newest line of each session.
    pub(crate) sessions: HashMap<SessionId, Newest>,
    /// True when every line is good.
    pub(crate) is_whole: bool,
}

impl Content {
    /// Reads a feed. An unfinished last line is left out: its writer is at work, or announced
    /// what it was about to write.
    pub(crate) fn read(file: &dyn FsFile) -> io::Result<Self> {
        let len = usize::try_from(file.stat()?.len_bytes).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        let mut done = 0;
        while done < len {
            match file.read_at(&mut bytes[done..], done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(done);
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        bytes.truncate(end);
        Ok(Self::parse(bytes))
    }

    /// Parses whole lines.
    pub(crate) fn parse(bytes: Vec<u8>) -> Self {
        let mut content = Self {
            bytes: Vec::new(),
            header: None,
            header_len: 0,
            sessions: HashMap::with_capacity(bytes.len() / USUAL_LINE_BYTES),
            is_whole: true,
        };
        let mut start = 0;
        for end in memchr_iter(b'\n', &bytes) {
            let text = &bytes[start..end];
            let range = start..end + 1;
            start = end + 1;
            if text.is_empty() {
                continue;
            }
            match line::decode(text) {
                Some(Line::Header(header)) if range.start == 0 => {
                    content.header = Some(header);
                    content.header_len = range.end;
                }
                // Two writers may both find an empty feed.
                Some(Line::Header(header)) if !header.is_complete => {}
                Some(Line::Dirty(id)) => {
                    let newest = Newest { row: None, is_dirty: true };
                    content.sessions.entry(id).or_insert(newest).is_dirty = true;
                }
                Some(Line::Row(row)) => {
                    let json = line::json_range(&row, &range);
                    let RowLine { updated, is_discarded, .. } = row;
                    let row_range = RowRange { line: range.clone(), json, updated, is_discarded };
                    let newest = Newest { row: Some(row_range), is_dirty: false };
                    content.sessions.insert(row.id, newest);
                }
                Some(Line::Header(_)) | None => content.is_whole = false,
            }
        }
        content.bytes = bytes;
        content
    }

    /// Returns the bytes of the lines that count: the newest row of each session.
    pub(crate) fn live_bytes(&self) -> usize {
        self.sessions.values().filter_map(|newest| newest.row.as_ref()).map(|r| r.line.len()).sum()
    }
}
