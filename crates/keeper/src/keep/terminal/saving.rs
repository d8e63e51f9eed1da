//! When the screen is written down: after so much output, and when the agent rests.

use std::time::Duration;

use creel_sys::Deadline;

use super::Terminal;
use crate::screen::checkpoint::Checkpoint;

/// Output after which the screen is written down although more comes: what the next keeper reads
/// again takes it milliseconds.
const SAVE_AFTER_BYTES: u64 = 1 << 20;

/// How long the agent writes nothing before its screen is written down.
const SAVE_AFTER: Duration = Duration::from_millis(500);

/// How long a screen stays unwritten while the agent writes a little all the time.
const SAVE_WITHIN: Duration = Duration::from_secs(15);

/// How long after one time the next comes at the earliest, unless much was written: a program that
/// draws a clock must not cost a screen with all of its history each second. The log has the rest.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// What isn't written down yet.
#[derive(Debug)]
pub(super) struct Saving {
    keeps_output: bool,
    unsaved_bytes: u64,
    /// None while nothing is unsaved.
    rests_at: Option<Deadline>,
    latest: Option<Deadline>,
    not_before: Deadline,
}

impl Saving {
    pub(super) fn new(keeps_output: bool) -> Self {
        let not_before = Deadline::after(Duration::ZERO);
        Self { keeps_output, unsaved_bytes: 0, rests_at: None, latest: None, not_before }
    }

    pub(super) fn output(&mut self, len_bytes: u64) {
        if !self.keeps_output {
            return;
        }
        self.unsaved_bytes += len_bytes;
        self.rests_at = Some(Deadline::after(SAVE_AFTER));
        self.latest.get_or_insert_with(|| Deadline::after(SAVE_WITHIN));
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        let (rests_at, latest) = (self.rests_at?, self.latest?);
        let due = if latest.remaining() < rests_at.remaining() { latest } else { rests_at };
        Some(if due.remaining() < self.not_before.remaining() { self.not_before } else { due })
    }

    fn is_due(&self) -> bool {
        self.unsaved_bytes >= SAVE_AFTER_BYTES || self.due().is_some_and(Deadline::is_past)
    }
}

impl Terminal {
    pub(super) fn save_if_due(&mut self) {
        if self.saving.is_due() {
            self.save();
        }
    }

    /// Has the screen written down, behind all output so far.
    pub(super) fn save(&mut self) {
        if !self.saving.keeps_output {
            return;
        }
        self.saving = Saving::new(true);
        self.saving.not_before = Deadline::after(SAVE_EVERY);
        self.queue.checkpoint(Checkpoint {
            offset: self.offset - self.sieve.pending_bytes(),
            size: self.sizes.current(),
            doubt: self.doubt.clone(),
            redraw: self.screen.whole(),
        });
    }
}
