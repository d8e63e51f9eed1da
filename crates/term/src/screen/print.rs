//! Printing characters, and which of them form a cluster.
//!
//! The width of a character is that of the `unicode-width` tables. While clusters are on
//! (`?2027`, set from the start) a cluster takes the width of what it shows: emoji joined by
//! zero-width joiners, an emoji with a skin tone, a flag of two regional indicators, and a
//! character that a variation selector turns into an emoji take two columns. Any other character of
//! no width joins the cell before it, in either case. Clusters are only formed by characters that
//! follow each other with nothing between.

use alacritty_terminal::index::Column;
use alacritty_terminal::term::cell::{Cell, Flags};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{Charset, Screen};
use crate::modes::Mode;
use crate::pictographic::is_pictographic;
use crate::style::{DEFAULT_BACKGROUND, DEFAULT_FOREGROUND};

/// Most characters beside the first in a cell. The longest emoji have 13; text that piles up
/// marks without end must not grow.
const MAX_JOINED_CHARS: usize = 31;

const JOINER: char = '\u{200d}';
const EMOJI_SELECTOR: char = '\u{fe0f}';

impl Screen {
    /// Prints text without controls.
    pub(crate) fn print(&mut self, text: &str) {
        let is_plain =
            self.cursor.charsets.current() == Charset::Ascii && !self.modes.is_set(Mode::Insert);
        let mut rest = text;
        while !rest.is_empty() {
            let len = rest.bytes().take_while(u8::is_ascii).count();
            let (ascii, others) = rest.split_at(len);
            if is_plain {
                self.print_ascii(ascii.as_bytes());
            } else {
                ascii.chars().for_each(|c| self.print_char(c));
            }
            let len = others.bytes().take_while(|byte| !byte.is_ascii()).count();
            let (others, next) = others.split_at(len);
            others.chars().for_each(|c| self.print_char(c));
            rest = next;
        }
    }

    fn print_ascii(&mut self, mut text: &[u8]) {
        while !text.is_empty() {
            self.wrap_if_pending();
            let (row, column) = (self.cursor.row, self.cursor.column);
            let len = text.len().min(self.columns() - column);
            let (now, later) = text.split_at(len);
            self.cut(row, column);
            self.cut(row, column + len);
            let Cell { fg, bg, flags, ref extra, .. } = self.cursor.pen;
            let extra = extra.clone();
            let is_plain = extra.is_none()
                && flags.is_empty()
                && fg == DEFAULT_FOREGROUND
                && bg == DEFAULT_BACKGROUND;
            self.extents[row].write(column + len, is_plain);
            let cells = &mut self.noted_row_mut(row)[Column(column)..Column(column + len)];
            for (cell, byte) in cells.iter_mut().zip(now) {
                *cell = Cell { c: char::from(*byte), fg, bg, flags, extra: extra.clone() };
            }
            self.advance(len);
            self.last_printed = Some(column + len - 1);
            text = later;
        }
    }

    fn print_char(&mut self, c: char) {
        let c = match self.cursor.charsets.current() {
            Charset::Ascii => c,
            Charset::LineDrawing => line_drawing(c),
        };
        let Some(width) = c.width() else { return };
        if let Some(column) = self.last_printed
            && self.modes.is_set(Mode::GraphemeClusters)
            && is_joined(&self.row(self.cursor.row)[column], c)
        {
            return self.join(column, c);
        }
        match width {
            0 => self.print_mark(c),
            _ if width > self.columns() => (),
            _ => self.print_cell(c, width),
        }
    }

    /// Adds a character without width to the cell before the cursor.
    fn print_mark(&mut self, c: char) {
        let mut column = self.cursor.column;
        if !self.cursor.is_wrap_pending {
            column = column.saturating_sub(1);
        }
        if self.row(self.cursor.row)[column].flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = column.saturating_sub(1);
        }
        self.add_mark(column, c);
    }

    /// Adds a character to a cell; tells whether there was room.
    fn add_mark(&mut self, column: usize, c: char) -> bool {
        let row = self.cursor.row;
        let cell = &mut self.row_mut(row)[Column(column)];
        let has_room = cell.zerowidth().map_or(0, <[char]>::len) < MAX_JOINED_CHARS;
        if has_room {
            cell.push_zerowidth(c);
        }
        has_room
    }

    fn print_cell(&mut self, c: char, width: usize) {
        self.wrap_if_pending();
        let columns = self.columns();
        if width == 2 && self.cursor.column + 1 == columns {
            if !self.modes.is_set(Mode::AutoWrap) {
                self.cursor.is_wrap_pending = true;
                return;
            }
            self.fill_before_wide();
        }
        let (row, column) = (self.cursor.row, self.cursor.column);
        let is_inserting = self.modes.is_set(Mode::Insert);
        if is_inserting && column + width < columns {
            self.shift_right(row, column, width);
        }
        self.put(column, c, width);
        self.advance(width);
        self.last_printed = (!is_inserting).then_some(column);
    }

    /// Leaves the last column blank, for a wide character goes to the next row.
    fn fill_before_wide(&mut self) {
        let (row, column) = (self.cursor.row, self.cursor.column);
        self.cut(row, column);
        let mut blank = Cell { c: ' ', ..self.cursor.pen.clone() };
        blank.flags.insert(Flags::LEADING_WIDE_CHAR_SPACER);
        self.row_mut(row)[Column(column)] = blank;
        self.cursor.is_wrap_pending = true;
        self.wrap_if_pending();
    }

    /// Writes a character into the cursor's row.
    fn put(&mut self, column: usize, c: char, width: usize) {
        let row = self.cursor.row;
        self.cut(row, column);
        self.cut(row, column + width);
        let mut cell = Cell { c, ..self.cursor.pen.clone() };
        if width == 2 {
            cell.flags.insert(Flags::WIDE_CHAR);
            let mut spacer = Cell { c: ' ', ..self.cursor.pen.clone() };
            spacer.flags.insert(Flags::WIDE_CHAR_SPACER);
            self.noted_row_mut(row)[Column(column + 1)] = spacer;
        }
        self.extents[row].write(column + width, false);
        self.noted_row_mut(row)[Column(column)] = cell;
    }

    /// Adds a character to the cluster that was printed last.
    fn join(&mut self, column: usize, c: char) {
        let cell = &self.row(self.cursor.row)[column];
        let is_widening = !cell.flags.contains(Flags::WIDE_CHAR)
            && match c {
                EMOJI_SELECTOR => {
                    let mut text = String::from(cell.c);
                    text.push(c);
                    text.width() == 2
                }
                _ => true,
            };
        let has_room =
            column + 1 < self.columns() || self.columns() > 1 && self.modes.is_set(Mode::AutoWrap);
        // A character that needs two columns is dropped where there are none.
        if is_widening && !has_room && c != EMOJI_SELECTOR {
            return;
        }
        if self.add_mark(column, c) && is_widening && has_room {
            self.widen(column);
        }
    }

    /// Makes the cell that was printed last a wide one. There is room, here or in the next row.
    fn widen(&mut self, column: usize) {
        let columns = self.columns();
        let row = self.cursor.row;
        let cell = self.row(row)[column].clone();
        let mut column = column;
        if column + 1 == columns {
            self.cursor.column = column;
            self.fill_before_wide();
            column = 0;
        }
        self.cursor.column = column;
        self.cursor.is_wrap_pending = false;
        self.put(column, cell.c, 2);
        let row = self.cursor.row;
        let marked = &mut self.row_mut(row)[Column(column)];
        for mark in cell.zerowidth().unwrap_or_default() {
            marked.push_zerowidth(*mark);
        }
        self.advance(2);
        self.last_printed = Some(column);
    }

    /// Moves right over cells that were written.
    fn advance(&mut self, width: usize) {
        self.cursor.column += width;
        if self.cursor.column >= self.columns() {
            self.cursor.column = self.columns() - 1;
            self.cursor.is_wrap_pending = true;
        }
    }

    /// Goes to the next row when the last column was written, and text may go on.
    fn wrap_if_pending(&mut self) {
        if !self.cursor.is_wrap_pending || !self.modes.is_set(Mode::AutoWrap) {
            return;
        }
        self.cursor.is_wrap_pending = false;
        self.cursor.column = 0;
        let row = self.cursor.row;
        if self.lines() == 1 {
            return self.wrap_only_row();
        }
        let is_scrolled = row + 1 == self.margins.end;
        self.line_feed();
        if self.cursor.row > row || is_scrolled {
            let last = Column(self.columns() - 1);
            self.noted_row_mut(self.cursor.row - 1)[last].flags.insert(Flags::WRAPLINE);
        }
    }

    /// Goes on below the only row of the screen.
    fn wrap_only_row(&mut self) {
        if !self.is_alternate() {
            self.remember(0, true);
        }
        self.shift_up(0..1, 1);
    }

    /// Prints the last character again, some times; at most a screen full.
    pub(crate) fn repeat(&mut self, column: Option<usize>, count: usize) {
        let Some(column) = column else { return };
        let c = self.row(self.cursor.row)[column].c;
        for _ in 0..count.min(self.columns() * self.lines()) {
            self.print_char(c);
        }
    }
}

/// Tells whether a character joins the cluster in a cell, when it follows it at once, and may
/// change its width.
pub(crate) fn is_joined(cell: &Cell, c: char) -> bool {
    let marks = cell.zerowidth().unwrap_or_default();
    match c {
        EMOJI_SELECTOR => true,
        _ if is_regional_indicator(c) => {
            is_regional_indicator(cell.c) && !marks.iter().any(|mark| is_regional_indicator(*mark))
        }
        '\u{1f3fb}'..='\u{1f3ff}' => is_pictographic(cell.c),
        _ => marks.last() == Some(&JOINER) && is_pictographic(c) && is_pictographic(cell.c),
    }
}

fn is_regional_indicator(c: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&c)
}

/// Returns what DEC's set of line drawing characters shows for a letter.
fn line_drawing(c: char) -> char {
    const DRAWN: [char; 32] = [
        ' ', '◆', '▒', '\u{2409}', '\u{240c}', '\u{240d}', '\u{240a}', '°', '±', '\u{2424}',
        '\u{240b}', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤',
        '≥', 'π', '≠', '£', '·',
    ];
    let place = u32::from(c).checked_sub(0x5f).and_then(|place| usize::try_from(place).ok());
    place.and_then(|place| DRAWN.get(place)).copied().unwrap_or(c)
}
