//! What can be wrong with a log, and where.

use std::fmt;

/// A spool that is served from its last snapshot and may not be written until it is healed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The log carries the mark: it was found damaged, or a failed write could not be undone.
    Marked,
    /// The log ends before the place that was published.
    Shorter {
        /// Its length in bytes.
        len_bytes: u64,
        /// The published length in bytes.
        published_bytes: u64,
    },
    /// The log is gone.
    Missing,
    /// A line is bad.
    Line(Fault),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Marked => f.write_str("marked read-only"),
            Self::Shorter { len_bytes, published_bytes } => {
                write!(f, "{len_bytes} bytes long, {published_bytes} are published")
            }
            Self::Missing => f.write_str("the file is gone"),
            Self::Line(fault) => fault.fmt(f),
        }
    }
}

/// A stretch of a log that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Offset of its first byte.
    pub offset_bytes: u64,
    /// Its length in bytes, newline included where there is one.
    pub len_bytes: u64,
    /// The number of its first line, from 1.
    pub line_number: u64,
    /// What is wrong.
    pub kind: FaultKind,
    /// The sequences that are missing for it: the first one, and how many.
    pub missing: (u64, u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset_bytes, len_bytes, line_number, kind, .. } = self;
        write!(f, "line {line_number}, {len_bytes} bytes at {offset_bytes}: {kind}")
    }
}

/// What is wrong with a stretch of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The checksum does not fit.
    Checksum,
    /// There is no checksum where it must be.
    NoChecksum,
    /// The checksum fits, but it is not the event that belongs here.
    NotTheEvent,
    /// It is longer than any line may be.
    TooLong,
    /// It ends without a newline.
    Unterminated,
    /// The byte that ends a good line is not a newline.
    Newline,
    /// A suffix that no writer finished; nothing valid follows and none of it was published.
    TornTail,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checksum => "the checksum does not fit",
            Self::NoChecksum => "there is no checksum",
            Self::NotTheEvent => "not the event that belongs here",
            Self::TooLong => "too long for a line",
            Self::Unterminated => "no newline at the end",
            Self::Newline => "not a newline between two lines",
            Self::TornTail => "an unfinished line at the end",
        })
    }
}
