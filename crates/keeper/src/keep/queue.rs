//! What waits to be written to disk: bounded, so that a slow disk costs a gap and not the agent's
//! time or the machine's memory.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use creel_api::transcript::Content;
use creel_sys::Deadline;

use crate::screen::checkpoint::Checkpoint;
use crate::screen::marks::Mark;

/// The most bytes that wait: sixteen reads of a full pipe.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// Once bytes were dropped, as little must wait before more are taken, so that a slow disk makes
/// few gaps.
const RESUME_BELOW_BYTES: usize = MAX_QUEUED_BYTES / 2;

/// The most marks that wait: a disk that takes none for so long misses nothing by more.
const MAX_QUEUED_MARKS: usize = 4096;

/// One of the agent's output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Something to write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Output, and where in the agent's output it begins.
    Chunk { stream: Stream, offset: u64, bytes: Vec<u8> },
    /// Output that is not here because the disk was too slow.
    Dropped { len_bytes: u64 },
    /// When output of a terminal came, and how large it was.
    Mark(Mark),
    /// A terminal's screen behind all output before.
    Checkpoint(Box<Checkpoint>),
    /// The last entries of the run's transcript; nothing comes after them.
    Finish(Vec<Content>),
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    /// Bytes in `items` and in the hands of the writer.
    pending_bytes: usize,
    dropped_bytes: u64,
    is_dropping: bool,
    is_saving: bool,
}

/// The queue; clones are the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Queue {
    /// Adds output, or counts it as dropped when too much waits. Never waits itself.
    pub(super) fn push(&self, stream: Stream, offset: u64, bytes: &[u8]) -> Pushed {
        let mut state = self.state();
        let limit = if state.is_dropping { RESUME_BELOW_BYTES } else { MAX_QUEUED_BYTES };
        if state.pending_bytes + bytes.len() > limit {
            state.is_dropping = true;
            state.dropped_bytes += bytes.len() as u64;
            return Pushed::Dropped;
        }
        state.take_dropped();
        state.pending_bytes += bytes.len();
        state.items.push_back(Item::Chunk { stream, offset, bytes: bytes.to_vec() });
        drop(state);
        self.shared.1.notify_all();
        Pushed::Queued
    }

    /// Adds a mark. Never waits.
    pub(super) fn mark(&self, mark: Mark) {
        let mut state = self.state();
        let is_mark = |item: &&Item| matches!(item, Item::Mark(_));
        if state.items.len() < MAX_QUEUED_MARKS
            || state.items.iter().filter(is_mark).count() < MAX_QUEUED_MARKS
        {
            state.items.push_back(Item::Mark(mark));
        }
        drop(state);
        self.shared.1.notify_all();
    }

    /// Adds a screen, in the place of one that waits. Never waits.
    pub(super) fn checkpoint(&self, checkpoint: Checkpoint) {
        let mut state = self.state();
        state.items.retain(|item| !matches!(item, Item::Checkpoint(_)));
        state.items.push_back(Item::Checkpoint(Box::new(checkpoint)));
        state.is_saving = true;
        drop(state);
        self.shared.1.notify_all();
    }

    /// Says that the screen which was popped is written, or not.
    pub(super) fn saved(&self) {
        let mut state = self.state();
        state.is_saving = state.items.iter().any(|item| matches!(item, Item::Checkpoint(_)));
        drop(state);
        self.shared.1.notify_all();
    }

    /// Waits until everything is written, screens too.
    pub(super) fn wait_empty(&self, within: Duration) {
        let is_busy = |state: &mut State| state.pending_bytes > 0 || state.is_saving;
        // What is not written in time is a gap that the next keeper finds.
        drop(self.shared.1.wait_timeout_while(self.state(), within, is_busy));
    }

    /// Adds the last entries.
    pub(super) fn finish(&self, entries: Vec<Content>) {
        let mut state = self.state();
        state.take_dropped();
        state.items.push_back(Item::Finish(entries));
        drop(state);
        self.shared.1.notify_all();
    }

    /// Waits until everything is written; false when `within` passed first.
    pub(super) fn wait_written(&self, within: Duration) -> bool {
        let state = self.state();
        let (state, _) = self
            .shared
            .1
            .wait_timeout_while(state, within, |state| state.pending_bytes > 0)
            .unwrap_or_else(PoisonError::into_inner);
        state.pending_bytes == 0
    }

    /// Takes the next item; none when there is none until `deadline`.
    pub(super) fn pop(&self, deadline: Deadline) -> Option<Item> {
        let state = self.state();
        let (mut state, _) = self
            .shared
            .1
            .wait_timeout_while(state, deadline.remaining(), |state| state.items.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        state.items.pop_front()
    }

    /// Says that bytes which were popped are written, or lost.
    pub(super) fn written(&self, len_bytes: usize) {
        self.state().pending_bytes -= len_bytes;
        self.shared.1.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_dropped(&mut self) {
        self.is_dropping = false;
        let len_bytes = std::mem::take(&mut self.dropped_bytes);
        if len_bytes > 0 {
            self.items.push_back(Item::Dropped { len_bytes });
        }
    }
}

/// What came of adding output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It will be written.
    Queued,
    /// It will not.
    Dropped,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop(queue: &Queue) -> Option<String> {
        Some(match queue.pop(Deadline::after(Duration::ZERO))? {
            Item::Chunk { offset, bytes, .. } => {
                queue.written(bytes.len());
                format!("{} at {offset}", bytes.len())
            }
            Item::Dropped { len_bytes } => format!("{len_bytes} dropped"),
            Item::Mark(mark) => format!("a mark at {}", mark.offset),
            Item::Checkpoint(checkpoint) => format!("a screen at {}", checkpoint.offset),
            Item::Finish(entries) => format!("{} last entries", entries.len()),
        })
    }

    fn check(sizes: &[usize], expected: &[&str]) {
        let queue = Queue::default();
        let mut offset = 0;
        for size in sizes {
            queue.push(Stream::Stdout, offset, &vec![b'x'; *size]);
            offset += *size as u64;
        }
        queue.finish(Vec::new());
        let mut popped = Vec::new();
        while let Some(item) = pop(&queue) {
            popped.push(item);
        }
        assert_eq!(popped, expected);
    }

    #[test]
    fn what_goes_over_the_bound_is_counted_and_marked_in_place() {
        check(&[1, 2], &["1 at 0", "2 at 1", "0 last entries"]);
        check(&[MAX_QUEUED_BYTES, 1, 2], &["1048576 at 0", "3 dropped", "0 last entries"]);
    }

    #[test]
    fn a_full_queue_takes_more_only_when_half_of_it_is_written() {
        let queue = Queue::default();
        let half = vec![b'x'; RESUME_BELOW_BYTES];
        assert_eq!(queue.push(Stream::Stdout, 0, &half), Pushed::Queued);
        assert_eq!(queue.push(Stream::Stdout, 0, &half), Pushed::Queued);
        assert_eq!(queue.push(Stream::Stdout, 0, b"1"), Pushed::Dropped);
        assert!(!queue.wait_written(Duration::ZERO));
        pop(&queue);
        assert_eq!(queue.push(Stream::Stdout, 0, b"1"), Pushed::Dropped);
        pop(&queue);
        assert!(queue.wait_written(Duration::ZERO));
        assert_eq!(queue.push(Stream::Stderr, 7, b"12"), Pushed::Queued);
        assert_eq!(pop(&queue).as_deref(), Some("2 dropped"));
        assert_eq!(pop(&queue).as_deref(), Some("2 at 7"));
        assert_eq!(pop(&queue), None);
    }
}
