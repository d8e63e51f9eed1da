//! Writing the transcript of a thread.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use creel_api::transcript::{Content, Entry, MAX_ENTRY_BYTES, RawBytes, TRANSCRIPT_VERSION};
use creel_record::Timestamp;
use creel_sys::boot::wall_time_ms;
use creel_sys::fs::{Fs, FsFile, OpenHow, write_all_at};

/// The most output in one entry: in base 64 it takes less than [`MAX_ENTRY_BYTES`].
pub(super) const MAX_RAW_BYTES: usize = 32 * 1024;

/// The most text in one entry: escaped it takes six times as much at worst.
const MAX_TEXT_BYTES: usize = 10 * 1024;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 64 * 1024;

/// Returns where the older half of a transcript is kept, once it outgrew half of its bound.
fn older_path(path: &Path) -> PathBuf {
    path.with_extension("1.jsonl")
}

/// The last entry of an earlier run or keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) run: u64,
    pub(super) is_run_ended: bool,
}

/// A transcript as its one writer sees it.
pub(super) struct Transcript {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    /// Bound of both files together; 0 writes nothing.
    max_bytes: u64,
    run: u64,
    next_seq: u64,
    file: Box<dyn FsFile>,
    /// Bytes of whole entries in the file.
    len_bytes: u64,
    buffer: Vec<u8>,
    last: Option<Last>,
}

impl Transcript {
    /// Opens the transcript; an entry that an earlier keeper did not finish is cut off.
    ///
    /// # Errors
    /// When the file can't be opened, read or cut.
    pub(super) fn open(
        fs: Arc<dyn Fs>,
        path: PathBuf,
        max_bytes: u64,
        run: u64,
    ) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            fs.create_dir_all(dir)?;
        }
        let file = fs.open(&path, OpenHow::Create)?;
        let tail = Tail::read(file.as_ref())?;
        file.set_len(tail.len_bytes)?;
        let older = || {
            let older = fs.open(&older_path(&path), OpenHow::Read).ok()?;
            Tail::read(older.as_ref()).ok()?.last
        };
        let entry = tail.last.or_else(older);
        Ok(Self {
            max_bytes,
            run,
            next_seq: entry.as_ref().map_or(1, |entry| entry.seq.saturating_add(1)),
            len_bytes: tail.len_bytes,
            buffer: Vec::new(),
            last: entry.map(|entry| Last {
                run: entry.run,
                is_run_ended: matches!(entry.content, Content::RunEnded { .. }),
            }),
            file,
            path,
            fs,
        })
    }

    /// Returns what the last entry before this keeper says.
    pub(super) fn last(&self) -> Option<&Last> {
        self.last.as_ref()
    }

    /// Returns the number of the run that is written.
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    /// Adds an entry; what doesn't fit one is cut.
    ///
    /// # Errors
    /// When the disk fails: entries since the last flush may be lost, whole ones only.
    pub(super) fn add(&mut self, content: Content) -> io::Result<()> {
        if self.max_bytes == 0 {
            return Ok(());
        }
        let mut line = serde_json::to_vec(&Entry {
            version: TRANSCRIPT_VERSION,
            seq: self.next_seq,
            time: now().to_string(),
            run: self.run,
            content: fit(content),
        })?;
        line.push(b'\n');
        self.next_seq += 1;
        self.buffer.extend_from_slice(&line);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Adds output, cut into entries.
    ///
    /// # Errors
    /// As [`Transcript::add`].
    pub(super) fn add_raw(&mut self, stream: &str, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(MAX_RAW_BYTES) {
            self.add(Content::Raw { stream: stream.to_owned(), bytes: RawBytes::new(part) })?;
        }
        Ok(())
    }

    /// Writes what was collected.
    ///
    /// # Errors
    /// When the disk fails; what was collected is lost then.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let buffer = std::mem::take(&mut self.buffer);
        self.rotate(buffer.len() as u64)?;
        if let Err(error) = write_all_at(self.file.as_ref(), &buffer, self.len_bytes) {
            // Half an entry must not stay. Best effort: the next keeper cuts it off otherwise.
            let _ = self.file.set_len(self.len_bytes);
            return Err(error);
        }
        self.len_bytes += buffer.len() as u64;
        Ok(())
    }

    /// Flushes, and makes durable what is written.
    ///
    /// # Errors
    /// When the disk fails.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    /// Makes the file the older half when `more` bytes would take it over half of the bound.
    fn rotate(&mut self, more: u64) -> io::Result<()> {
        if self.len_bytes == 0 || self.len_bytes + more <= self.max_bytes / 2 {
            return Ok(());
        }
        self.fs.rename(&self.path, &older_path(&self.path))?;
        self.file = self.fs.open(&self.path, OpenHow::Create)?;
        self.len_bytes = 0;
        Ok(())
    }
}

fn now() -> Timestamp {
    Timestamp::from_millis(i64::try_from(wall_time_ms()).unwrap_or(i64::MAX))
}

/// Cuts the text of an entry to its bound.
fn fit(content: Content) -> Content {
    match content {
        Content::Message { role, text, is_cut } => {
            let (text, cut) = cut(text);
            Content::Message { role, text, is_cut: is_cut || cut }
        }
        Content::Result { disposition, text, is_cut } => {
            let (text, cut) = cut(text);
            Content::Result { disposition, text, is_cut: is_cut || cut }
        }
        other => other,
    }
}

fn cut(mut text: String) -> (String, bool) {
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    let is_cut = end < text.len();
    text.truncate(end);
    (text, is_cut)
}

/// The end of a transcript file.
struct Tail {
    /// Bytes up to the end of the last whole line.
    len_bytes: u64,
    last: Option<Entry>,
}

impl Tail {
    fn read(file: &dyn FsFile) -> io::Result<Self> {
        let len_bytes = file.stat()?.len_bytes;
        let start = len_bytes.saturating_sub(2 * MAX_ENTRY_BYTES as u64);
        let mut bytes = vec![0; usize::try_from(len_bytes - start).map_err(io::Error::other)?];
        let mut done = 0;
        while done < bytes.len() {
            match file.read_at(&mut bytes[done..], start + done as u64)? {
                0 => break,
                count => done += count,
            }
        }
        bytes.truncate(done);
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Self { len_bytes: start, last: None });
        };
        let lines = bytes[..end].rsplit(|byte| *byte == b'\n');
        let last = lines.into_iter().find_map(|line| serde_json::from_slice(line).ok());
        Ok(Self { len_bytes: start + end as u64 + 1, last })
    }
}

#[cfg(test)]
mod tests;
