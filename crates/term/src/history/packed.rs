//! The bytes of one row.
//!
//! One byte of flags, the text's length and UTF-8 bytes, then runs of cells that look alike. In the
//! text a cell that is more than one character, or of another width than its character's, is marked
//! by control bytes, which no cell holds.

use alacritty_terminal::term::cell::{Cell, Flags, Hyperlink};
use alacritty_terminal::vte::ansi::{Color, Rgb};
use unicode_width::UnicodeWidthChar as _;

use super::PastRow;
use crate::screen::is_blank;
use crate::style::{DEFAULT_BACKGROUND, DEFAULT_FOREGROUND, Look};

const CONTINUED: u8 = 1;
const STYLED: u8 = 2;

/// The next cell has another width than its first character.
const OTHER_WIDTH: u8 = 1;
/// The characters up to [`MARKS_END`] belong to the cell before.
const MARKS: u8 = 2;
const MARKS_END: u8 = 3;
/// A blank cell at the end of a row, since a wide character had no room there.
const FILLER: u8 = 4;

const HAS_FOREGROUND: u8 = 1;
const HAS_BACKGROUND: u8 = 2;
const HAS_FLAGS: u8 = 4;
const HAS_UNDERLINE_COLOR: u8 = 8;
const HAS_LINK: u8 = 16;

/// Appends a row.
pub(super) fn write(out: &mut Vec<u8>, cells: &[Cell], is_continued: bool) {
    let cells = kept(cells, is_continued);
    let has_usual_look = |cell: &Cell| {
        cell.extra.is_none()
            && cell.flags.difference(Flags::WRAPLINE).is_empty()
            && cell.fg == DEFAULT_FOREGROUND
            && cell.bg == DEFAULT_BACKGROUND
    };
    let is_styled = !cells.iter().all(has_usual_look);
    let continued = if is_continued { CONTINUED } else { 0 };
    let styled = if is_styled { STYLED } else { 0 };
    out.push(continued | styled);
    // The length is known after the text was written: room for three bytes of it is left.
    let head = out.len();
    out.extend_from_slice(&[0; 3]);
    cells.iter().for_each(|cell| write_cell(out, cell));
    let len = u32::try_from(out.len() - head - 3).unwrap_or(u32::MAX);
    out[head..head + 3].copy_from_slice(&len.to_le_bytes()[..3]);
    if is_styled {
        write_looks(out, cells);
    }
}

/// Appends a row of which it is known that each cell is an ASCII character in the usual look.
pub(super) fn write_plain(out: &mut Vec<u8>, cells: &[Cell], is_continued: bool) {
    let start = out.len();
    out.extend_from_slice(&[if is_continued { CONTINUED } else { 0 }, 0, 0, 0]);
    out.extend(cells.iter().map(|cell| u8::try_from(u32::from(cell.c)).unwrap_or(b' ')));
    while !is_continued && out.len() > start + 4 && out.last() == Some(&b' ') {
        out.pop();
    }
    let len = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start + 1..start + 4].copy_from_slice(&len.to_le_bytes()[..3]);
    debug_assert!({
        let mut read = Vec::new();
        write(&mut read, cells, is_continued);
        read == out[start..]
    });
}

/// Returns the cells that say something.
fn kept(cells: &[Cell], is_continued: bool) -> &[Cell] {
    if is_continued {
        return cells;
    }
    let len = cells.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
    &cells[..len]
}

fn write_cell(out: &mut Vec<u8>, cell: &Cell) {
    let special = Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
    if cell.c.is_ascii() && cell.extra.is_none() && !cell.flags.intersects(special) {
        return out.push(u8::try_from(cell.c).unwrap_or(b' '));
    }
    if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
        return;
    }
    if cell.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER)
        && cell.zerowidth().unwrap_or_default().is_empty()
    {
        return out.push(FILLER);
    }
    let is_wide = cell.flags.contains(Flags::WIDE_CHAR);
    if is_wide != (cell.c.width() == Some(2)) {
        out.push(OTHER_WIDTH);
    }
    write_char(out, cell.c);
    let marks = cell.zerowidth().unwrap_or_default();
    if !marks.is_empty() {
        out.push(MARKS);
        marks.iter().for_each(|mark| write_char(out, *mark));
        out.push(MARKS_END);
    }
}

fn write_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn write_looks(out: &mut Vec<u8>, cells: &[Cell]) {
    let mut rest = cells;
    while let Some(first) = rest.first() {
        let look = Look::of(first);
        let len = rest.iter().take_while(|cell| look.is_of(cell)).count();
        rest = &rest[len..];
        if rest.is_empty() && look == Look::default() {
            return;
        }
        write_number(out, len);
        write_look(out, &look);
    }
}

fn write_look(out: &mut Vec<u8>, look: &Look) {
    let head = out.len();
    out.push(0);
    let mut has = 0;
    if write_color(out, look.foreground) {
        has |= HAS_FOREGROUND;
    }
    if write_color(out, look.background) {
        has |= HAS_BACKGROUND;
    }
    if !look.flags.is_empty() {
        has |= HAS_FLAGS;
        out.extend_from_slice(&look.flags.bits().to_le_bytes());
    }
    if look.underline_color.is_some_and(|color| write_color(out, color)) {
        has |= HAS_UNDERLINE_COLOR;
    }
    if let Some(link) = &look.link {
        has |= HAS_LINK;
        for text in [link.id(), link.uri()] {
            write_number(out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
    }
    out[head] = has;
}

/// Appends a colour that is not the default.
fn write_color(out: &mut Vec<u8>, color: Color) -> bool {
    match color {
        Color::Indexed(index) => out.extend_from_slice(&[0, index]),
        Color::Spec(Rgb { r, g, b }) => out.extend_from_slice(&[1, r, g, b]),
        Color::Named(_) => return false,
    }
    true
}

fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(0x80 | u8::try_from(number & 0x7f).unwrap_or(0));
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or(0));
}

pub(super) fn is_continued(row: &[u8]) -> bool {
    row.first().is_some_and(|flags| flags & CONTINUED != 0)
}

pub(super) fn close(head: &mut u8) {
    *head &= !CONTINUED;
}

/// Reads a row that [`write`] made.
pub(super) fn read(row: &[u8]) -> PastRow {
    let mut reader = Reader { rest: row };
    let flags = reader.byte();
    let len = usize::from(reader.byte())
        | usize::from(reader.byte()) << 8
        | usize::from(reader.byte()) << 16;
    let text = std::str::from_utf8(reader.take(len)).unwrap_or_default();
    let mut cells = read_cells(text);
    if flags & STYLED != 0 {
        let mut at = 0;
        while !reader.rest.is_empty() {
            let len = reader.number();
            let look = reader.look();
            cells.iter_mut().skip(at).take(len).for_each(|cell| look.apply(cell));
            at += len;
        }
    }
    let is_continued = flags & CONTINUED != 0;
    // A line may have been ended after its row was packed whole.
    cells.truncate(kept(&cells, is_continued).len());
    PastRow { cells, is_continued }
}

fn read_cells(text: &str) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    let mut is_other_width = false;
    while let Some(c) = chars.next() {
        match u8::try_from(c) {
            Ok(OTHER_WIDTH) => is_other_width = true,
            Ok(FILLER) => {
                let flags = Flags::LEADING_WIDE_CHAR_SPACER;
                cells.push(Cell { flags, ..Cell::default() });
            }
            Ok(MARKS) => {
                let marks = chars.by_ref().take_while(|c| *c != char::from(MARKS_END));
                let is_spacer = |cell: &Cell| cell.flags.contains(Flags::WIDE_CHAR_SPACER);
                let back = if cells.last().is_some_and(is_spacer) { 2 } else { 1 };
                let at = cells.len().saturating_sub(back);
                for mark in marks {
                    if let Some(cell) = cells.get_mut(at) {
                        cell.push_zerowidth(mark);
                    }
                }
            }
            _ => {
                let is_wide = (c.width() == Some(2)) != std::mem::take(&mut is_other_width);
                let flags = if is_wide { Flags::WIDE_CHAR } else { Flags::empty() };
                cells.push(Cell { c, flags, ..Cell::default() });
                if is_wide {
                    cells.push(Cell { flags: Flags::WIDE_CHAR_SPACER, ..Cell::default() });
                }
            }
        }
    }
    cells
}

/// Reads what was written here: what is missing reads as nothing.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn number(&mut self) -> usize {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte();
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    fn color(&mut self) -> Color {
        match self.byte() {
            0 => Color::Indexed(self.byte()),
            _ => Color::Spec(Rgb { r: self.byte(), g: self.byte(), b: self.byte() }),
        }
    }

    fn text(&mut self) -> String {
        let len = self.number();
        String::from_utf8_lossy(self.take(len)).into_owned()
    }

    fn look(&mut self) -> Look {
        let has = self.byte();
        let mut look = Look::default();
        if has & HAS_FOREGROUND != 0 {
            look.foreground = self.color();
        }
        if has & HAS_BACKGROUND != 0 {
            look.background = self.color();
        }
        if has & HAS_FLAGS != 0 {
            let bits = u16::from(self.byte()) | u16::from(self.byte()) << 8;
            look.flags = Flags::from_bits_retain(bits);
        }
        if has & HAS_UNDERLINE_COLOR != 0 {
            look.underline_color = Some(self.color());
        }
        if has & HAS_LINK != 0 {
            let id = self.text();
            look.link = Some(Hyperlink::new(Some(id), self.text()));
        }
        look
    }
}
