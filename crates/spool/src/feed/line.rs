//! The lines of the feed.
//!
//! Every line begins with a newline as well as it ends with one, so that the rest of a write that
//! was cut short never spoils the line after it. Blank lines mean nothing.

use std::ops::Range;

use creel_api::session::SessionRow;
use creel_record::SessionId;
use serde::{Deserialize, Serialize};

use crate::run_index::{seal, unseal};

/// The form of the feed that this build writes and reads.
const VERSION: u32 = 1;
const DIRTY: &[u8] = b"{\"dirty\":\"";
const ROW: &[u8] = b"{\"id\":\"";
const UPDATED: &[u8] = b"\",\"updated\":\"";
/// `,"crc":"xxxxxxxx"}`
const CHECKSUM_BYTES: usize = 18;
const ID_BYTES: usize = 36;
const TIME_BYTES: usize = 24;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    version: u32,
    /// The boot that the file was made in: no other one's unsynced bytes are believed.
    pub(crate) boot_id: String,
    /// False while sessions may be missing.
    pub(crate) is_complete: bool,
    /// Counts how often the file was replaced.
    pub(crate) generation: u64,
    /// Bytes of the lines that the file was made with, this one apart.
    pub(crate) base_bytes: u64,
}

impl Header {
    /// A feed that begins with a change, and lacks everything before it.
    pub(crate) fn partial(boot_id: &str, generation: u64) -> Self {
        let boot_id = boot_id.to_owned();
        Self { version: VERSION, boot_id, is_complete: false, generation, base_bytes: 0 }
    }

    /// The header of a shorter file with what counts in this one's, which may lack sessions as
    /// well.
    pub(crate) fn compacted(&self, base: &[u8]) -> Self {
        Self { is_complete: self.is_complete, ..self.next(base) }
    }

    /// The header of the file with all sessions that replaces this one's.
    pub(crate) fn next(&self, base: &[u8]) -> Self {
        Self {
            is_complete: true,
            generation: self.generation.wrapping_add(1),
            base_bytes: base.len() as u64,
            ..self.clone()
        }
    }

    /// True when readers may use the feed.
    pub(crate) fn is_good(&self, boot_id: &str) -> bool {
        self.is_of(boot_id) && self.is_complete
    }

    /// True when the feed was written in this boot, by this form.
    pub(crate) fn is_of(&self, boot_id: &str) -> bool {
        self.version == VERSION && self.boot_id == boot_id
    }
}

/// One line as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A header.
    Header(Header),
    /// A session is about to change.
    Dirty(SessionId),
    /// A session.
    Row(RowLine<'a>),
}

/// A row as read, not parsed further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLine<'a> {
    pub(crate) id: SessionId,
    /// The time of its last event.
    pub(crate) updated: Updated,
    pub(crate) is_discarded: bool,
    /// The row's JSON.
    pub(crate) json: &'a [u8],
}

/// Encodes a header.
pub(crate) fn header(header: &Header) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(header).expect("a header has no map in it");
    seal(&mut bytes, 0);
    bytes
}

/// Encodes a dirty mark.
pub(crate) fn dirty(id: SessionId) -> Vec<u8> {
    let mut bytes = format!("\n{{\"dirty\":\"{id}\"}}").into_bytes();
    seal_after_newline(&mut bytes);
    bytes
}

/// Encodes a row. `id`, `updated` and `discarded` stand before it, so that a list need not parse
/// the rows that it does not show.
pub(crate) fn row(row: &SessionRow) -> Vec<u8> {
    let SessionRow { id, updated, discarded, .. } = row;
    let mut bytes = Vec::with_capacity(1024);
    bytes.extend_from_slice(
        format!("\n{{\"id\":\"{id}\",\"updated\":\"{updated}\",\"discarded\":{discarded},\"row\":")
            .as_bytes(),
    );
    serde_json::to_writer(&mut bytes, row).expect("a row's only map has text keys");
    bytes.push(b'}');
    seal_after_newline(&mut bytes);
    bytes
}

/// Seals a line that begins with a newline, which its checksum leaves out.
fn seal_after_newline(bytes: &mut Vec<u8>) {
    let mut line = bytes.split_off(1);
    seal(&mut line, 0);
    bytes.append(&mut line);
}

/// Decodes a line without its newlines; none when it is none.
pub(crate) fn decode(line: &[u8]) -> Option<Line<'_>> {
    let covered = unseal(line, 0)?;
    if let Some(rest) = covered.strip_prefix(ROW) {
        return decode_row(rest).map(Line::Row);
    }
    if let Some(rest) = covered.strip_prefix(DIRTY) {
        return id(rest.strip_suffix(b"\"")?).map(Line::Dirty);
    }
    serde_json::from_slice(line).ok().map(Line::Header)
}

fn decode_row(rest: &[u8]) -> Option<RowLine<'_>> {
    let (id_text, rest) = rest.split_at_checked(ID_BYTES)?;
    let rest = rest.strip_prefix(UPDATED)?;
    let (updated, rest) = rest.split_at_checked(TIME_BYTES)?;
    let rest = rest.strip_prefix(b"\",\"discarded\":")?;
    let (is_discarded, rest) = match rest.strip_prefix(b"false") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix(b"true")?),
    };
    let json = rest.strip_prefix(b",\"row\":")?;
    Some(RowLine { id: id(id_text)?, updated: Updated::read(updated), is_discarded, json })
}

/// Returns where the JSON of a row stands, given where its line does, newline included.
pub(crate) fn json_range(row: &RowLine<'_>, line: &Range<usize>) -> Range<usize> {
    let end = line.end - CHECKSUM_BYTES - 1;
    end - row.json.len()..end
}

/// A printed time as one number, its digits in order, so that a hundred thousand rows are sorted
/// without looking at their text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Updated(u64);

impl Updated {
    fn read(text: &[u8]) -> Self {
        let digits = text.iter().filter(|byte| byte.is_ascii_digit());
        Self(digits.fold(0, |number: u64, digit| {
            number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
        }))
    }
}

fn id(text: &[u8]) -> Option<SessionId> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
