//! Writing cells as the bytes that print them.

use alacritty_terminal::term::cell::{Cell, Flags};

use crate::screen::{is_blank, is_joined};
use crate::sgr::{append, write_parameters};
use crate::style::{DEFAULT_BACKGROUND, Look};

/// Bytes for a terminal, and the pen that they leave there.
#[derive(Debug)]
pub(crate) struct Painter {
    pub(crate) out: Vec<u8>,
    look: Look,
    columns: usize,
    /// The cell that was printed last, while no control followed.
    last: Option<Cell>,
}

impl Painter {
    /// Begins for a terminal of some width, whose pen is the usual one.
    pub(crate) fn new(columns: usize) -> Self {
        Self { out: Vec::new(), look: Look::default(), columns, last: None }
    }

    /// Appends controls and sequences.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        self.last = None;
    }

    /// Appends a sequence.
    pub(crate) fn sequence(&mut self, text: std::fmt::Arguments<'_>) {
        append(&mut self.out, text);
        self.last = None;
    }

    /// Makes the pen the usual one, whatever it is.
    pub(crate) fn reset_look(&mut self) {
        self.raw(b"\x1b[0m\x1b]8;;\x1b\\");
        self.look = Look::default();
    }

    /// Changes the pen.
    pub(crate) fn look(&mut self, look: &Look) {
        if self.look == *look {
            return;
        }
        if self.look.link != look.link {
            match &look.link {
                None => self.raw(b"\x1b]8;;\x1b\\"),
                Some(link) if link.id().is_empty() => {
                    self.sequence(format_args!("\x1b]8;;{}\x1b\\", link.uri()));
                }
                Some(link) => {
                    let (id, uri) = (link.id(), link.uri());
                    self.sequence(format_args!("\x1b]8;id={id};{uri}\x1b\\"));
                }
            }
        }
        let link = look.link.clone();
        if (Look { link, ..self.look.clone() }) != *look {
            self.write_look(look);
        }
        self.look = look.clone();
    }

    fn write_look(&mut self, look: &Look) {
        self.raw(b"\x1b[");
        write_parameters(&mut self.out, look);
        self.raw(b"m");
    }

    /// Prints cells one after the other.
    pub(crate) fn cells(&mut self, cells: &[Cell]) {
        for cell in cells {
            if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                self.cell(cell);
            }
        }
    }

    fn cell(&mut self, cell: &Cell) {
        if !self.look.is_of(cell) {
            self.look(&Look::of(cell));
        }
        let is_one_char = cell.c.is_ascii() && cell.zerowidth().unwrap_or_default().is_empty();
        if is_one_char {
            self.out.push(u8::try_from(cell.c).unwrap_or(b' '));
            self.last = None;
            return;
        }
        // What stands in two cells must not become one cluster: any control keeps them apart.
        if self.last.as_ref().is_some_and(|last| is_joined(last, cell.c)) {
            self.separate();
        }
        self.char(cell.c);
        let marks = cell.zerowidth().unwrap_or_default();
        // Nor must marks that came later widen a narrow cell.
        let is_wide = cell.flags.contains(Flags::WIDE_CHAR);
        if !is_wide && !marks.is_empty() {
            self.separate();
        }
        marks.iter().for_each(|mark| self.char(*mark));
        self.last = Some(cell.clone());
    }

    /// Prints a cell as its program did, at the end of what is painted: what follows may join it.
    pub(crate) fn last_cell(&mut self, cell: &Cell) {
        self.char(cell.c);
        cell.zerowidth().unwrap_or_default().iter().for_each(|mark| self.char(*mark));
    }

    fn separate(&mut self) {
        let look = self.look.clone();
        self.write_look(&look);
    }

    fn char(&mut self, c: char) {
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Prints rows below each other, from the first column of an empty row on. Where a row goes
    /// on in the next, the terminal wraps by itself.
    pub(crate) fn rows<'a>(&mut self, rows: impl Iterator<Item = (&'a [Cell], bool)>) {
        let mut is_continued = None;
        for (cells, goes_on) in rows {
            match is_continued {
                None => self.end_of_row(cells, goes_on),
                Some(true) => self.wrapped_row(cells, goes_on),
                Some(false) => {
                    self.next_row();
                    self.end_of_row(cells, goes_on);
                }
            }
            is_continued = Some(goes_on);
        }
    }

    /// Goes to the next row, which scrolls in empty, whatever the pen.
    fn next_row(&mut self) {
        if self.look.background != DEFAULT_BACKGROUND {
            self.look(&Look::default());
        }
        self.raw(b"\r\n");
    }

    fn end_of_row(&mut self, cells: &[Cell], goes_on: bool) {
        self.cells(if goes_on { cells } else { used(cells) });
    }

    fn wrapped_row(&mut self, cells: &[Cell], goes_on: bool) {
        // Something must be printed there, or the row before would not have been wrapped.
        let blank = [Cell::default()];
        let cells = if cells.is_empty() { &blank } else { cells };
        let first = match cells {
            [first, ..] if first.flags.contains(Flags::WIDE_CHAR) => cells.len().min(2),
            _ => cells.len().min(1),
        };
        let (first, rest) = cells.split_at(first);
        let is_colored = self.look.background != DEFAULT_BACKGROUND;
        self.cells(first);
        // A row that scrolled in while the pen had a background is filled with it.
        let is_filled = is_colored || self.look.background != DEFAULT_BACKGROUND;
        if is_filled && first.len() < self.columns {
            self.look(&Look::default());
            self.raw(b"\x1b[K");
        }
        self.end_of_row(rest, goes_on);
    }
}

/// Returns a row's cells up to the last that shows something.
pub(crate) fn used(cells: &[Cell]) -> &[Cell] {
    let len = cells.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
    &cells[..len]
}
