//! The two screens, the cursor, and the rows that left.
//!
//! Invariants:
//! - A wide cell is followed by its spacer, and a spacer follows a wide cell: operations that cut
//!   one blank what is left.
//! - Only the last cell of a row is marked as wrapped, never that of the last row, and never one
//!   whose next row was moved away.
//! - With origin mode set, the cursor is within the margins.
//! - A pending wrap means that the last column of a row that is not wrapped was just written.

mod edit;
mod extent;
mod print;
mod reflow;

use std::ops::Range;

use alacritty_terminal::grid::{Dimensions, Grid, Row};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};

use crate::history::History;
use crate::modes::{Mode, Modes};
use crate::options::Size;

pub(crate) use edit::{Part, is_blank};
use extent::Extent;
pub(crate) use print::is_joined;

/// Usual distance of tab stops.
const TAB_COLUMNS: usize = 8;

/// What a set of 94 characters shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Charset {
    #[default]
    Ascii,
    LineDrawing,
}

/// The four designated sets and which of them is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charsets {
    pub(crate) sets: [Charset; 4],
    pub(crate) in_use: usize,
}

impl Charsets {
    pub(crate) fn current(&self) -> Charset {
        self.sets.get(self.in_use).copied().unwrap_or_default()
    }
}

/// Where the next character goes, and how it will look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) pen: Cell,
    pub(crate) charsets: Charsets,
    pub(crate) is_wrap_pending: bool,
}

/// A cursor kept for later.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved {
    pub(crate) cursor: Cursor,
    pub(crate) is_origin: bool,
}

/// How a program changes the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    /// Only that (`?47`).
    Plain,
    /// And what was on the alternate one is gone (`?1047`).
    Clearing,
    /// And the cursor is saved and restored (`?1049`).
    SavingCursor,
}

/// The screens.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    /// The active one.
    grid: Grid<Cell>,
    /// What is known of each of its rows.
    extents: Vec<Extent>,
    /// The primary one while the alternate one is active, which exists only then.
    parked: Option<Grid<Cell>>,
    pub(crate) cursor: Cursor,
    /// The active screen's.
    pub(crate) saved: Saved,
    /// The parked screen's.
    pub(crate) parked_saved: Saved,
    pub(crate) margins: Range<usize>,
    pub(crate) tabs: Vec<bool>,
    pub(crate) modes: Modes,
    pub(crate) history: History,
    /// The column of the cell that was printed last, in the cursor's row, while nothing but
    /// characters followed.
    pub(crate) last_printed: Option<usize>,
}

impl Screen {
    pub(crate) fn new(size: Size, history: History) -> Self {
        let (columns, lines) = (usize::from(size.columns()), usize::from(size.lines()));
        Self {
            grid: Grid::new(lines, columns, 0),
            extents: vec![Extent::EMPTY; lines],
            parked: None,
            cursor: Cursor::default(),
            saved: Saved::default(),
            parked_saved: Saved::default(),
            margins: 0..lines,
            tabs: usual_tabs(columns),
            modes: Modes::default(),
            history,
            last_printed: None,
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.grid.columns()
    }

    pub(crate) fn lines(&self) -> usize {
        self.grid.screen_lines()
    }

    pub(crate) fn is_alternate(&self) -> bool {
        self.parked.is_some()
    }

    /// Returns a row of the active screen.
    pub(crate) fn row(&self, row: usize) -> &[Cell] {
        &self.grid[line(row)][..]
    }

    /// Returns a row of the primary screen, which may not be the active one.
    pub(crate) fn primary_row(&self, row: usize) -> &[Cell] {
        let grid = self.parked.as_ref().unwrap_or(&self.grid);
        &grid[line(row)][..]
    }

    /// Returns a row for any change.
    fn row_mut(&mut self, row: usize) -> &mut Row<Cell> {
        self.extents[row] = Extent::UNKNOWN;
        &mut self.grid[line(row)]
    }

    /// Returns a row for a change that is noted in its extent, or changes nothing of that.
    fn noted_row_mut(&mut self, row: usize) -> &mut Row<Cell> {
        &mut self.grid[line(row)]
    }

    /// Puts a row of the active screen into the history.
    fn remember(&mut self, row: usize, is_continued: bool) {
        let cells = &self.grid[line(row)][..];
        let Extent { used, is_plain } = self.extents[row];
        debug_assert!(cells.iter().skip(used).all(is_blank), "what is not used is blank");
        let cells = if is_continued { cells } else { &cells[..used.min(cells.len())] };
        if is_plain && used >= cells.len() {
            self.history.push_plain(cells, is_continued);
        } else {
            self.history.push(cells, is_continued);
        }
    }

    /// Notes that rows were emptied in the pen's background.
    fn note_emptied(&mut self, rows: Range<usize>) {
        let is_colored = self.cursor.pen.bg != crate::style::DEFAULT_BACKGROUND;
        let extent = if is_colored { Extent::UNKNOWN } else { Extent::EMPTY };
        self.extents[rows].fill(extent);
    }

    /// Returns the bytes that cells take, for the accounts.
    pub(crate) fn memory_bytes(&self) -> usize {
        let cells = self.columns() * self.lines() * size_of::<Cell>();
        cells * (1 + usize::from(self.is_alternate()))
    }

    /// Forgets everything but sizes and limits.
    pub(crate) fn reset(&mut self) {
        let (columns, lines) = (self.columns(), self.lines());
        self.grid = Grid::new(lines, columns, 0);
        self.extents = vec![Extent::EMPTY; lines];
        self.parked = None;
        self.cursor = Cursor::default();
        self.saved = Saved::default();
        self.parked_saved = Saved::default();
        self.margins = 0..lines;
        self.tabs = usual_tabs(columns);
        self.modes = Modes::default();
        self.history.clear();
        self.last_printed = None;
    }

    /// Changes to the alternate screen, which is empty.
    pub(crate) fn enter_alternate(&mut self, switch: Switch) {
        if self.is_alternate() {
            return;
        }
        if switch == Switch::SavingCursor {
            self.save_cursor();
        }
        if self.is_wrapped(self.saved.cursor.row) {
            self.saved.cursor.is_wrap_pending = false;
        }
        let alternate = Grid::new(self.lines(), self.columns(), 0);
        self.parked = Some(std::mem::replace(&mut self.grid, alternate));
        self.parked_saved = std::mem::take(&mut self.saved);
        self.erase_rows(0..self.lines());
    }

    /// Changes back to the primary screen. What was on the alternate one is gone.
    pub(crate) fn leave_alternate(&mut self, switch: Switch) {
        let Some(primary) = self.parked.take() else { return };
        self.grid = primary;
        self.extents.fill(Extent::UNKNOWN);
        self.saved = std::mem::take(&mut self.parked_saved);
        if switch == Switch::SavingCursor {
            self.restore_cursor();
        } else {
            self.settle_wrap();
        }
    }

    pub(crate) fn save_cursor(&mut self) {
        let is_origin = self.modes.is_set(Mode::Origin);
        self.saved = Saved { cursor: self.cursor.clone(), is_origin };
    }

    pub(crate) fn restore_cursor(&mut self) {
        self.cursor = self.saved.cursor.clone();
        self.modes.set(Mode::Origin, self.saved.is_origin);
        let (row, column) = (self.cursor.row, self.cursor.column);
        self.cursor.row = row.min(self.lines() - 1);
        self.cursor.column = column.min(self.columns() - 1);
        if self.saved.is_origin {
            self.cursor.row = self.cursor.row.clamp(self.margins.start, self.margins.end - 1);
        }
        let is_same = (row, column) == (self.cursor.row, self.cursor.column);
        self.cursor.is_wrap_pending &=
            is_same && column + 1 == self.columns() && !self.is_wrapped(row);
    }

    /// Moves the cursor to a place; rows count from the top margin in origin mode.
    pub(crate) fn go_to(&mut self, row: usize, column: usize) {
        let rows =
            if self.modes.is_set(Mode::Origin) { self.margins.clone() } else { 0..self.lines() };
        self.cursor.row = rows.start.saturating_add(row).min(rows.end - 1);
        self.go_to_column(column);
    }

    /// Returns the cursor's row as programs count it.
    pub(crate) fn reported_row(&self) -> usize {
        let top = if self.modes.is_set(Mode::Origin) { self.margins.start } else { 0 };
        self.cursor.row.saturating_sub(top)
    }

    pub(crate) fn go_to_column(&mut self, column: usize) {
        self.cursor.column = column.min(self.columns() - 1);
        self.cursor.is_wrap_pending = false;
    }

    /// Moves up, at most to the top margin when the cursor is not above it.
    pub(crate) fn go_up(&mut self, count: usize) {
        let top = if self.cursor.row >= self.margins.start { self.margins.start } else { 0 };
        self.cursor.row = self.cursor.row.saturating_sub(count).max(top);
        self.cursor.is_wrap_pending = false;
    }

    /// Moves down, at most to the bottom margin when the cursor is not below it.
    pub(crate) fn go_down(&mut self, count: usize) {
        let end = self.margins.end;
        let bottom = if self.cursor.row < end { end } else { self.lines() } - 1;
        self.cursor.row = self.cursor.row.saturating_add(count).min(bottom);
        self.cursor.is_wrap_pending = false;
    }

    /// Moves to a tab stop to the right, or the last column. A pending wrap stays pending.
    pub(crate) fn tab_forward(&mut self, count: usize) {
        for _ in 0..count.min(self.columns()) {
            let after = self.cursor.column + 1;
            let next = self.tabs.iter().skip(after).position(|is_stop| *is_stop);
            self.cursor.column = next.map_or(self.columns() - 1, |more| after + more);
        }
    }

    /// Moves to a tab stop to the left, or the first column.
    pub(crate) fn tab_backward(&mut self, count: usize) {
        for _ in 0..count.min(self.columns()) {
            let before = &self.tabs[..self.cursor.column];
            let next = before.iter().rposition(|is_stop| *is_stop).unwrap_or(0);
            self.go_to_column(next);
        }
    }

    pub(crate) fn reset_tabs(&mut self) {
        self.tabs = usual_tabs(self.columns());
    }

    pub(crate) fn has_usual_tabs(&self) -> bool {
        self.tabs == usual_tabs(self.columns())
    }

    /// Sets the margins, the last row included, and goes home; does nothing when there would be
    /// fewer than two rows.
    pub(crate) fn set_margins(&mut self, first: usize, last: usize) {
        let end = (last + 1).min(self.lines());
        if first + 1 < end || (first, end) == (0, self.lines()) {
            self.margins = first..end;
            self.go_to(0, 0);
        }
    }

    /// Moves down a row, scrolling at the bottom margin.
    pub(crate) fn line_feed(&mut self) {
        if self.cursor.row + 1 == self.margins.end {
            self.scroll_up(self.margins.clone(), 1);
        } else if self.cursor.row + 1 < self.lines() {
            self.cursor.row += 1;
        }
        self.settle_wrap();
    }

    /// Moves up a row, scrolling at the top margin.
    pub(crate) fn reverse_line_feed(&mut self) {
        if self.cursor.row == self.margins.start {
            self.scroll_down(self.margins.clone(), 1);
        } else {
            self.cursor.row = self.cursor.row.saturating_sub(1);
        }
        self.settle_wrap();
    }

    /// Keeps a wrap from being pending in a row whose text already goes on.
    pub(crate) fn settle_wrap(&mut self) {
        if self.cursor.is_wrap_pending && self.is_wrapped(self.cursor.row) {
            self.cursor.is_wrap_pending = false;
        }
    }

    /// Scrolls rows up. What leaves the top of the primary screen goes into the history.
    pub(crate) fn scroll_up(&mut self, rows: Range<usize>, count: usize) {
        let count = count.min(rows.len());
        if rows.start == 0 && !self.is_alternate() {
            for row in 0..count {
                let is_continued = row + 1 < rows.end && self.is_wrapped(row);
                self.remember(row, is_continued);
            }
        }
        self.shift_up(rows, count);
    }

    /// Scrolls rows up. What leaves is gone.
    pub(crate) fn drop_rows(&mut self, rows: Range<usize>, count: usize) {
        if rows.start == 0 && !self.is_alternate() {
            self.history.close();
        }
        let count = count.min(rows.len());
        self.shift_up(rows, count);
    }

    fn shift_up(&mut self, rows: Range<usize>, count: usize) {
        if count == 0 {
            return;
        }
        self.grid.cursor.template.bg = self.cursor.pen.bg;
        if count == rows.len() {
            self.grid.reset_region(line(rows.start)..line(rows.end));
            self.note_emptied(rows.clone());
        } else {
            self.grid.scroll_up(&(line(rows.start)..line(rows.end)), count);
            self.extents[rows.clone()].rotate_left(count);
            self.note_emptied(rows.end - count..rows.end);
            self.unwrap(rows.end - count - 1);
        }
        if let Some(above) = rows.start.checked_sub(1) {
            self.unwrap(above);
        }
    }

    /// Scrolls rows down; empty ones appear at the top.
    pub(crate) fn scroll_down(&mut self, rows: Range<usize>, count: usize) {
        let count = count.min(rows.len());
        if count == 0 {
            return;
        }
        self.grid.cursor.template.bg = self.cursor.pen.bg;
        self.grid.scroll_down(&(line(rows.start)..line(rows.end)), count);
        self.extents[rows.clone()].rotate_right(count);
        self.note_emptied(rows.start..rows.start + count);
        self.unwrap(rows.end - 1);
        match rows.start.checked_sub(1) {
            Some(above) => self.unwrap(above),
            None if !self.is_alternate() => self.history.close(),
            None => (),
        }
    }

    /// Tells whether a row's text goes on in the next.
    pub(crate) fn is_wrapped(&self, row: usize) -> bool {
        row < self.lines() && is_wrapped(self.row(row))
    }

    fn unwrap(&mut self, row: usize) {
        // A cell that is only looked at does not count as used when its row is reset.
        if self.is_wrapped(row) {
            let last = Column(self.columns() - 1);
            self.noted_row_mut(row)[last].flags.remove(Flags::WRAPLINE);
        }
    }
}

/// Tells whether a row's text goes on in the next.
pub(crate) fn is_wrapped(row: &[Cell]) -> bool {
    row.last().is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE))
}

fn line(row: usize) -> Line {
    Line(i32::try_from(row).unwrap_or(i32::MAX))
}

fn usual_tabs(columns: usize) -> Vec<bool> {
    (0..columns).map(|column| column.is_multiple_of(TAB_COLUMNS)).collect()
}
