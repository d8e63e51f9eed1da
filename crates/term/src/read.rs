//! Reading cells, text and coloured text.
//!
//! Rows are numbered from 0 as they were pushed out of the screen, dropped ones included; those of
//! the active screen follow. A number names the same row until the size changes or the screen
//! scrolls past it.

use std::ops::Range;

use alacritty_terminal::term::cell::{Cell, Flags};

use crate::history::PastRow;
use crate::paint::{Painter, used};
use crate::screen::is_wrapped;
use crate::style::{Look, Style};
use crate::terminal::Terminal;

/// One character as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyledCell {
    /// The character, with all that joins it; a space where nothing is.
    pub text: String,
    /// How many columns it takes: 1 or 2.
    pub width: u8,
    /// How it looks.
    pub style: Style,
}

/// One row as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyledRow {
    /// Its characters; those of rows that left the screen end with the last that is not blank.
    pub cells: Vec<StyledCell>,
    /// Whether its text goes on in the next row.
    pub is_wrapped: bool,
}

impl StyledRow {
    pub(crate) fn of(cells: &[Cell], is_wrapped: bool) -> Self {
        let is_shown = |cell: &&Cell| !cell.flags.contains(Flags::WIDE_CHAR_SPACER);
        Self { cells: cells.iter().filter(is_shown).map(styled).collect(), is_wrapped }
    }

    /// Returns its text, without the blanks at its end.
    #[must_use]
    pub fn text(&self) -> String {
        let text: String = self.cells.iter().map(|cell| cell.text.as_str()).collect();
        text.trim_end_matches(' ').to_owned()
    }
}

fn styled(cell: &Cell) -> StyledCell {
    let mut text = String::from(cell.c);
    text.extend(cell.zerowidth().unwrap_or_default());
    let width = if cell.flags.contains(Flags::WIDE_CHAR) { 2 } else { 1 };
    StyledCell { text, width, style: Style::from(&Look::of(cell)) }
}

impl Terminal {
    /// Returns the numbers of all rows that can be read.
    #[must_use]
    pub fn all_rows(&self) -> Range<u64> {
        let screen = self.screen_rows();
        self.history_dropped()..screen.end
    }

    /// Returns the numbers of the active screen's rows.
    #[must_use]
    pub fn screen_rows(&self) -> Range<u64> {
        let first = self.history_dropped() + self.history_lines() as u64;
        first..first + u64::from(self.size().lines())
    }

    /// Reads rows. Numbers without a row are passed over.
    pub fn rows(&self, rows: Range<u64>) -> impl Iterator<Item = StyledRow> {
        self.raw_rows(rows).map(|row| StyledRow::of(&row.cells, row.is_continued))
    }

    pub(crate) fn raw_rows(&self, rows: Range<u64>) -> impl Iterator<Item = PastRow> {
        let screen = &self.machine.screen;
        let dropped = self.history_dropped();
        let clamped = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let first = clamped(rows.start.saturating_sub(dropped));
        let end = clamped(rows.end.saturating_sub(dropped));
        let len = screen.history.len();
        let past = screen.history.rows_from(first.min(len));
        let past = past.take(end.min(len).saturating_sub(first));
        let shown = first.saturating_sub(len).min(screen.lines())
            ..end.saturating_sub(len).min(screen.lines());
        past.chain(shown.map(|row| {
            let cells = screen.row(row);
            PastRow { cells: cells.to_vec(), is_continued: is_wrapped(cells) }
        }))
    }

    /// Returns rows as text. A line that goes on over several rows is one; blanks at the end of
    /// lines are left out.
    #[must_use]
    pub fn text(&self, rows: Range<u64>) -> String {
        let mut text = String::new();
        let mut line = String::new();
        for row in self.raw_rows(rows) {
            append_text(&mut line, &row.cells);
            if !row.is_continued {
                text.push_str(line.trim_end_matches(' '));
                text.push('\n');
                line.clear();
            }
        }
        if !line.is_empty() {
            text.push_str(line.trim_end_matches(' '));
            text.push('\n');
        }
        text
    }

    /// Returns rows as text with colours and links, for printing or storing. A line that goes on
    /// over several rows is one; each ends with the usual pen.
    #[must_use]
    pub fn ansi(&self, rows: Range<u64>) -> Vec<u8> {
        let mut painter = Painter::new(usize::from(self.size().columns()));
        for row in self.raw_rows(rows) {
            if row.is_continued {
                painter.cells(&row.cells);
            } else {
                painter.cells(used(&row.cells));
                painter.look(&Look::default());
                painter.raw(b"\n");
            }
        }
        painter.look(&Look::default());
        painter.out
    }
}

fn append_text(text: &mut String, cells: &[Cell]) {
    let left_out = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
    for cell in cells.iter().filter(|cell| !cell.flags.intersects(left_out)) {
        text.push(cell.c);
        text.extend(cell.zerowidth().unwrap_or_default());
    }
}
