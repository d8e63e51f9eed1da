//! What programs ask, and what they are told. They ask at their start, and some wait for it.
//!
//! Not answered on purpose: questions for graphics, clipboard contents, the title, notifications
//! and other vendors' features. For those silence is the agreed way to say no; what is asked with
//! them, the terminal's attributes, is answered.

use crate::machine::Machine;
use crate::modes::{Mode, MouseEncoding, MouseTracking};

impl Machine {
    /// Tells what kind of terminal this is.
    pub(super) fn answer_attributes(&mut self, marker: u8) {
        match marker {
            // A VT220 with colours.
            0 => self.reply(b"\x1b[?62;22c"),
            b'>' => self.reply(b"\x1b[>1;10;0c"),
            _ => self.reply(b"\x1bP!|00000000\x1b\\"),
        }
    }

    pub(super) fn answer_version(&mut self) {
        self.reply(concat!("\x1bP>|creel ", env!("CARGO_PKG_VERSION"), "\x1b\\").as_bytes());
    }

    pub(super) fn answer_status(&mut self, what: u16, is_private: bool) {
        let row = self.screen.reported_row() + 1;
        let column = self.screen.cursor.column + 1;
        let scheme = if self.palette.is_dark() { 1 } else { 2 };
        match (what, is_private) {
            (5, false) => self.reply(b"\x1b[0n"),
            (6, false) => self.reply(format!("\x1b[{row};{column}R").as_bytes()),
            (6, true) => self.reply(format!("\x1b[?{row};{column};1R").as_bytes()),
            (996, true) => self.reply(format!("\x1b[?997;{scheme}n").as_bytes()),
            _ => (),
        }
    }

    /// Tells whether a mode is set (1), reset (2) or unknown (0).
    pub(super) fn answer_mode(&mut self, number: u16, is_private: bool) {
        let state = match self.is_mode_set(number, is_private) {
            None => 0,
            Some(true) => 1,
            Some(false) => 2,
        };
        let marker = if is_private { "?" } else { "" };
        self.reply(format!("\x1b[{marker}{number};{state}$y").as_bytes());
    }

    fn is_mode_set(&self, number: u16, is_private: bool) -> Option<bool> {
        let modes = &self.screen.modes;
        if !is_private {
            return Mode::standard(number).map(|mode| modes.is_set(mode));
        }
        if let Some(mode) = Mode::private(number) {
            return Some(modes.is_set(mode));
        }
        if MouseTracking::ALL.iter().any(|one| one.number() == number) {
            return Some(modes.mouse_tracking.number() == number);
        }
        if MouseEncoding::ALL.iter().any(|one| one.number() == number) {
            return Some(modes.mouse_encoding.number() == number);
        }
        matches!(number, 47 | 1047 | 1049).then(|| self.screen.is_alternate())
    }

    pub(super) fn answer_keyboard(&mut self) {
        let flags = self.keyboard.flags();
        self.reply(format!("\x1b[?{flags}u").as_bytes());
    }

    pub(super) fn answer_modify_other_keys(&mut self) {
        let keys = self.screen.modes.modify_other_keys;
        self.reply(format!("\x1b[>4;{keys}m").as_bytes());
    }

    pub(super) fn answer_window(&mut self, what: u16) {
        let (columns, lines) = (self.screen.columns(), self.screen.lines());
        let width = usize::from(self.options.cell_pixels.width);
        let height = usize::from(self.options.cell_pixels.height);
        match what {
            14 => {
                let (height, width) = (height * lines, width * columns);
                self.reply(format!("\x1b[4;{height};{width}t").as_bytes());
            }
            16 => self.reply(format!("\x1b[6;{height};{width}t").as_bytes()),
            18 => self.reply(format!("\x1b[8;{lines};{columns}t").as_bytes()),
            _ => (),
        }
    }
}
