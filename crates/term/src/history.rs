//! The rows that left the screen, packed.
//!
//! A row of 80 plain characters takes 87 bytes here, and 1,920 in a grid. Rows lie in blocks, so
//! that dropping the oldest moves nothing.
//!
//! Invariants:
//! - There are never more rows or bytes than the limits say; the oldest go first, and are counted.
//! - What is read is what was pushed, but for blank cells at the end of a line.

mod packed;

use std::collections::VecDeque;

use alacritty_terminal::term::cell::Cell;

/// How much is allocated at once. One block is lost at most when bytes run out.
const BLOCK_BYTES: usize = 32 * 1024;

/// What a block takes besides its bytes, about.
const BLOCK_OVERHEAD_BYTES: usize = 64;

/// Rows one after the other.
#[derive(Clone, Debug)]
struct Block {
    bytes: Vec<u8>,
    starts: Vec<u32>,
}

impl Block {
    fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * size_of::<u32>() + BLOCK_OVERHEAD_BYTES
    }

    fn row(&self, place: usize) -> &[u8] {
        let at = |place: usize| self.starts.get(place).and_then(|at| usize::try_from(*at).ok());
        let start = at(place).unwrap_or(self.bytes.len());
        let end = at(place + 1).unwrap_or(self.bytes.len());
        self.bytes.get(start..end).unwrap_or_default()
    }
}

/// The rows that left the screen.
#[derive(Clone, Debug)]
pub(crate) struct History {
    blocks: VecDeque<Block>,
    /// How many rows of the first block were dropped.
    skipped: usize,
    rows: usize,
    memory_bytes: usize,
    dropped: u64,
    max_rows: usize,
    max_bytes: usize,
    scratch: Vec<u8>,
}

/// A row as it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct PastRow {
    pub(crate) cells: Vec<Cell>,
    pub(crate) is_continued: bool,
}

impl History {
    pub(crate) fn new(max_rows: usize, max_bytes: usize) -> Self {
        Self {
            blocks: VecDeque::new(),
            skipped: 0,
            rows: 0,
            memory_bytes: 0,
            dropped: 0,
            max_rows,
            max_bytes,
            scratch: Vec::new(),
        }
    }

    /// Returns how many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Returns how many rows were dropped, for want of room or since the program erased them.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the bytes that are allocated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes + self.scratch.capacity()
    }

    /// Adds a row as the newest.
    pub(crate) fn push(&mut self, cells: &[Cell], is_continued: bool) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        packed::write(&mut scratch, cells, is_continued);
        self.append(&scratch);
        self.scratch = scratch;
        self.keep_limits();
    }

    /// Adds a row as the newest, which is ASCII in the usual look.
    pub(crate) fn push_plain(&mut self, cells: &[Cell], is_continued: bool) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        packed::write_plain(&mut scratch, cells, is_continued);
        self.append(&scratch);
        self.scratch = scratch;
        self.keep_limits();
    }

    fn append(&mut self, row: &[u8]) {
        let has_room = |block: &Block| block.bytes.len() + row.len() <= block.bytes.capacity();
        if !self.blocks.back().is_some_and(has_room) {
            let size = BLOCK_BYTES.min(self.max_bytes / 4).max(row.len());
            let block = Block { bytes: Vec::with_capacity(size), starts: Vec::new() };
            self.memory_bytes += block.memory_bytes();
            self.blocks.push_back(block);
        }
        if let Some(block) = self.blocks.back_mut() {
            let before = block.memory_bytes();
            block.starts.push(u32::try_from(block.bytes.len()).unwrap_or(u32::MAX));
            block.bytes.extend_from_slice(row);
            self.memory_bytes += block.memory_bytes() - before;
            self.rows += 1;
        }
    }

    fn keep_limits(&mut self) {
        while self.rows > self.max_rows {
            self.skipped += 1;
            self.rows -= 1;
            self.dropped += 1;
            if self.blocks.front().is_some_and(|block| self.skipped >= block.starts.len()) {
                self.drop_block();
            }
        }
        while self.memory_bytes > self.max_bytes && !self.blocks.is_empty() {
            self.drop_block();
        }
    }

    fn drop_block(&mut self) {
        if let Some(block) = self.blocks.pop_front() {
            let left = block.starts.len() - self.skipped;
            self.rows -= left;
            self.dropped += left as u64;
            self.memory_bytes -= block.memory_bytes();
        }
        self.skipped = 0;
    }

    /// Takes the newest row away.
    pub(crate) fn pop(&mut self) -> Option<PastRow> {
        if self.rows == 0 {
            return None;
        }
        let block = self.blocks.back_mut()?;
        let start = usize::try_from(block.starts.pop()?).ok()?;
        let row = packed::read(block.bytes.get(start..).unwrap_or_default());
        block.bytes.truncate(start);
        self.rows -= 1;
        if block.starts.is_empty() || self.rows == 0 {
            self.memory_bytes -= block.memory_bytes();
            self.blocks.pop_back();
        }
        if self.blocks.is_empty() {
            self.skipped = 0;
        }
        Some(row)
    }

    /// Tells whether the newest row goes on in the first row of the screen.
    pub(crate) fn is_open(&self) -> bool {
        self.newest().is_some_and(packed::is_continued)
    }

    fn newest(&self) -> Option<&[u8]> {
        let block = self.blocks.back()?;
        (self.rows > 0).then(|| block.row(block.starts.len() - 1))
    }

    /// Makes the newest row the end of its line.
    pub(crate) fn close(&mut self) {
        if self.rows == 0 {
            return;
        }
        if let Some(block) = self.blocks.back_mut()
            && let Some(start) = block.starts.last().and_then(|at| usize::try_from(*at).ok())
            && let Some(head) = block.bytes.get_mut(start)
        {
            packed::close(head);
        }
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.dropped += self.rows as u64;
        self.blocks.clear();
        self.skipped = 0;
        self.rows = 0;
        self.memory_bytes = 0;
    }

    /// Reads rows from a place on, the oldest being 0.
    pub(crate) fn rows_from(&self, place: usize) -> impl Iterator<Item = PastRow> {
        self.packed_from(place).map(packed::read)
    }

    fn packed_from(&self, place: usize) -> impl Iterator<Item = &[u8]> {
        let mut skipped = place + self.skipped;
        let mut first = 0;
        while let Some(block) = self.blocks.get(first)
            && skipped >= block.starts.len()
        {
            skipped -= block.starts.len();
            first += 1;
        }
        let mut start = skipped;
        self.blocks.range(first.min(self.blocks.len())..).flat_map(move |block| {
            let from = std::mem::take(&mut start);
            (from..block.starts.len()).map(move |place| block.row(place))
        })
    }
}
