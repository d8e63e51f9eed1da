//! Erasing, inserting and deleting.

use std::ops::Range;

use alacritty_terminal::index::Column;
use alacritty_terminal::term::cell::{Cell, Flags};

use super::{Extent, Screen, line};
use crate::style::{DEFAULT_BACKGROUND, DEFAULT_FOREGROUND};

/// What part of a row or screen is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// From the cursor to the end.
    After,
    /// From the start to the cursor, its cell included.
    Before,
    All,
}

impl Screen {
    /// Erases a part of the cursor's row.
    pub(crate) fn erase_in_row(&mut self, part: Part) {
        let (row, column) = (self.cursor.row, self.cursor.column);
        match part {
            // The cursor stands behind the last column then.
            Part::After if self.cursor.is_wrap_pending => (),
            Part::After => self.erase_cells(row, column..self.columns()),
            Part::Before => self.erase_cells(row, 0..column + 1),
            Part::All => self.erase_cells(row, 0..self.columns()),
        }
    }

    /// Erases a part of the screen. Erasing all of the primary one moves its text into the
    /// history first, as people expect of `clear`.
    pub(crate) fn erase_in_screen(&mut self, part: Part) {
        let row = self.cursor.row;
        match part {
            Part::After => {
                self.erase_in_row(part);
                self.erase_rows(row + 1..self.lines());
            }
            Part::Before => {
                self.erase_in_row(part);
                self.erase_rows(0..row);
            }
            Part::All => {
                if !self.is_alternate() {
                    let is_used = |row: &usize| self.row(*row).iter().any(|cell| !is_blank(cell));
                    let used = (0..self.lines()).rev().find(is_used).map_or(0, |last| last + 1);
                    for row in 0..used {
                        let is_continued = row + 1 < used && self.is_wrapped(row);
                        self.remember(row, is_continued);
                    }
                    self.history.close();
                }
                self.erase_rows(0..self.lines());
            }
        }
    }

    /// Erases cells from the cursor on.
    pub(crate) fn erase_some(&mut self, count: usize) {
        let column = self.cursor.column;
        let end = column.saturating_add(count).min(self.columns());
        self.erase_cells(self.cursor.row, column..end);
    }

    pub(super) fn erase_rows(&mut self, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        self.grid.cursor.template.bg = self.cursor.pen.bg;
        self.grid.reset_region(line(rows.start)..line(rows.end));
        self.note_emptied(rows);
    }

    fn erase_cells(&mut self, row: usize, columns: Range<usize>) {
        self.cut(row, columns.start);
        self.cut(row, columns.end);
        let background = self.cursor.pen.bg;
        if background != DEFAULT_BACKGROUND {
            self.extents[row] = Extent::UNKNOWN;
        }
        for cell in &mut self.noted_row_mut(row)[Column(columns.start)..Column(columns.end)] {
            *cell = Cell::from(background);
        }
    }

    /// Moves cells to the right; blank ones appear at the cursor.
    pub(crate) fn insert_cells(&mut self, count: usize) {
        let (row, column) = (self.cursor.row, self.cursor.column);
        let count = count.min(self.columns() - column);
        self.shift_right(row, column, count);
        self.erase_cells(row, column..column + count);
    }

    /// Moves cells to the right; what is at the start of them is left over.
    pub(super) fn shift_right(&mut self, row: usize, column: usize, count: usize) {
        let last = self.columns() - 1;
        self.unwrap(row);
        self.cut(row, column);
        self.cut(row, self.columns() - count);
        self.row_mut(row)[Column(column)..Column(last + 1)].rotate_right(count);
    }

    /// Deletes cells at the cursor; what is right of them moves there.
    pub(crate) fn delete_cells(&mut self, count: usize) {
        let (row, column, end) = (self.cursor.row, self.cursor.column, self.columns());
        let count = count.min(end - column);
        self.unwrap(row);
        self.cut(row, column);
        self.cut(row, column + count);
        self.row_mut(row)[Column(column)..Column(end)].rotate_left(count);
        self.erase_cells(row, end - count..end);
    }

    /// Inserts empty rows at the cursor, within the margins.
    pub(crate) fn insert_rows(&mut self, count: usize) {
        if self.margins.contains(&self.cursor.row) {
            self.scroll_down(self.cursor.row..self.margins.end, count);
        }
    }

    /// Deletes rows at the cursor, within the margins.
    pub(crate) fn delete_rows(&mut self, count: usize) {
        if self.margins.contains(&self.cursor.row) {
            self.drop_rows(self.cursor.row..self.margins.end, count);
        }
    }

    /// Fills the screen with a letter, to align it by.
    pub(crate) fn fill_for_alignment(&mut self) {
        self.margins = 0..self.lines();
        self.go_to(0, 0);
        for row in 0..self.lines() {
            for cell in &mut self.row_mut(row)[..] {
                *cell = Cell { c: 'E', ..Cell::default() };
            }
        }
    }

    /// Separates a column from the one before: a wide character in both is blanked.
    pub(super) fn cut(&mut self, row: usize, column: usize) {
        if column == 0 || column >= self.columns() {
            return;
        }
        if self.row(row)[column].flags.contains(Flags::WIDE_CHAR_SPACER) {
            let cells = &mut self.row_mut(row)[Column(column - 1)..Column(column + 1)];
            cells[0].clear_wide();
            cells[1].flags.remove(Flags::WIDE_CHAR_SPACER);
        }
    }
}

/// Tells whether a cell shows nothing and has no colour, so that it need not be kept at an end.
pub(crate) fn is_blank(cell: &Cell) -> bool {
    cell.c == ' '
        && cell.extra.is_none()
        && cell.flags.difference(Flags::LEADING_WIDE_CHAR_SPACER | Flags::WRAPLINE).is_empty()
        && cell.fg == DEFAULT_FOREGROUND
        && cell.bg == DEFAULT_BACKGROUND
}
