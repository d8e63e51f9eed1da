//! When an agent's output came, and how large its terminal was: a file of marks beside the output
//! log, each for a position in the output.
//!
//! Marks have one length, so that one that was torn is known by where the file ends; each carries a
//! checksum. When there are too many, every second one that tells no new size is dropped.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use creel_api::plan::TerminalSize;
use creel_sys::fs::{Fs, FsFile, OpenHow, read_exact_at, write_all_at};

const MARK_BYTES: usize = 24;

/// The most marks of a run: two and a half megabytes.
const MAX_MARKS: usize = 100_000;

/// Output that comes within so many milliseconds of a mark needs none of its own.
const MARK_EVERY_MS: u64 = 10;

/// Returns where the marks of a run are.
pub(crate) fn path(run_dir: &Path) -> PathBuf {
    run_dir.join("times")
}

/// From a position in the output on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The position.
    pub offset: u64,
    /// Milliseconds since boot when its output came.
    pub at_ms: u64,
    /// The size that the terminal has from here on.
    pub size: TerminalSize,
}

impl Mark {
    fn encode(self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at_ms.to_le_bytes());
        bytes[16..18].copy_from_slice(&self.size.columns.to_le_bytes());
        bytes[18..20].copy_from_slice(&self.size.lines.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..20]);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let cells = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let crc = u32::from_le_bytes(bytes.get(20..MARK_BYTES)?.try_into().ok()?);
        if crc32c::crc32c(&bytes[..20]) != crc {
            return None;
        }
        let size = TerminalSize::checked(cells(16)?.into(), cells(18)?.into()).ok()?;
        Some(Self { offset: number(0)?, at_ms: number(8)?, size })
    }
}

/// The file as its one writer sees it.
pub(crate) struct Marks {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    file: Box<dyn FsFile>,
    count: usize,
    last: Option<Mark>,
}

impl Marks {
    /// Opens the marks of a run, where an earlier keeper may have written.
    pub(crate) fn open(fs: Arc<dyn Fs>, run_dir: &Path) -> io::Result<Self> {
        let path = path(run_dir);
        let marks = read(fs.as_ref(), run_dir);
        let file = fs.open(&path, OpenHow::Create)?;
        // A torn one is cut off.
        file.set_len((marks.len() * MARK_BYTES) as u64)?;
        Ok(Self { fs, path, file, count: marks.len(), last: marks.last().copied() })
    }

    /// Adds a mark, unless it would tell nothing new.
    pub(crate) fn add(&mut self, mark: Mark) -> io::Result<()> {
        if let Some(last) = self.last
            && last.size == mark.size
            && mark.at_ms < last.at_ms + MARK_EVERY_MS
        {
            return Ok(());
        }
        if self.count >= MAX_MARKS {
            self.thin()?;
        }
        write_all_at(self.file.as_ref(), &mark.encode(), (self.count * MARK_BYTES) as u64)?;
        self.count += 1;
        self.last = Some(mark);
        Ok(())
    }

    fn thin(&mut self) -> io::Result<()> {
        let bytes = read_exact_at(self.file.as_ref(), 0, self.count * MARK_BYTES)?;
        let kept = thinned(&decode_all(&bytes));
        let new = self.path.with_extension("new");
        let file = self.fs.open(&new, OpenHow::Create)?;
        file.set_len(0)?;
        let bytes: Vec<u8> = kept.iter().flat_map(|mark| mark.encode()).collect();
        write_all_at(file.as_ref(), &bytes, 0)?;
        self.fs.rename(&new, &self.path)?;
        (self.file, self.count) = (file, kept.len());
        Ok(())
    }
}

/// Drops every second mark, except those that tell a new size while these are few.
fn thinned(marks: &[Mark]) -> Vec<Mark> {
    let is_resize = |at: usize| at > 0 && marks[at - 1].size != marks[at].size;
    let resizes = (0..marks.len()).filter(|at| is_resize(*at)).count();
    let keeps_resizes = resizes < marks.len() / 4;
    let kept = |at: &usize| at.is_multiple_of(2) || (keeps_resizes && is_resize(*at));
    (0..marks.len()).filter(kept).map(|at| marks[at]).collect()
}

fn decode_all(bytes: &[u8]) -> Vec<Mark> {
    bytes.chunks_exact(MARK_BYTES).map_while(Mark::decode).collect()
}

/// Reads the marks of a run, oldest first; none when they can't be read.
pub(crate) fn read(fs: &dyn Fs, run_dir: &Path) -> Vec<Mark> {
    let path = path(run_dir);
    let read = || -> io::Result<Vec<Mark>> {
        let len = fs.stat(&path)?.len_bytes.min((MAX_MARKS * MARK_BYTES) as u64);
        let file = fs.open(&path, OpenHow::Read)?;
        let len = usize::try_from(len).map_err(io::Error::other)?;
        Ok(decode_all(&read_exact_at(file.as_ref(), 0, len)?))
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use creel_sys::os_fs::OsFs;

    use super::*;

    fn mark(offset: u64, at_ms: u64, columns: u16) -> Mark {
        Mark { offset, at_ms, size: TerminalSize { columns, lines: 24 } }
    }

    fn check(marks: &[Mark], torn: usize, expected: &[Mark]) {
        let dir = tempfile::tempdir().expect("a directory");
        let fs: Arc<dyn Fs> = Arc::new(OsFs);
        let mut open = Marks::open(Arc::clone(&fs), dir.path()).expect("opens");
        for mark in marks {
            open.add(*mark).expect("writes");
        }
        let bytes = std::fs::read(path(dir.path())).expect("a file");
        std::fs::write(path(dir.path()), &bytes[..bytes.len() - torn]).expect("a file");
        let again = Marks::open(Arc::clone(&fs), dir.path()).expect("opens");
        assert_eq!(again.last, expected.last().copied());
        assert_eq!(read(fs.as_ref(), dir.path()), expected);
    }

    #[test]
    fn marks_that_tell_nothing_new_are_left_out() {
        let all = [mark(0, 0, 80), mark(5, 3, 80), mark(9, 4, 81), mark(12, 20, 81)];
        check(&all, 0, &[all[0], all[2], all[3]]);
        check(&all, 1, &[all[0], all[2]]);
    }

    #[test]
    fn half_of_the_marks_are_dropped_and_no_size() {
        let marks: Vec<_> =
            (0..100u64).map(|at| mark(at, at * 100, if at < 51 { 80 } else { 90 })).collect();
        let kept = thinned(&marks);
        assert_eq!(kept.len(), 51);
        assert!(kept.contains(&marks[51]));
        assert_eq!(kept[0], marks[0]);
    }
}
