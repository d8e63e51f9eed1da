//! What a terminal is made with, and the sizes it may have.

use crate::palette::Rgb;

/// Most columns of a terminal: a wall of 8K monitors with a tiny font stays below it. A cell takes
/// 24 bytes, so a screen of the largest size takes 12 MB, and there may be two.
pub const MAX_COLUMNS: u16 = 1000;

/// Most lines of a terminal's screen, for the same reason as [`MAX_COLUMNS`].
pub const MAX_LINES: u16 = 500;

/// How large a screen is, in cells. Never empty, never larger than the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    columns: u16,
    lines: u16,
}

/// A size that no terminal can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a terminal of {columns}x{lines} is refused: 1x1 to {}x{} are possible",
    MAX_COLUMNS,
    MAX_LINES
)]
pub struct SizeRefused {
    /// The columns that were asked for.
    pub columns: u16,
    /// The lines that were asked for.
    pub lines: u16,
}

impl Size {
    /// Returns a size.
    ///
    /// # Errors
    /// When a side is 0, or above [`MAX_COLUMNS`] or [`MAX_LINES`].
    pub fn new(columns: u16, lines: u16) -> Result<Self, SizeRefused> {
        if (1..=MAX_COLUMNS).contains(&columns) && (1..=MAX_LINES).contains(&lines) {
            Ok(Self { columns, lines })
        } else {
            Err(SizeRefused { columns, lines })
        }
    }

    /// Returns the columns.
    #[must_use]
    pub fn columns(self) -> u16 {
        self.columns
    }

    /// Returns the lines.
    #[must_use]
    pub fn lines(self) -> u16 {
        self.lines
    }
}

/// How large a cell is in pixels, for those who ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPixels {
    /// Its width.
    pub width: u16,
    /// Its height.
    pub height: u16,
}

/// The colours a terminal claims to have until a program sets others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultColors {
    /// Of text.
    pub foreground: Rgb,
    /// Behind text.
    pub background: Rgb,
    /// Of the cursor.
    pub cursor: Rgb,
}

/// What a terminal is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its first size.
    pub size: Size,
    /// Most rows kept after they left the screen; the oldest are dropped.
    pub history_max_lines: usize,
    /// Most bytes those rows may take in memory; the oldest are dropped.
    pub history_max_bytes: usize,
    /// What is answered to questions about pixels.
    pub cell_pixels: CellPixels,
    /// What is answered to questions about colours, and from that: dark or light.
    pub colors: DefaultColors,
}

impl Options {
    /// Returns the usual options for a size: 10,000 rows in at most 4 MB.
    #[must_use]
    pub fn new(size: Size) -> Self {
        Self {
            size,
            history_max_lines: 10_000,
            history_max_bytes: 4_000_000,
            cell_pixels: CellPixels { width: 8, height: 16 },
            colors: DefaultColors {
                foreground: Rgb { red: 0xdd, green: 0xdd, blue: 0xdd },
                background: Rgb { red: 0x11, green: 0x11, blue: 0x11 },
                cursor: Rgb { red: 0xdd, green: 0xdd, blue: 0xdd },
            },
        }
    }
}
