//! The line form of an event: one CloudEvents object, its checksum the last member.
//!
//! `crc` is exactly eight lower-case hex digits: CRC-32C over the bytes of the line before the
//! member, continued from the value stored in the line before (for the first line: from the CRC-32C
//! of the session id's text). A line is thereby bound to its place and its session.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::event::{Draft, Event, Fact};
use crate::ids::{EventId, SessionId};
use crate::limits::MAX_LINE_BYTES;
use crate::source::Source;
use crate::time::Timestamp;

/// Digits of a stored sequence: enough for ten thousand million million events.
pub const SEQUENCE_DIGITS: usize = 16;
const MEMBER: &[u8] = b",\"crc\":\"";
const TAIL_BYTES: usize = MEMBER.len() + 8 + 3;

/// Why a line could not be taken as an event.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The line has no checksum member where it must be.
    #[error("line does not end in a checksum")]
    NoChecksum,
    /// The checksum does not fit.
    #[error("checksum {stored:08x} does not fit the bytes (expected {computed:08x})")]
    Checksum {
        /// The value in the line.
        stored: u32,
        /// The value of its bytes.
        computed: u32,
    },
    /// The line is longer than any writer makes one.
    #[error("line of {len_bytes} bytes is over the bound of {MAX_LINE_BYTES}")]
    TooLong {
        /// Its length.
        len_bytes: usize,
    },
    /// The checksum fits, the JSON does not.
    #[error("line is not an event")]
    Json(#[source] serde_json::Error),
    /// The event is not the one that belongs here.
    #[error("{what} is {found}, expected {expected}")]
    Misplaced {
        /// `sequence`, `subject` or `specversion`.
        what: &'static str,
        /// The value in the line.
        found: String,
        /// The value that belongs here.
        expected: String,
    },
}

/// Returns the chain value that the first line continues from.
pub fn chain_seed(session: SessionId) -> u32 {
    crc32c::crc32c(session.to_string().as_bytes())
}

#[derive(Serialize)]
struct EnvelopeOut<'a> {
    specversion: &'static str,
    id: EventId,
    source: &'a Source,
    r#type: &'a str,
    time: Timestamp,
    subject: SessionId,
    sequence: &'a str,
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct EnvelopeIn<'a> {
    #[serde(borrow)]
    specversion: Cow<'a, str>,
    id: EventId,
    source: Source,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    time: Timestamp,
    subject: SessionId,
    #[serde(borrow)]
    sequence: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// A line as it will stand in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The bytes, newline included.
    pub bytes: Vec<u8>,
    /// The chain value that the next line continues from.
    pub chain: u32,
}

/// Encodes an event as the line that follows a line with chain value `previous`.
pub fn encode(event: &Event, previous: u32) -> Result<Encoded, serde_json::Error> {
    let data = event.fact.to_data()?;
    let sequence = format!("{:0SEQUENCE_DIGITS$}", event.sequence);
    let mut bytes = serde_json::to_vec(&EnvelopeOut {
        specversion: "1.0",
        id: event.id,
        source: &event.source,
        r#type: event.fact.type_name(),
        time: event.time,
        subject: event.subject,
        sequence: &sequence,
        data: &data,
    })?;
    bytes.pop();
    Ok(sealed(bytes, previous))
}

/// Closes an object whose last brace was left off with its checksum.
fn sealed(mut bytes: Vec<u8>, previous: u32) -> Encoded {
    let chain = crc32c::crc32c_append(previous, &bytes);
    bytes.extend_from_slice(MEMBER);
    bytes.extend_from_slice(format!("{chain:08x}").as_bytes());
    bytes.extend_from_slice(b"\"}\n");
    Encoded { bytes, chain }
}

/// Encodes a draft as the event at `sequence` of `subject`.
pub fn encode_draft(
    draft: &Draft,
    subject: SessionId,
    sequence: u64,
    previous: u32,
) -> Result<Encoded, serde_json::Error> {
    encode(&draft.clone().at(subject, sequence), previous)
}

/// Where a moved line shall stand.
#[derive(Clone, Copy, Debug)]
pub struct NewPlace {
    /// The sequence that it gets; none keeps its own.
    pub sequence: Option<u64>,
    /// The chain value of the line before.
    pub previous: u32,
}

/// Binds a line (without its newline) to another place: the sequence member and the checksum are
/// replaced as text and every other byte stays, members that this build does not know included.
///
/// # Errors
/// When the line does not end in a checksum, or has no sequence member where one must be.
pub fn rechain(line: &[u8], place: NewPlace) -> Result<Encoded, DecodeError> {
    let mut bytes = split(line).ok_or(DecodeError::NoChecksum)?.covered.to_vec();
    if let Some(sequence) = place.sequence {
        let head: SequenceIn<'_> = serde_json::from_slice(line).map_err(DecodeError::Json)?;
        let old = head.sequence.get();
        let start = old.as_ptr().addr() - line.as_ptr().addr();
        let new = format!("\"{sequence:0SEQUENCE_DIGITS$}\"");
        bytes.splice(start..start + old.len(), new.into_bytes());
    }
    Ok(sealed(bytes, place.previous))
}

#[derive(Deserialize)]
struct SequenceIn<'a> {
    #[serde(borrow)]
    sequence: &'a RawValue,
}

/// The two parts of a line: the bytes that its checksum covers, and the stored value.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    /// The covered bytes.
    pub covered: &'a [u8],
    /// The stored value.
    pub stored: u32,
}

/// Splits a line (without its newline); none when it does not end in a checksum member.
pub fn split(line: &[u8]) -> Option<Split<'_>> {
    let cut = line.len().checked_sub(TAIL_BYTES - 1)?;
    let (covered, tail) = line.split_at(cut);
    let digits = tail.strip_prefix(MEMBER)?.strip_suffix(b"\"}")?;
    if digits.iter().any(|b| !matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let stored = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some(Split { covered, stored })
}

/// Checks a line (without its newline) against the chain value before it, and returns its own.
pub fn check(line: &[u8], previous: u32) -> Result<u32, DecodeError> {
    if line.len() > MAX_LINE_BYTES {
        return Err(DecodeError::TooLong { len_bytes: line.len() });
    }
    let Split { covered, stored } = split(line).ok_or(DecodeError::NoChecksum)?;
    let computed = crc32c::crc32c_append(previous, covered);
    if stored == computed { Ok(stored) } else { Err(DecodeError::Checksum { stored, computed }) }
}

/// Where a line must stand.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The session whose log it is.
    pub subject: SessionId,
    /// The sequence that belongs here.
    pub sequence: u64,
    /// The chain value of the line before.
    pub previous: u32,
}

/// Checks and decodes a line (without its newline); returns the event and its chain value.
pub fn decode(line: &[u8], place: Place) -> Result<(Event, u32), DecodeError> {
    let chain = check(line, place.previous)?;
    let event = parse(line)?;
    if event.subject != place.subject {
        return Err(misplaced("subject", &event.subject, &place.subject));
    }
    if event.sequence != place.sequence {
        return Err(misplaced("sequence", &event.sequence, &place.sequence));
    }
    Ok((event, chain))
}

fn misplaced(
    what: &'static str,
    found: &dyn std::fmt::Display,
    expected: &dyn std::fmt::Display,
) -> DecodeError {
    DecodeError::Misplaced { what, found: found.to_string(), expected: expected.to_string() }
}

/// Decodes a line whose checksum was checked.
pub fn parse(line: &[u8]) -> Result<Event, DecodeError> {
    let envelope: EnvelopeIn<'_> = serde_json::from_slice(line).map_err(DecodeError::Json)?;
    if envelope.specversion != "1.0" {
        return Err(misplaced("specversion", &envelope.specversion, &"1.0"));
    }
    let sequence = envelope
        .sequence
        .parse::<u64>()
        .ok()
        .filter(|_| {
            envelope.sequence.len() == SEQUENCE_DIGITS
                && envelope.sequence.bytes().all(|b| b.is_ascii_digit())
        })
        .ok_or_else(|| misplaced("sequence", &envelope.sequence, &"16 digits"))?;
    let fact = Fact::from_data(&envelope.r#type, envelope.data).map_err(DecodeError::Json)?;
    Ok(Event {
        id: envelope.id,
        source: envelope.source,
        time: envelope.time,
        subject: envelope.subject,
        sequence,
        fact,
    })
}
