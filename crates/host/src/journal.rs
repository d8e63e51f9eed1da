//! What changed, in order, for as long as somebody may still ask for it: a ring with a bound.
//!
//! Readers have a place in the ring and no queue of their own. One that is slower than the ring is
//! long has lost its place, is told so, and begins again with a snapshot.

use std::collections::VecDeque;
use std::sync::Arc;

/// The most events kept: minutes of a busy machine.
const MAX_EVENTS: usize = 4096;

/// The most bytes kept. A session's row may take tens of kilobytes.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its number, from 1 for each host process.
    pub(crate) sequence: u64,
    /// `session`, `run`, `stores` or `layout`.
    pub(crate) kind: &'static str,
    /// What it is now, as JSON on one line.
    pub(crate) data: String,
}

/// A place in the journal, as clients keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) epoch: String,
    pub(crate) sequence: u64,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.epoch, self.sequence)
    }
}

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Behind this event.
    After(u64),
    /// With a snapshot, since there is no going on.
    Reset(&'static str),
}

/// What a reader finds at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// These, in order.
    Events(Vec<Arc<Event>>),
    /// Nothing yet.
    Nothing,
    /// The place is no longer in the ring.
    Lost,
}

/// The ring.
#[derive(Debug)]
pub(crate) struct Journal {
    epoch: String,
    last: u64,
    ring: VecDeque<Arc<Event>>,
    ring_bytes: usize,
}

impl Journal {
    pub(crate) fn new(epoch: String) -> Self {
        Self { epoch, last: 0, ring: VecDeque::new(), ring_bytes: 0 }
    }

    pub(crate) fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Returns the number of the newest event.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn push(&mut self, kind: &'static str, data: String) {
        self.last += 1;
        self.ring_bytes += data.len();
        self.ring.push_back(Arc::new(Event { sequence: self.last, kind, data }));
        while self.ring.len() > MAX_EVENTS || self.ring_bytes > MAX_EVENT_BYTES {
            let Some(oldest) = self.ring.pop_front() else { break };
            self.ring_bytes -= oldest.data.len();
        }
    }

    /// Tells where a reader with this cursor begins.
    pub(crate) fn begin(&self, cursor: Option<&str>) -> Begin {
        let Some(cursor) = cursor else { return Begin::Reset("start") };
        let parsed = cursor
            .split_once('-')
            .and_then(|(epoch, sequence)| Some((epoch, sequence.parse::<u64>().ok()?)));
        match parsed {
            None => Begin::Reset("unknown-cursor"),
            Some((epoch, _)) if epoch != self.epoch => Begin::Reset("other-host"),
            Some((_, sequence)) if sequence > self.last => Begin::Reset("unknown-cursor"),
            Some((_, sequence)) if !self.has_after(sequence) => Begin::Reset("too-old"),
            Some((_, sequence)) => Begin::After(sequence),
        }
    }

    /// Returns what comes after an event, at most `max_bytes` of it, at least one.
    pub(crate) fn after(&self, sequence: u64, max_bytes: usize) -> Found {
        if sequence >= self.last {
            return Found::Nothing;
        }
        if !self.has_after(sequence) {
            return Found::Lost;
        }
        let mut len_bytes = 0;
        let first = self.ring.partition_point(|event| event.sequence <= sequence);
        let events = self
            .ring
            .iter()
            .skip(first)
            .take_while(|event| {
                let fits = len_bytes == 0 || len_bytes + event.data.len() <= max_bytes;
                len_bytes += event.data.len().max(1);
                fits
            })
            .map(Arc::clone)
            .collect();
        Found::Events(events)
    }

    /// Tells whether every event after this one is still there.
    fn has_after(&self, sequence: u64) -> bool {
        let oldest = self.ring.front().map_or(self.last + 1, |event| event.sequence);
        sequence + 1 >= oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: usize, data: &str) -> Journal {
        let mut journal = Journal::new("e1".to_owned());
        for _ in 0..count {
            journal.push("session", data.to_owned());
        }
        journal
    }

    #[test]
    fn a_cursor_goes_on_where_it_was_or_is_told_why_not() {
        let check = |journal: &Journal, cursor: Option<&str>, expected| {
            assert_eq!(journal.begin(cursor), expected, "{cursor:?}");
        };
        let few = filled(3, "x");
        check(&few, None, Begin::Reset("start"));
        check(&few, Some("e1-0"), Begin::After(0));
        check(&few, Some("e1-3"), Begin::After(3));
        check(&few, Some("e1-4"), Begin::Reset("unknown-cursor"));
        check(&few, Some("e0-3"), Begin::Reset("other-host"));
        check(&few, Some("e1"), Begin::Reset("unknown-cursor"));
        check(&few, Some("e1--1"), Begin::Reset("unknown-cursor"));
        check(&filled(0, ""), Some("e1-0"), Begin::After(0));
        let many = filled(MAX_EVENTS + 10, "x");
        check(&many, Some("e1-9"), Begin::Reset("too-old"));
        check(&many, Some("e1-10"), Begin::After(10));
    }

    #[test]
    fn events_come_in_order_without_gap_or_repeat_whatever_the_portion() {
        for max_bytes in [1, 7, 100, usize::MAX] {
            let journal = filled(50, "abc");
            let (mut at, mut seen) = (5, Vec::new());
            while let Found::Events(events) = journal.after(at, max_bytes) {
                assert!(!events.is_empty());
                seen.extend(events.iter().map(|event| event.sequence));
                at = *seen.last().expect("some");
            }
            assert_eq!(seen, (6..=50).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_ring_is_bounded_and_the_slow_are_told() {
        let journal = filled(100, &"x".repeat(100_000));
        assert!(journal.ring_bytes <= MAX_EVENT_BYTES);
        assert_eq!(journal.after(1, 10), Found::Lost);
        assert_eq!(journal.after(100, 10), Found::Nothing);
        assert!(matches!(journal.after(99, 10), Found::Events(events) if events.len() == 1));
    }
}
