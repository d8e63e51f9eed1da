//! Making the screen of a run again, from its checkpoint and the output log since; for the next
//! keeper, and for those who look at a run that has none.

use std::path::Path;
use std::sync::Arc;

use creel_api::plan::{DEFAULT_HISTORY_BYTES, DEFAULT_HISTORY_LINES, TerminalSize};
use creel_sys::fs::Fs;
use creel_sys::os_fs::OsFs;

use super::marks::Mark;
use super::sieve::Sieve;
use super::{Screen, checkpoint, marks};
use crate::order::output_dir;
use crate::output::Piece;

/// The most output that is read again without a checkpoint to begin at, in bytes: what is older
/// has left every history.
const MAX_REPLAY_BYTES: u64 = 8 << 20;

/// A screen that was made again.
#[derive(Debug)]
pub struct Restored {
    /// It.
    pub screen: Screen,
    /// Position in the agent's output that it is of.
    pub offset: u64,
    /// Why it may not be what the agent drew; none when it is.
    pub doubt: Option<String>,
    pub(crate) sieve: Sieve,
}

/// How the terminal was planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) size: TerminalSize,
    pub(crate) history: (u32, u64),
}

/// Tells whether a run left something that its last screen can be made from.
#[must_use]
pub fn has_last_screen(run_dir: &Path) -> bool {
    checkpoint::path(run_dir).exists() || marks::path(run_dir).exists()
}

/// Makes the last screen of a run again; none when it left nothing to make it from.
#[must_use]
pub fn last_screen(run_dir: &Path) -> Option<Restored> {
    let fs: Arc<dyn Fs> = Arc::new(OsFs);
    has_last_screen(run_dir).then(|| {
        let history = (DEFAULT_HISTORY_LINES, DEFAULT_HISTORY_BYTES);
        restore(fs.as_ref(), run_dir, Planned { size: TerminalSize::DEFAULT, history })
    })
}

/// Reads the marks of a run: when its output came, and how large its terminal was.
#[must_use]
pub fn times(run_dir: &Path) -> Vec<Mark> {
    marks::read(&OsFs, run_dir)
}

pub(crate) fn restore(fs: &dyn Fs, run_dir: &Path, planned: Planned) -> Restored {
    let marks = marks::read(fs, run_dir);
    let begun = checkpoint::read(fs, run_dir);
    let (mut restored, pieces) = match begun {
        Some(begun) => {
            let mut screen = Screen::new(begun.size, planned.history);
            screen.feed(&begun.redraw);
            let pieces = crate::output::since(&output_dir(run_dir), begun.offset);
            let (offset, doubt) = (begun.offset, begun.doubt);
            (Restored { screen, offset, doubt, sieve: Sieve::default() }, pieces)
        }
        None => {
            let size = marks.first().map_or(planned.size, |mark| mark.size);
            let screen = Screen::new(size, planned.history);
            let pieces = crate::output::tail(&output_dir(run_dir), MAX_REPLAY_BYTES);
            (Restored { screen, offset: 0, doubt: None, sieve: Sieve::default() }, pieces)
        }
    };
    match pieces {
        Ok(pieces) => restored.replay(&pieces, &marks),
        Err(error) => restored.doubt(format!("the output log can't be read: {error}")),
    }
    restored
}

impl Restored {
    pub(crate) fn doubt(&mut self, why: String) {
        self.doubt.get_or_insert(why);
    }

    fn replay(&mut self, pieces: &[Piece], marks: &[Mark]) {
        for piece in pieces {
            let end = piece.offset + piece.bytes.len() as u64;
            if end <= self.offset {
                continue;
            }
            let known = usize::try_from(self.offset.saturating_sub(piece.offset));
            let bytes = piece.bytes.get(known.unwrap_or(usize::MAX)..).unwrap_or_default();
            let begin = end - bytes.len() as u64;
            if piece.follows_unknown_loss && piece.offset >= self.offset {
                self.doubt(format!("a keeper died with output in its hands at byte {begin}"));
            } else if begin > self.offset {
                let lost = begin - self.offset;
                self.doubt(format!("{lost} bytes of output before byte {begin} are lost"));
            }
            self.offset = begin;
            self.play(bytes, marks);
        }
        if let Some(last) = marks.last()
            && last.offset <= self.offset
        {
            self.take_size(last.size);
        }
    }

    /// Feeds bytes that begin at the current offset, with the sizes that they were written for.
    fn play(&mut self, bytes: &[u8], marks: &[Mark]) {
        let mut rest = bytes;
        let first = marks.partition_point(|mark| mark.offset <= self.offset);
        if let Some(before) = first.checked_sub(1).and_then(|at| marks.get(at)) {
            self.take_size(before.size);
        }
        for mark in &marks[first..] {
            let until = usize::try_from(mark.offset - self.offset).unwrap_or(usize::MAX);
            if until > rest.len() {
                break;
            }
            let (now, later) = rest.split_at(until);
            self.feed(now);
            rest = later;
            self.take_size(mark.size);
        }
        self.feed(rest);
    }

    fn feed(&mut self, bytes: &[u8]) {
        let passed = self.sieve.pass(bytes);
        // What it asked then was answered then.
        self.screen.feed(&passed.whole);
        self.offset += bytes.len() as u64;
    }

    fn take_size(&mut self, size: TerminalSize) {
        if self.screen.size() != size {
            self.screen.resize(size);
        }
    }
}
