//! Operating system commands.

use alacritty_terminal::term::cell::Hyperlink;

use crate::event::EventKind;
use crate::machine::{MAX_TITLE_BYTES, Machine};
use crate::palette::{self, ColorSlot};
use crate::parser::Terminator;
use crate::style::link;

/// Longest link that is kept: what browsers take at least. A longer one is no link.
const MAX_LINK_BYTES: usize = 2083;

/// Longest name of a link that is kept.
const MAX_LINK_ID_BYTES: usize = 256;

impl Machine {
    pub(super) fn carry_out_command(&mut self, payload: &[u8], terminator: Terminator) {
        let digits = payload.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = payload.split_at(digits);
        let code = std::str::from_utf8(number).ok().and_then(|text| text.parse::<u32>().ok());
        let rest = match rest {
            [b';', rest @ ..] => rest,
            [] => rest,
            _ => return,
        };
        let Some(code) = code else { return };
        match code {
            0 | 2 => self.set_title(bounded(rest)),
            4 => self.indexed_colors(rest, terminator),
            7 => {
                let cwd = bounded(rest);
                self.cwd = (!cwd.is_empty()).then(|| cwd.clone());
                self.tell(EventKind::CwdTold(cwd));
            }
            8 => self.set_link(rest),
            10..=12 => self.dynamic_colors(code, rest, terminator),
            104 if rest.is_empty() => self.palette.reset_indexed(),
            104 => {
                for index in rest.split(|byte| *byte == b';').filter_map(number_of) {
                    self.palette.reset(ColorSlot::Indexed(index));
                }
            }
            110..=112 => {
                let number = usize::try_from(code - 100).ok();
                if let Some(slot) = number.and_then(ColorSlot::of_command) {
                    self.palette.reset(slot);
                }
            }
            7501 if rest == b"?" => {
                self.reply(&[b"\x1b]7501;?", terminator.as_bytes()].concat());
            }
            _ => {
                if code == 9 && rest.starts_with(b"4;") {
                    self.has_progress = rest.get(2).is_some_and(|state| *state != b'0');
                }
                self.tell(EventKind::OscReceived { code, payload: rest.to_vec() });
            }
        }
    }

    fn indexed_colors(&mut self, rest: &[u8], terminator: Terminator) {
        let mut parts = rest.split(|byte| *byte == b';');
        while let (Some(index), Some(color)) = (parts.next(), parts.next()) {
            if let Some(index) = number_of(index) {
                self.color(ColorSlot::Indexed(index), color, terminator);
            }
        }
    }

    /// Sets or tells the colours from one on: text, background, cursor.
    fn dynamic_colors(&mut self, code: u32, rest: &[u8], terminator: Terminator) {
        let first = usize::try_from(code).unwrap_or(usize::MAX);
        for (more, color) in rest.split(|byte| *byte == b';').enumerate() {
            let Some(slot) = ColorSlot::of_command(first.saturating_add(more)) else { return };
            self.color(slot, color, terminator);
        }
    }

    fn color(&mut self, slot: ColorSlot, color: &[u8], terminator: Terminator) {
        if color == b"?" {
            let mut answer = format!("\x1b]{}{}", slot.command(), self.palette.color(slot));
            answer.push_str(std::str::from_utf8(terminator.as_bytes()).unwrap_or_default());
            self.reply(answer.as_bytes());
        } else if let Some(rgb) = std::str::from_utf8(color).ok().and_then(palette::parse) {
            self.palette.set(slot, rgb);
        }
    }

    fn set_link(&mut self, rest: &[u8]) {
        let Some(at) = rest.iter().position(|byte| *byte == b';') else { return };
        let (keys, uri) = (&rest[..at], &rest[at + 1..]);
        let pen = &mut self.screen.cursor.pen;
        if uri.is_empty() || uri.len() > MAX_LINK_BYTES {
            return pen.set_hyperlink(None);
        }
        let mut keys = keys.split(|byte| *byte == b':');
        let id = keys.find_map(|key| key.strip_prefix(b"id=")).unwrap_or_default();
        let id = if id.len() > MAX_LINK_ID_BYTES { &[] } else { id };
        let opened = Hyperlink::new(Some(bounded(id)), bounded(uri));
        pen.set_hyperlink(Some(opened.clone()));
        self.tell(EventKind::LinkOpened(link(&opened)));
    }
}

fn number_of(text: &[u8]) -> Option<u8> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// Returns text without controls, as long as is kept.
fn bounded(bytes: &[u8]) -> String {
    let mut kept = String::new();
    for c in String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()) {
        if kept.len() + c.len_utf8() > MAX_TITLE_BYTES {
            break;
        }
        kept.push(c);
    }
    kept
}
