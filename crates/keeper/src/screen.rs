//! The screen of an agent's terminal, and what it can be made again from.

pub(crate) mod checkpoint;
pub mod marks;
pub mod restore;
pub(crate) mod sieve;

use creel_api::plan::TerminalSize;
use creel_api::terminal::{MAX_MATCH_CHARS, MAX_MATCHES, Match, ScreenFormat};
use creel_term::{Options, Pattern, RedrawOptions, Scrollback, Size, Terminal};

/// The emulated terminal.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal,
    size: TerminalSize,
}

impl Screen {
    /// Makes an empty one with bounds of lines and bytes for its history.
    pub(crate) fn new(size: TerminalSize, history: (u32, u64)) -> Self {
        let options = Options {
            history_max_lines: usize::try_from(history.0).unwrap_or(usize::MAX),
            history_max_bytes: usize::try_from(history.1).unwrap_or(usize::MAX),
            ..Options::new(to_size(size))
        };
        Self { terminal: Terminal::new(options), size }
    }

    /// Takes whole sequences in; returns what the terminal answers its program.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.terminal.feed(bytes).replies
    }

    pub(crate) fn resize(&mut self, size: TerminalSize) {
        self.terminal.resize(to_size(size));
        self.size = size;
    }

    /// Returns the size.
    #[must_use]
    pub fn size(&self) -> TerminalSize {
        self.size
    }

    /// Returns the title that the program set.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        Some(self.terminal.title()).filter(|title| !title.is_empty())
    }

    /// Returns bytes that make any terminal show this screen, with `history_lines` printed above.
    #[must_use]
    pub fn redraw(&self, history_lines: u32) -> Vec<u8> {
        let history_lines = usize::try_from(history_lines).unwrap_or(usize::MAX);
        self.terminal.redraw(RedrawOptions { history_lines, scrollback: Scrollback::Keep })
    }

    /// Returns bytes that make an empty terminal of this size the same in everything.
    pub(crate) fn whole(&self) -> Vec<u8> {
        let all = RedrawOptions { history_lines: usize::MAX, scrollback: Scrollback::Clear };
        self.terminal.redraw(all)
    }

    /// Returns the screen with `history_lines` above it, a line each.
    #[must_use]
    pub fn read(&self, format: ScreenFormat, history_lines: u32) -> Vec<u8> {
        let screen = self.terminal.screen_rows();
        let first = screen.start.saturating_sub(history_lines.into());
        let rows = first.max(self.terminal.all_rows().start)..screen.end;
        match format {
            ScreenFormat::Text => self.terminal.text(rows).into_bytes(),
            ScreenFormat::Ansi => self.terminal.ansi(rows),
        }
    }

    /// Returns the text of the screen.
    pub(crate) fn text(&self) -> String {
        self.terminal.text(self.terminal.screen_rows())
    }

    /// Finds text on the screen and in its history, and tells whether there is more of it.
    ///
    /// # Errors
    /// When the pattern is none, in words.
    pub fn search(&self, pattern: &str, is_regex: bool) -> Result<(Vec<Match>, bool), String> {
        let pattern = match is_regex {
            true => Pattern::Regex(pattern.to_owned()),
            false => Pattern::Literal(pattern.to_owned()),
        };
        let found = self.terminal.search(&pattern, self.terminal.all_rows(), MAX_MATCHES);
        let found = found.map_err(|error| error.to_string())?;
        let top = self.terminal.screen_rows().start;
        let matches = found.hits.into_iter().map(|hit| {
            let row = hit.start.row;
            let line = self.terminal.text(row..row + 1);
            Match {
                line: i64::try_from(row).unwrap_or(i64::MAX) - i64::try_from(top).unwrap_or(0) + 1,
                column: u32::try_from(hit.start.column).unwrap_or(u32::MAX).saturating_add(1),
                text: line.trim_end().chars().take(MAX_MATCH_CHARS).collect(),
            }
        });
        Ok((matches.collect(), found.is_cut))
    }
}

fn to_size(size: TerminalSize) -> Size {
    // Invariant: the bounds of a size are those of the emulator.
    Size::new(size.columns, size.lines).expect("a checked size is one of the emulator's")
}
