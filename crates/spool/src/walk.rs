//! A walk through a log that finds every event and every bad stretch, each bad one hiding no more
//! than itself.
//!
//! A line is good when its checksum continues the chain. After a bad stretch the chain goes on
//! from the value that its last line stores, or from the one that its bytes should have had: one
//! of the two is right unless both the body and the checksum were hit. A byte that should have
//! been a newline is found by the good line in front of it.

use std::collections::VecDeque;
use std::io;
use std::ops::Deref;

use creel_record::event::Event;
use creel_record::limits::MAX_LINE_BYTES;
use creel_record::line::{self, DecodeError, Place};
use creel_record::run::LineRef;
use creel_record::snapshot::LogPosition;
use creel_record::{SessionId, event};
use creel_sys::fs::FsFile;
use memchr::memmem;

use crate::damage::{Fault, FaultKind};
use crate::lines::{Lines, RawLine};

/// What every line begins with; inside a JSON string its quotes would be escaped.
const LINE_START: &[u8] = b"{\"specversion\":\"";
/// `,"crc":"xxxxxxxx"}`
const CHECKSUM_BYTES: usize = 18;
/// Chain values that are tried after a bad stretch: two for its last line, and those before.
const MAX_CANDIDATES: usize = 8;

/// Where a walk begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Offset of the first line.
    pub(crate) offset_bytes: u64,
    /// The sequence before it.
    pub(crate) sequence: u64,
    /// The chain value before it.
    pub(crate) chain: u32,
    /// The number of its line.
    pub(crate) line_number: u64,
}

impl Start {
    /// The beginning of a log.
    pub(crate) fn of_log(id: SessionId) -> Self {
        Self { offset_bytes: 0, sequence: 0, chain: line::chain_seed(id), line_number: 1 }
    }

    /// The end of what is published.
    pub(crate) fn after(position: &LogPosition) -> Self {
        Self {
            offset_bytes: position.len_bytes,
            sequence: position.sequence,
            chain: position.chain,
            line_number: position.sequence + 1,
        }
    }
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The offset it ends at.
    pub(crate) end: u64,
    /// A last line that begins before this offset is good without its newline; one that begins
    /// later may be one that nobody finished.
    pub(crate) published_bytes: u64,
}

/// A good line.
#[derive(Clone, Debug)]
pub(crate) struct GoodLine {
    /// Its event.
    pub(crate) event: Event,
    /// Where it stands.
    pub(crate) line: LineRef,
    /// The chain value after it.
    pub(crate) chain: u32,
}

impl GoodLine {
    /// Returns the position after the line.
    pub(crate) fn position(&self) -> LogPosition {
        LogPosition {
            len_bytes: self.line.offset_bytes + self.line.len_bytes,
            sequence: self.event.sequence,
            event_id: self.event.id,
            chain: self.chain,
        }
    }
}

/// A bad stretch.
#[derive(Clone, Debug)]
pub(crate) struct BadStretch {
    /// Where and what.
    pub(crate) fault: Fault,
    /// True when it is the end of the log, holds no whole line, and none of it was published.
    pub(crate) may_be_torn: bool,
}

/// One step of a walk.
#[derive(Debug)]
pub(crate) enum Step {
    /// An event.
    Good(Box<GoodLine>),
    /// No event.
    Bad(BadStretch),
}

/// The walk.
#[derive(Debug)]
pub(crate) struct Walk<F> {
    lines: Lines<F>,
    subject: SessionId,
    published_bytes: u64,
    line_number: u64,
    sequence: u64,
    chain: u32,
    queued: VecDeque<Step>,
}

impl<F: Deref<Target: FsFile>> Walk<F> {
    /// Begins a walk.
    pub(crate) fn new(file: F, subject: SessionId, start: Start, bounds: Bounds) -> Self {
        Self {
            lines: Lines::new(file, start.offset_bytes, bounds.end),
            subject,
            published_bytes: bounds.published_bytes,
            line_number: start.line_number,
            sequence: start.sequence,
            chain: start.chain,
            queued: VecDeque::new(),
        }
    }

    /// Begins again, elsewhere.
    pub(crate) fn restart(&mut self, start: Start) {
        self.lines.restart(start.offset_bytes);
        self.line_number = start.line_number;
        self.sequence = start.sequence;
        self.chain = start.chain;
        self.queued.clear();
    }

    /// Returns the next event or bad stretch; none at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Step>> {
        if let Some(step) = self.queued.pop_front() {
            return Ok(Some(step));
        }
        let place = self.place();
        let Some(raw) = self.lines.next()? else { return Ok(None) };
        let kind = match judge(&raw, place) {
            Ok((event, chain)) => {
                let good = good_line(event, &raw, (place.previous, chain));
                return Ok(Some(self.accept(good)));
            }
            Err(kind) => kind,
        };
        let is_published = raw.offset_bytes < self.published_bytes;
        if let Some((good, newline_at)) = before_bad_newline(&raw, place, is_published) {
            return Ok(Some(self.split(good, newline_at)));
        }
        let stretch = Stretch::begin(&raw, kind, place.previous);
        self.cross(stretch).map(Some)
    }

    fn place(&self) -> Place {
        Place { subject: self.subject, sequence: self.sequence + 1, previous: self.chain }
    }

    fn accept(&mut self, good: GoodLine) -> Step {
        self.sequence = good.event.sequence;
        self.chain = good.chain;
        self.line_number += 1;
        Step::Good(Box::new(good))
    }

    /// Takes a good line whose newline is another byte, and goes on behind that byte.
    fn split(&mut self, good: GoodLine, newline_at: u64) -> Step {
        let fault = Fault {
            offset_bytes: newline_at,
            len_bytes: self.lines.end().saturating_sub(newline_at).min(1),
            line_number: self.line_number,
            kind: FaultKind::Newline,
            missing: (good.event.sequence + 1, 0),
        };
        self.lines.rewind(newline_at + 1);
        self.queued.push_back(Step::Bad(BadStretch { fault, may_be_torn: false }));
        self.accept(good)
    }

    /// Goes on behind a bad stretch: to the first line that continues one of its chain values.
    fn cross(&mut self, mut stretch: Stretch) -> io::Result<Step> {
        let first_missing = self.sequence + 1;
        let found = loop {
            let Some(raw) = self.lines.next()? else { break None };
            if let Some((sequence, chain)) = stretch.continued_by(&raw, self.subject)
                && sequence >= first_missing
            {
                break Some((sequence, chain, raw.offset_bytes));
            }
            stretch.extend(&raw, self.subject);
        };
        let mut missing = (first_missing, 0);
        let line_number = self.line_number;
        self.line_number += stretch.line_count;
        if let Some((sequence, chain, offset)) = found {
            missing.1 = sequence - first_missing;
            self.lines.rewind(offset);
            self.sequence = sequence - 1;
            self.chain = chain;
        }
        let fault = Fault {
            offset_bytes: stretch.start,
            len_bytes: stretch.end - stretch.start,
            line_number,
            kind: stretch.kind,
            missing,
        };
        // A torn tail is part of one line.
        let may_be_torn = found.is_none()
            && !stretch.holds_whole_line
            && fault.len_bytes <= MAX_LINE_BYTES as u64
            && fault.offset_bytes >= self.published_bytes;
        Ok(Step::Bad(BadStretch { fault, may_be_torn }))
    }
}

fn good_line(event: Event, raw: &RawLine<'_>, chain: (u32, u32)) -> GoodLine {
    let (previous, chain) = chain;
    let len_bytes = raw.bytes.len() as u64 + 1;
    GoodLine { event, line: LineRef { offset_bytes: raw.offset_bytes, len_bytes, previous }, chain }
}

fn judge(raw: &RawLine<'_>, place: Place) -> Result<(event::Event, u32), FaultKind> {
    let decoded = line::decode(raw.bytes, place).map_err(|error| match error {
        DecodeError::NoChecksum => FaultKind::NoChecksum,
        DecodeError::Checksum { .. } => FaultKind::Checksum,
        DecodeError::TooLong { .. } => FaultKind::TooLong,
        _ => FaultKind::NotTheEvent,
    });
    if raw.is_terminated { decoded } else { decoded.and(Err(FaultKind::Unterminated)) }
}

/// Finds a good line at the beginning of `raw` that is followed by a byte in a newline's place, or
/// by the end of the log where one is missing.
fn before_bad_newline(
    raw: &RawLine<'_>,
    place: Place,
    is_published: bool,
) -> Option<(GoodLine, u64)> {
    let len = raw.bytes.len();
    let inner = memmem::find_iter(raw.bytes, LINE_START).filter_map(|next| next.checked_sub(1));
    let at_end = [len.saturating_sub(1), len].into_iter();
    let at_end = at_end.filter(|_| is_published && !raw.is_terminated);
    inner.chain(at_end).find_map(|cut| {
        let part = RawLine { bytes: &raw.bytes[..cut], is_terminated: true, ..*raw };
        let (event, chain) = judge(&part, place).ok()?;
        let good = good_line(event, &part, (place.previous, chain));
        Some((good, raw.offset_bytes + cut as u64))
    })
}

/// Bad lines in a row.
#[derive(Debug)]
struct Stretch {
    start: u64,
    end: u64,
    kind: FaultKind,
    line_count: u64,
    holds_whole_line: bool,
    candidates: VecDeque<u32>,
}

impl Stretch {
    fn begin(raw: &RawLine<'_>, kind: FaultKind, previous: u32) -> Self {
        let mut stretch = Self {
            start: raw.offset_bytes,
            end: raw.end(),
            kind,
            line_count: 1,
            holds_whole_line: false,
            candidates: VecDeque::from([previous]),
        };
        stretch.add_candidates(raw);
        stretch
    }

    fn extend(&mut self, raw: &RawLine<'_>, subject: SessionId) {
        self.end = raw.end();
        self.line_count += 1;
        self.holds_whole_line |=
            raw.is_terminated && line::parse(raw.bytes).is_ok_and(|event| event.subject == subject);
        self.add_candidates(raw);
    }

    /// Adds the values that the next line may continue from.
    fn add_candidates(&mut self, raw: &RawLine<'_>) {
        let before: Vec<u32> = self.candidates.iter().copied().collect();
        let Some(cut) = raw.bytes.len().checked_sub(CHECKSUM_BYTES) else { return };
        let covered = &raw.bytes[..cut];
        for previous in before.into_iter().rev() {
            self.candidates.push_front(crc32c::crc32c_append(previous, covered));
        }
        if let Some(split) = line::split(raw.bytes) {
            self.candidates.push_front(split.stored);
        }
        self.candidates.truncate(MAX_CANDIDATES);
    }

    /// Tells whether a line continues one of the candidates: its sequence, and the value.
    fn continued_by(&self, raw: &RawLine<'_>, subject: SessionId) -> Option<(u64, u32)> {
        if !raw.is_terminated {
            return None;
        }
        let chain =
            self.candidates.iter().copied().find(|value| line::check(raw.bytes, *value).is_ok())?;
        let event = line::parse(raw.bytes).ok().filter(|event| event.subject == subject)?;
        Some((event.sequence, chain))
    }
}
