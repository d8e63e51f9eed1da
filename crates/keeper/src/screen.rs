//! The screen of an agent's terminal, and what it can be made again from.

pub(crate) mod checkpoint;
pub(crate) mod marks;
pub mod restore;
pub(crate) mod sieve;

use creel_api::plan::TerminalSize;
use creel_api::terminal::{Match, ScreenFormat};

/// Bytes that a screen without an emulator keeps.
const KEPT_BYTES: usize = 256 * 1024;

/// The emulated terminal.
#[derive(Debug)]
pub struct Screen {
    size: TerminalSize,
    bytes: Vec<u8>,
}

impl Screen {
    /// Makes an empty one.
    pub(crate) fn new(size: TerminalSize, _history: (u32, u64)) -> Self {
        Self { size, bytes: Vec::new() }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let excess = self.bytes.len().saturating_sub(KEPT_BYTES);
        self.bytes.drain(..excess);
    }

    /// Takes what the terminal answers to its program.
    pub(crate) fn take_replies(&mut self) -> Vec<u8> {
        Vec::new()
    }

    pub(crate) fn resize(&mut self, size: TerminalSize) {
        self.size = size;
    }

    /// Returns the size.
    #[must_use]
    pub fn size(&self) -> TerminalSize {
        self.size
    }

    /// Returns the title that the program set.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        None
    }

    /// Returns bytes that make any terminal show this screen, with `history_lines` above it.
    #[must_use]
    pub fn redraw(&self, _history_lines: u32) -> Vec<u8> {
        let mut bytes = b"\x1bc".to_vec();
        bytes.extend_from_slice(&self.bytes);
        bytes
    }

    /// Returns the screen with `history_lines` above it.
    #[must_use]
    pub fn read(&self, _format: ScreenFormat, _history_lines: u32) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Finds text on the screen and in its history.
    ///
    /// # Errors
    /// When the pattern is no regular expression, in words.
    pub fn search(&self, _pattern: &str, _is_regex: bool) -> Result<Vec<Match>, String> {
        Ok(Vec::new())
    }
}
