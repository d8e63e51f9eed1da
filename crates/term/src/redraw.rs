//! Bytes that bring a terminal into a state, and those that bring it out of any.
//!
//! The law: a terminal that reads a redraw is in the state of the one that made it, whatever its
//! own was, and so it stays when both read on. Beyond [`crate::ScreenState`] that means a sequence
//! or character that was cut, which is the redraw's end.
//!
//! A redraw holds nothing that is answered, heard or notified. It can't empty the other terminal's
//! stack of titles, and says nothing of the wheel's mode (`?1007`) unless a program set it, since
//! its usual state is unlike in real terminals.

use alacritty_terminal::term::cell::{Cell, Flags};

use crate::keyboard::{Keyboard, MAX_PUSHED};
use crate::machine::Machine;
use crate::modes::{Mode, Modes, MouseEncoding, MouseTracking};
use crate::paint::{Painter, used};
use crate::parser::Parser;
use crate::screen::{Charset, Charsets, Cursor, Saved, is_wrapped};
use crate::style::Look;

/// What a redraw does to the rows above the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scrollback {
    /// They stay; older text is printed below them.
    #[default]
    Keep,
    /// They are erased first.
    Clear,
}

/// What a redraw holds besides the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedrawOptions {
    /// How many of the rows that left the screen are printed first, at most.
    pub history_lines: usize,
    /// What becomes of the rows above the screen.
    pub scrollback: Scrollback,
}

/// Ends any sequence and string without effect, and holds the picture back.
const ABORT: &[u8] = b"\x18\x1b\\";

/// Everything a program may have left on, off; what ends up home.
const RESET: &[u8] = b"\x1b[?6l\x1b[r\x1b[4l\x1b[20l\x1b[?7h\x1b[?5l\x1b[?1l\x1b>\
    \x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l\
    \x1b[?1004l\x1b[?2004l\x1b[?2031l\x1b[?2027h\x1b[>4m\x1b[?12l\x1b[?25h\x1b[0 q\x1b[?5W\
    \x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\";

pub(crate) fn redraw(machine: &Machine, parser: &Parser, options: RedrawOptions) -> Vec<u8> {
    let mut redraw = Redraw { machine, painter: Painter::new(machine.screen.columns()) };
    redraw.begin(options.scrollback);
    redraw.primary(options.history_lines);
    if machine.screen.is_alternate() {
        redraw.alternate();
    }
    redraw.settings();
    redraw.end();
    redraw.painter.raw(parser.pending());
    redraw.painter.out
}

/// Returns what brings a terminal that showed this one back for its next program.
pub(crate) fn leave(machine: &Machine) -> Vec<u8> {
    let screen = &machine.screen;
    let mut painter = Painter::new(screen.columns());
    painter.raw(ABORT);
    painter.raw(b"\x1b[?2026l");
    leave_alternate(&mut painter);
    painter.raw(RESET);
    painter.reset_look();
    charsets(&mut painter, &Charsets::default());
    if machine.has_progress {
        painter.raw(b"\x1b]9;4;0\x1b\\");
    }
    for _ in &machine.titles {
        painter.raw(b"\x1b[23;2t");
    }
    let is_used = |row: &usize| !used(screen.primary_row(*row)).is_empty();
    let last = (0..screen.lines()).rev().find(is_used).map_or(1, |row| row + 1);
    painter.sequence(format_args!("\x1b[{last};1H\r\n"));
    painter.out
}

/// Leaves the alternate screen, with no keyboard flag left on either.
fn leave_alternate(painter: &mut Painter) {
    let pops = MAX_PUSHED + 1;
    painter.sequence(format_args!("\x1b[<{pops}u\x1b[?1049l\x1b[<{pops}u"));
}

struct Redraw<'a> {
    machine: &'a Machine,
    painter: Painter,
}

impl Redraw<'_> {
    fn begin(&mut self, scrollback: Scrollback) {
        let painter = &mut self.painter;
        painter.raw(ABORT);
        painter.raw(b"\x1b[?2026h");
        leave_alternate(painter);
        painter.raw(RESET);
        painter.reset_look();
        charsets(painter, &Charsets::default());
        painter.raw(b"\x1b[H\x1b[J");
        if scrollback == Scrollback::Clear {
            painter.raw(b"\x1b[3J");
        }
    }

    fn primary(&mut self, history_lines: usize) {
        let screen = &self.machine.screen;
        if !screen.is_alternate() {
            self.saved_cursor();
        }
        let past = screen.history.len().saturating_sub(history_lines);
        let past: Vec<_> = match history_lines {
            0 => Vec::new(),
            _ => screen.history.rows_from(past).collect(),
        };
        let past = past.iter().map(|row| (row.cells.as_slice(), row.is_continued));
        let rows = (0..screen.lines()).map(|row| screen.primary_row(row));
        self.painter.rows(past.chain(rows.map(|row| (row, is_wrapped(row)))));
        let keyboard = self.machine.parked_keyboard.as_ref().unwrap_or(&self.machine.keyboard);
        self.keyboard(keyboard);
    }

    fn alternate(&mut self) {
        let screen = &self.machine.screen;
        let saved = &screen.parked_saved;
        self.place(saved);
        self.pend(&saved.cursor, screen.primary_row(saved.cursor.row));
        self.pen(&saved.cursor);
        self.painter.raw(b"\x1b[?1049h");
        self.unplace();
        self.saved_cursor();
        let rows = (0..screen.lines()).map(|row| screen.row(row));
        self.painter.rows(rows.map(|row| (row, is_wrapped(row))));
        self.keyboard(&self.machine.keyboard);
    }

    /// Saves the cursor that is saved, on an empty screen, and leaves it empty.
    fn saved_cursor(&mut self) {
        let saved = &self.machine.screen.saved;
        self.place(saved);
        self.painter.look(&Look::of(&saved.cursor.pen));
        if saved.cursor.is_wrap_pending {
            self.painter.raw(b" ");
        }
        charsets(&mut self.painter, &saved.cursor.charsets);
        self.painter.raw(b"\x1b7");
        self.unplace();
    }

    /// Goes to a saved place. Margins are off, so that rows are counted alike in origin mode.
    fn place(&mut self, saved: &Saved) {
        if saved.is_origin {
            self.painter.raw(b"\x1b[?6h");
        }
        let (row, column) = (saved.cursor.row + 1, saved.cursor.column + 1);
        self.painter.sequence(format_args!("\x1b[{row};{column}H"));
    }

    /// Ends at home of an empty screen with the usual pen.
    fn unplace(&mut self) {
        self.painter.reset_look();
        charsets(&mut self.painter, &Charsets::default());
        self.painter.raw(b"\x1b[?6l\x1b[H\x1b[J");
    }

    /// Prints the last cell of a row again when a wrap is pending there.
    fn pend(&mut self, cursor: &Cursor, row: &[Cell]) {
        if !cursor.is_wrap_pending {
            return;
        }
        let is_spacer = row.last().is_some_and(|cell| cell.flags.contains(Flags::WIDE_CHAR_SPACER));
        let start = row.len() - if is_spacer { 2 } else { 1 };
        let column = start + 1;
        self.painter.sequence(format_args!("\x1b[{column}G"));
        self.painter.cells(&row[start..]);
    }

    fn pen(&mut self, cursor: &Cursor) {
        self.painter.look(&Look::of(&cursor.pen));
        charsets(&mut self.painter, &cursor.charsets);
    }

    fn keyboard(&mut self, keyboard: &Keyboard) {
        let Some((base, pushed)) = keyboard.all().split_first() else { return };
        if *base != 0 {
            self.painter.sequence(format_args!("\x1b[={base};1u"));
        }
        for flags in pushed {
            self.painter.sequence(format_args!("\x1b[>{flags}u"));
        }
    }

    /// Sets everything that does not show in cells.
    fn settings(&mut self) {
        let machine = self.machine;
        let painter = &mut self.painter;
        for title in &machine.titles {
            painter.sequence(format_args!("\x1b]2;{title}\x1b\\\x1b[22;2t"));
        }
        painter.sequence(format_args!("\x1b]2;{}\x1b\\", machine.title));
        let cwd = machine.cwd.as_deref().unwrap_or_default();
        painter.sequence(format_args!("\x1b]7;{cwd}\x1b\\"));
        for (slot, color) in machine.palette.all_set() {
            painter.sequence(format_args!("\x1b]{}{color}\x1b\\", slot.command()));
        }
        if !machine.screen.has_usual_tabs() {
            painter.raw(b"\x1b[3g");
            for (column, _) in machine.screen.tabs.iter().enumerate().filter(|(_, stop)| **stop) {
                painter.sequence(format_args!("\x1b[{}G\x1bH", column + 1));
            }
        }
        let margins = &machine.screen.margins;
        if *margins != (0..machine.screen.lines()) {
            let (top, bottom) = (margins.start + 1, margins.end);
            painter.sequence(format_args!("\x1b[{top};{bottom}r"));
        }
        self.modes(&machine.screen.modes);
    }

    fn modes(&mut self, modes: &Modes) {
        let painter = &mut self.painter;
        for mode in Mode::ALL {
            let is_set = modes.is_set(mode);
            let is_later = matches!(mode, Mode::SynchronizedOutput | Mode::Insert);
            if is_later || is_set == Modes::default().is_set(mode) {
                continue;
            }
            if mode == Mode::ApplicationKeypad {
                painter.raw(b"\x1b=");
                continue;
            }
            let (number, is_private) = mode.number();
            let marker = if is_private { "?" } else { "" };
            let last = if is_set { 'h' } else { 'l' };
            painter.sequence(format_args!("\x1b[{marker}{number}{last}"));
        }
        if modes.mouse_tracking != MouseTracking::Off {
            painter.sequence(format_args!("\x1b[?{}h", modes.mouse_tracking.number()));
        }
        if modes.mouse_encoding != MouseEncoding::Bytes {
            painter.sequence(format_args!("\x1b[?{}h", modes.mouse_encoding.number()));
        }
        if modes.modify_other_keys != 0 {
            painter.sequence(format_args!("\x1b[>4;{}m", modes.modify_other_keys));
        }
        if modes.cursor_style != 0 {
            painter.sequence(format_args!("\x1b[{} q", modes.cursor_style));
        }
    }

    /// Shows the picture and puts the cursor where it was. What was printed last is printed once
    /// more where a character may still join it.
    fn end(&mut self) {
        let screen = &self.machine.screen;
        let cursor = &screen.cursor;
        self.painter.raw(b"\x1b[?2026l");
        let row = screen.reported_row() + 1;
        let column = screen.last_printed.unwrap_or(cursor.column) + 1;
        self.painter.sequence(format_args!("\x1b[{row};{column}H"));
        match screen.last_printed {
            Some(column) => {
                self.pen(cursor);
                self.painter.last_cell(&screen.row(cursor.row)[column]);
            }
            None => {
                let has_clusters = screen.modes.is_set(Mode::GraphemeClusters);
                if !has_clusters {
                    self.painter.raw(b"\x1b[?2027h");
                }
                self.pend(cursor, screen.row(cursor.row));
                if !has_clusters {
                    self.painter.raw(b"\x1b[?2027l");
                }
                // Set before, it would keep a cluster from forming.
                if screen.modes.is_set(Mode::Insert) {
                    self.painter.raw(b"\x1b[4h");
                }
                self.pen(cursor);
            }
        }
    }
}

/// Designates sets of characters, from the usual ones or any others.
fn charsets(painter: &mut Painter, charsets: &Charsets) {
    for (set, introducer) in charsets.sets.iter().zip(b"()*+") {
        let last = match set {
            Charset::Ascii => b'B',
            Charset::LineDrawing => b'0',
        };
        painter.raw(&[0x1b, *introducer, last]);
    }
    match charsets.in_use {
        0 => painter.raw(b"\x0f"),
        1 => painter.raw(b"\x0e"),
        2 => painter.raw(b"\x1bn"),
        _ => painter.raw(b"\x1bo"),
    }
}
