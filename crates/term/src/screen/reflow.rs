//! Another size.
//!
//! The primary screen's text flows anew: a line that went on over several rows takes as many rows
//! as it needs. What has no room leaves at the top, into the history. While the screen is full,
//! what gains room comes back from there, as it does in most terminals; a screen with empty rows
//! below its text gets no older text on top. The line at the top takes its part in the history
//! along. Text below the cursor that has no room is lost only where the cursor would leave the
//! screen otherwise. The alternate screen is cut, or filled up: its program paints it again.
//!
//! Margins are reset, tab stops in new columns are the usual ones.

use std::collections::VecDeque;
use std::ops::Range;

use alacritty_terminal::grid::{Dimensions as _, Grid};
use alacritty_terminal::index::Column;
use alacritty_terminal::term::cell::{Cell, Flags};

use super::{Cursor, Extent, Screen, TAB_COLUMNS, is_blank, is_wrapped, line};
use crate::history::History;
use crate::options::Size;

/// Longest line that is brought back from the history whole, in cells.
const MAX_LINE_CELLS: usize = 16 * 1024;

impl Screen {
    /// Takes another size.
    pub(crate) fn resize(&mut self, size: Size) {
        let (columns, lines) = (usize::from(size.columns()), usize::from(size.lines()));
        if (columns, lines) == (self.columns(), self.lines()) {
            return;
        }
        self.extents = vec![Extent::UNKNOWN; lines];
        match self.parked.take() {
            None => {
                let mut flow = Flow::of(&self.grid, &self.cursor);
                flow.take_back(&mut self.history, (columns, lines));
                self.grid = flow.settle(&mut self.history, (columns, lines), &mut self.cursor);
            }
            Some(primary) => {
                let mut flow = Flow::of(&primary, &self.parked_saved.cursor);
                flow.take_back(&mut self.history, (columns, lines));
                let cursor = &mut self.parked_saved.cursor;
                self.parked = Some(flow.settle(&mut self.history, (columns, lines), cursor));
                self.crop(columns, lines);
            }
        }
        self.margins = 0..lines;
        let known = self.tabs.len();
        self.tabs.truncate(columns);
        self.tabs.extend((known..columns).map(|column| column.is_multiple_of(TAB_COLUMNS)));
        let saved = &mut self.saved.cursor;
        saved.row = saved.row.min(lines - 1);
        saved.column = saved.column.min(columns - 1);
        saved.is_wrap_pending = false;
        self.last_printed = None;
    }

    /// Cuts the active screen, or fills it up. The cursor stays in it.
    fn crop(&mut self, columns: usize, lines: usize) {
        let old = std::mem::replace(&mut self.grid, Grid::new(lines, columns, 0));
        let above = (self.cursor.row + 1).saturating_sub(lines);
        let is_same_width = old.columns() == columns;
        for row in 0..lines.min(old.screen_lines() - above) {
            let from = &old[line(row + above)][..];
            let len = from.len().min(columns);
            let to = &mut self.row_mut(row)[Column(0)..Column(len)];
            to.clone_from_slice(&from[..len]);
            if !is_same_width || row + 1 == lines || row + above + 1 == old.screen_lines() {
                self.unwrap(row);
            }
            if let Some(last) = self.row_mut(row).last_mut()
                && last.flags.contains(Flags::WIDE_CHAR)
            {
                last.clear_wide();
            }
        }
        self.cursor.row -= above;
        self.cursor.column = self.cursor.column.min(columns - 1);
        self.cursor.is_wrap_pending &= is_same_width;
    }
}

/// The lines of a screen, each as long as it is, and where the cursor stands in them.
struct Flow {
    lines: VecDeque<Vec<Cell>>,
    cursor_line: usize,
    cursor_offset: usize,
    /// How many lines and cells in front were not on the screen.
    taken_lines: usize,
    taken_cells: usize,
    is_full: bool,
}

impl Flow {
    fn of(grid: &Grid<Cell>, cursor: &Cursor) -> Self {
        let is_used = |row: &usize| grid[line(*row)][..].iter().any(|cell| !is_blank(cell));
        let used = (0..grid.screen_lines()).rev().find(is_used).map_or(0, |last| last + 1);
        let used = used.max(cursor.row + 1);
        let mut flow = Self {
            lines: VecDeque::new(),
            cursor_line: 0,
            cursor_offset: 0,
            taken_lines: 0,
            taken_cells: 0,
            is_full: used == grid.screen_lines(),
        };
        let mut open: Option<Vec<Cell>> = None;
        for row in 0..used {
            let mut cells = open.take().unwrap_or_default();
            if row == cursor.row {
                flow.cursor_line = flow.lines.len();
                flow.cursor_offset =
                    cells.len() + cursor.column + usize::from(cursor.is_wrap_pending);
            }
            let from = &grid[line(row)][..];
            let is_continued = is_wrapped(from) && row + 1 < used;
            let next = is_continued.then(|| &grid[line(row + 1)][..]);
            append_row(&mut cells, from, next);
            match next {
                Some(_) => open = Some(cells),
                None => flow.lines.push_back(cells),
            }
        }
        flow
    }

    /// Brings back the start of a line that is cut by the top of the screen, and as many lines
    /// as there will be room for.
    fn take_back(&mut self, history: &mut History, (columns, lines): (usize, usize)) {
        let mut rows: usize = self.lines.iter().map(|cells| wrapped(cells, columns).len()).sum();
        while history.is_open() || (self.is_full && rows < lines && history.len() > 0) {
            let is_joined = history.is_open();
            let mut past = VecDeque::new();
            let mut len = 0;
            while let Some(row) = history.pop() {
                len += row.cells.len();
                past.push_front(row.cells);
                if len > MAX_LINE_CELLS {
                    history.close();
                }
                if !history.is_open() {
                    break;
                }
            }
            let mut cells = Vec::with_capacity(len);
            let first = if is_joined { self.lines.pop_front() } else { None };
            let all: Vec<Vec<Cell>> = past.into_iter().chain(first.clone()).collect();
            for (at, row) in all.iter().enumerate() {
                if at + 1 == all.len() && first.is_some() {
                    self.taken_cells = cells.len();
                }
                let next = all.get(at + 1).map(Vec::as_slice);
                append_row(&mut cells, row, next.or(first.is_some().then_some(&[][..])));
            }
            if is_joined {
                if self.cursor_line == 0 {
                    self.cursor_offset += self.taken_cells;
                }
            } else {
                self.cursor_line += 1;
                self.taken_lines += 1;
            }
            self.lines.push_front(cells);
            rows = self.lines.iter().map(|cells| wrapped(cells, columns).len()).sum();
        }
    }

    /// Lays the lines out; what has no room goes into the history.
    fn settle(
        mut self,
        history: &mut History,
        (columns, lines): (usize, usize),
        cursor: &mut Cursor,
    ) -> Grid<Cell> {
        if let Some(cells) = self.lines.get_mut(self.cursor_line)
            && cells.len() < self.cursor_offset
        {
            cells.resize(self.cursor_offset, Cell::default());
        }
        let mut rows: Vec<(usize, Range<usize>)> = Vec::new();
        for (at, cells) in self.lines.iter_mut().enumerate() {
            if columns == 1 {
                narrow(cells);
            }
            rows.extend(wrapped(cells, columns).into_iter().map(|range| (at, range)));
        }
        let place = |line: usize, offset: usize| {
            rows.iter().rposition(|(at, range)| *at == line && range.start <= offset).unwrap_or(0)
        };
        let cursor_row = place(self.cursor_line, self.cursor_offset);
        let mut first = rows.len().saturating_sub(lines);
        if !self.is_full {
            first = first.max(place(self.taken_lines, self.taken_cells));
        }
        first = first.min(cursor_row);
        let mut grid = Grid::new(lines, columns, 0);
        for (at, (line_at, range)) in rows.iter().enumerate() {
            let cells = &self.lines[*line_at][range.clone()];
            let is_continued = rows.get(at + 1).is_some_and(|(next, _)| next == line_at);
            let row = laid_out(cells, columns, is_continued);
            if at < first {
                history.push(&row, is_continued);
            } else if at < first + lines {
                grid[line(at - first)][..].clone_from_slice(&row);
            }
        }
        let last = &mut grid[line(lines - 1)][Column(columns - 1)];
        last.flags.remove(Flags::WRAPLINE);
        let start = rows.get(cursor_row).map_or(0, |(_, range)| range.start);
        let column = self.cursor_offset - start.min(self.cursor_offset);
        cursor.row = (cursor_row - first).min(lines - 1);
        cursor.column = column.min(columns - 1);
        cursor.is_wrap_pending = column >= columns;
        grid
    }
}

/// Appends a row to its line; `next` is what follows it there.
fn append_row(cells: &mut Vec<Cell>, row: &[Cell], next: Option<&[Cell]>) {
    let mut len = row.len();
    match next {
        None => {
            len = row.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
        }
        Some(next) => {
            let is_filler = |cell: &Cell| cell.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER);
            let is_wide = |cell: &Cell| cell.flags.contains(Flags::WIDE_CHAR);
            if row.last().is_some_and(is_filler) && next.first().is_some_and(is_wide) {
                len -= 1;
            }
        }
    }
    cells.extend(row[..len].iter().map(|cell| {
        let mut cell = cell.clone();
        cell.flags.remove(Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER);
        cell
    }));
}

/// Returns the rows that a line takes: a wide character is not cut.
pub(crate) fn wrapped(cells: &[Cell], columns: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::with_capacity(cells.len() / columns + 1);
    let mut start = 0;
    loop {
        let mut end = (start + columns).min(cells.len());
        if end < cells.len() && columns > 1 && cells[end].flags.contains(Flags::WIDE_CHAR_SPACER) {
            end -= 1;
        }
        rows.push(start..end);
        start = end;
        if start >= cells.len() {
            return rows;
        }
    }
}

/// Makes a whole row of the cells in it.
fn laid_out(cells: &[Cell], columns: usize, is_continued: bool) -> Vec<Cell> {
    let mut row = cells.to_vec();
    if is_continued && row.len() + 1 == columns {
        row.push(Cell { flags: Flags::LEADING_WIDE_CHAR_SPACER, ..Cell::default() });
    }
    row.resize(columns, Cell::default());
    if is_continued && let Some(last) = row.last_mut() {
        last.flags.insert(Flags::WRAPLINE);
    }
    row
}

/// Makes every cell one column wide: there is no room for wide characters in one column.
fn narrow(cells: &mut [Cell]) {
    for cell in cells {
        if cell.flags.contains(Flags::WIDE_CHAR) {
            cell.clear_wide();
        }
        cell.flags.remove(Flags::WIDE_CHAR_SPACER);
    }
}
