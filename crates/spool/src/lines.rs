//! The lines of a log, read in order with memory for little more than the longest of them.

use std::io;
use std::ops::Deref;

use creel_record::limits::MAX_LINE_BYTES;
use creel_sys::fs::FsFile;
use memchr::memchr;

/// The first read; most tails are far shorter.
const FIRST_READ_BYTES: usize = 16 * 1024;
/// Reads grow to this: large enough that a long log costs few calls.
const MAX_READ_BYTES: usize = 512 * 1024;

/// One stretch up to a newline, or up to the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawLine<'a> {
    /// Offset of its first byte.
    pub(crate) offset_bytes: u64,
    /// Its bytes, without the newline.
    pub(crate) bytes: &'a [u8],
    /// True when a newline ends it.
    pub(crate) is_terminated: bool,
}

impl RawLine<'_> {
    /// Returns the offset after it and its newline.
    pub(crate) fn end(&self) -> u64 {
        self.offset_bytes + self.bytes.len() as u64 + u64::from(self.is_terminated)
    }
}

/// Reads the lines of a file between two offsets.
#[derive(Debug)]
pub(crate) struct Lines<F> {
    file: F,
    end: u64,
    buffer: Vec<u8>,
    /// Offset of the buffer's first byte in the file.
    buffer_offset: u64,
    /// Where the next line begins in the buffer.
    at: usize,
    read_bytes: usize,
}

impl<F: Deref<Target: FsFile>> Lines<F> {
    pub(crate) fn new(file: F, start: u64, end: u64) -> Self {
        let (buffer, read_bytes) = (Vec::new(), FIRST_READ_BYTES);
        Self { file, end, buffer, buffer_offset: start, at: 0, read_bytes }
    }

    /// Goes on at `offset`, wherever it is.
    pub(crate) fn restart(&mut self, offset: u64) {
        self.buffer.clear();
        self.buffer_offset = offset;
        self.at = 0;
    }

    /// Returns the next line; none at the end. A stretch that is too long for a line comes in
    /// pieces, none of them terminated but the last.
    pub(crate) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let mut searched = 0;
        let (len, is_terminated) = loop {
            let rest = &self.buffer[self.at..];
            if let Some(found) = memchr(b'\n', &rest[searched..]) {
                break (searched + found, true);
            }
            searched = rest.len();
            if searched > MAX_LINE_BYTES || !self.fill()? {
                break (searched, false);
            }
        };
        if len == 0 && !is_terminated {
            return Ok(None);
        }
        let start = self.at;
        self.at += len + usize::from(is_terminated);
        Ok(Some(RawLine {
            offset_bytes: self.buffer_offset + start as u64,
            bytes: &self.buffer[start..start + len],
            is_terminated,
        }))
    }

    /// Returns the offset that reading ends at.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Makes the next line begin at `offset`, within the line that was returned last.
    pub(crate) fn rewind(&mut self, offset: u64) {
        let at = usize::try_from(offset.saturating_sub(self.buffer_offset)).unwrap_or(self.at);
        self.at = at.min(self.at);
    }

    /// Reads more into the buffer; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.at);
        self.buffer_offset += self.at as u64;
        self.at = 0;
        let filled = self.buffer.len();
        let left = self.end.saturating_sub(self.buffer_offset + filled as u64);
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(self.read_bytes);
        if want == 0 {
            return Ok(false);
        }
        self.read_bytes = (self.read_bytes * 2).min(MAX_READ_BYTES);
        self.buffer.resize(filled + want, 0);
        let offset = self.buffer_offset + filled as u64;
        let read = loop {
            match self.file.read_at(&mut self.buffer[filled..], offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }
}
