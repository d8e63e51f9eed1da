//! Writing the output log.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use creel_sys::fs::{Fs, FsFile, OpenHow};

use super::{Segment, segments};

/// The most segments of one log: gaps start new ones, and a disk that fails over and over must not
/// fill a directory.
const MAX_SEGMENTS: usize = 256;

/// The output log as its one writer sees it.
pub(crate) struct OutputLog {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    max_bytes: u64,
    segments: VecDeque<Segment>,
    /// The newest segment, open; none before the first write and after a failure.
    file: Option<Box<dyn FsFile>>,
    is_restart: bool,
}

impl OutputLog {
    /// Opens the log in `dir`, where an earlier keeper of the run may have written.
    ///
    /// # Errors
    /// When the directory can't be read.
    pub(crate) fn open(fs: Arc<dyn Fs>, dir: PathBuf, max_bytes: u64) -> io::Result<Self> {
        let segments: VecDeque<_> = segments(fs.as_ref(), &dir)?.into();
        let is_restart = !segments.is_empty();
        Ok(Self { fs, dir, max_bytes, segments, file: None, is_restart })
    }

    /// Returns the position after the last byte that was written.
    pub(crate) fn end(&self) -> u64 {
        self.segments.back().map_or(0, Segment::end)
    }

    /// Says that nothing is lost but what the offsets show: the keeper before left off cleanly.
    pub(crate) fn go_on(&mut self) {
        self.is_restart = false;
    }

    /// Writes `bytes`, which the agent's output holds at `offset`.
    ///
    /// # Errors
    /// When not all could be written. What is missing is a gap then, and the next write goes on
    /// behind it.
    pub(crate) fn write(&mut self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && self.max_bytes > 0 {
            let room = self.make_room(offset)?;
            let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
            let Some(segment) = self.segments.back_mut() else {
                return Err(io::ErrorKind::NotFound.into());
            };
            let part = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            match file.write_at(&bytes[..part], segment.len_bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    segment.len_bytes += count as u64;
                    offset += count as u64;
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // What a failed write left behind belongs to the gap. Best effort: on a disk
                    // that failed this may fail as well.
                    let _ = file.set_len(segment.len_bytes);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// A quarter of the bound, so that dropping the oldest segment leaves most of the log.
    fn segment_bytes(&self) -> u64 {
        (self.max_bytes / 4).max(1)
    }

    /// Opens the segment that continues at `offset` and returns how much it may take.
    fn make_room(&mut self, offset: u64) -> io::Result<u64> {
        let limit = self.segment_bytes();
        if let (Some(_), Some(segment)) = (&self.file, self.segments.back())
            && segment.end() == offset
            && segment.len_bytes < limit
        {
            return Ok((limit - segment.len_bytes).min(self.drop_oldest()?));
        }
        self.file = None;
        self.drop_empty()?;
        if self.segments.is_empty() {
            self.fs.create_dir_all(&self.dir)?;
        }
        let segment = Segment { base: offset, len_bytes: 0, is_restart: self.is_restart };
        let file = self.fs.open(&segment.path(&self.dir), OpenHow::Create)?;
        // One of a keeper that died between making and filling it.
        file.set_len(0)?;
        self.segments.push_back(segment);
        self.file = Some(file);
        self.is_restart = false;
        Ok(limit.min(self.drop_oldest()?))
    }

    /// Removes the newest segment when nothing could be written to it.
    fn drop_empty(&mut self) -> io::Result<()> {
        let Some(segment) = self.segments.pop_back_if(|newest| newest.len_bytes == 0) else {
            return Ok(());
        };
        self.is_restart |= segment.is_restart;
        self.remove(&segment)
    }

    fn remove(&self, segment: &Segment) -> io::Result<()> {
        match self.fs.remove_file(&segment.path(&self.dir)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the oldest segments until there is room; returns how much.
    fn drop_oldest(&mut self) -> io::Result<u64> {
        loop {
            let total: u64 = self.segments.iter().map(|segment| segment.len_bytes).sum();
            let room = self.max_bytes.saturating_sub(total);
            if self.segments.len() <= 1 || (room > 0 && self.segments.len() <= MAX_SEGMENTS) {
                return Ok(room.max(1));
            }
            if let Some(oldest) = self.segments.front() {
                self.remove(oldest)?;
            }
            self.segments.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
