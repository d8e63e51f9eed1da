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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::OutputLog;
    use crate::screen::checkpoint::Checkpoint;
    use crate::screen::marks::Marks;

    const SIZE: TerminalSize = TerminalSize { columns: 40, lines: 10 };
    const NARROW: TerminalSize = TerminalSize { columns: 30, lines: 8 };
    const PLANNED: Planned = Planned { size: SIZE, history: (100, 1 << 20) };

    /// Output with everything that a cut could break.
    fn stream() -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in 0..14 {
            let color = line % 8;
            bytes
                .extend(format!("\x1b[3{color}m{line} \u{6f22}\u{1f680}e\u{301}\r\n").into_bytes());
        }
        bytes.extend(b"\x1b]0;a title\x07\x1b[2;6r\x1b[?6h\x1b[3;3Hin\x1b[6n\x1b[?2004h");
        bytes.extend(b"\x1b[?1049h\x1b[H\x1b[1;44mother\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\");
        bytes.extend(b"\x1b[>7u\x1b[?1003h\x1b[5;35Hmore than fits the line\x1b[?25l");
        bytes
    }

    /// A screen that was fed all along, with another size from a position on.
    fn fed(bytes: &[u8], resized_at: usize) -> Restored {
        let screen = Screen::new(SIZE, PLANNED.history);
        let mut fed = Restored { screen, offset: 0, doubt: None, sieve: Sieve::default() };
        let (before, behind) = bytes.split_at(resized_at.min(bytes.len()));
        fed.feed(before);
        if bytes.len() >= resized_at {
            fed.take_size(NARROW);
            fed.feed(behind);
        }
        fed
    }

    /// Restores from a checkpoint at `cut` and the log of the rest; compares with the original.
    fn check(bytes: &[u8], cut: usize, resized_at: usize) {
        let dir = tempfile::tempdir().expect("a directory");
        let fs: Arc<dyn Fs> = Arc::new(OsFs);
        let mut log = OutputLog::open(Arc::clone(&fs), output_dir(dir.path()), 1 << 20);
        log.as_mut().expect("opens").write(0, bytes).expect("writes");
        let mut marks = Marks::open(Arc::clone(&fs), dir.path()).expect("opens");
        marks.add(Mark { offset: 0, at_ms: 1, size: SIZE }).expect("writes");
        let resized = Mark { offset: resized_at as u64, at_ms: 2, size: NARROW };
        marks.add(resized).expect("writes");
        if cut > 0 {
            let now = fed(&bytes[..cut], resized_at);
            let checkpoint = Checkpoint {
                offset: now.offset - now.sieve.pending_bytes(),
                size: now.screen.size(),
                doubt: None,
                redraw: now.screen.whole(),
            };
            checkpoint::write(fs.as_ref(), dir.path(), &checkpoint).expect("writes");
        }
        let restored = restore(fs.as_ref(), dir.path(), PLANNED);
        let original = fed(bytes, resized_at);
        let state = |restored: &Restored| restored.screen.terminal.state();
        assert_eq!(state(&restored).difference(&state(&original)), "", "cut at {cut}");
        assert_eq!(restored.screen.whole(), original.screen.whole(), "history, cut at {cut}");
        assert_eq!((restored.offset, &restored.doubt), (bytes.len() as u64, &None));
    }

    #[test]
    fn a_screen_is_made_again_from_every_cut() {
        let bytes = stream();
        // Between two sequences, as a keeper resizes.
        let resized_at = bytes.windows(8).position(|w| w == b"\x1b[?1049h").expect("is there");
        for cut in 0..=bytes.len() {
            check(&bytes, cut, resized_at);
        }
    }

    #[test]
    fn a_hole_in_the_log_is_a_doubt() {
        let dir = tempfile::tempdir().expect("a directory");
        let fs: Arc<dyn Fs> = Arc::new(OsFs);
        let mut log =
            OutputLog::open(Arc::clone(&fs), output_dir(dir.path()), 1 << 20).expect("opens");
        log.write(0, b"before ").expect("writes");
        log.write(100, b"behind").expect("writes");
        let restored = restore(fs.as_ref(), dir.path(), PLANNED);
        let doubt = restored.doubt.expect("a doubt");
        assert_eq!(doubt, "93 bytes of output before byte 100 are lost");
        assert_eq!(restored.screen.text().trim_end(), "before behind");
    }
}
