//! Control characters, escape sequences, and control sequences that move, erase or ask.

use crate::csi::Csi;
use crate::event::EventKind;
use crate::machine::{MAX_TITLES, Machine};
use crate::modes::Mode;
use crate::screen::{Charset, Part};
use crate::sgr;

impl Machine {
    pub(super) fn carry_out_control(&mut self, byte: u8) {
        let screen = &mut self.screen;
        match byte {
            0x07 => self.ring_bell(),
            0x08 => {
                let column = screen.cursor.column;
                if column > 0 {
                    screen.go_to_column(column - 1);
                }
            }
            b'\t' => screen.tab_forward(1),
            b'\n' | 0x0b | 0x0c => {
                screen.line_feed();
                if screen.modes.is_set(Mode::LineFeedNewLine) {
                    screen.go_to_column(0);
                }
            }
            b'\r' => screen.go_to_column(0),
            0x0e => screen.cursor.charsets.in_use = 1,
            0x0f => screen.cursor.charsets.in_use = 0,
            _ => (),
        }
    }

    pub(super) fn carry_out_escape(&mut self, intermediate: u8, last: u8) {
        let screen = &mut self.screen;
        match (intermediate, last) {
            (0, b'7') => screen.save_cursor(),
            (0, b'8') => screen.restore_cursor(),
            (b'#', b'8') => screen.fill_for_alignment(),
            (0, b'D') => screen.line_feed(),
            (0, b'E') => {
                screen.line_feed();
                screen.go_to_column(0);
            }
            (0, b'H') => {
                let column = screen.cursor.column;
                screen.tabs[column] = true;
            }
            (0, b'M') => screen.reverse_line_feed(),
            (0, b'Z') => self.answer_attributes(0),
            (0, b'c') => self.reset(),
            (0, b'=') => self.set_mode(Mode::ApplicationKeypad, true),
            (0, b'>') => self.set_mode(Mode::ApplicationKeypad, false),
            (0, b'n') => screen.cursor.charsets.in_use = 2,
            (0, b'o') => screen.cursor.charsets.in_use = 3,
            (b'(' | b')' | b'*' | b'+', _) => {
                let set = match last {
                    b'0' => Charset::LineDrawing,
                    _ => Charset::Ascii,
                };
                screen.cursor.charsets.sets[usize::from(intermediate - b'(')] = set;
            }
            _ => (),
        }
    }

    pub(super) fn carry_out(&mut self, csi: &Csi) {
        match (csi.marker, csi.intermediate) {
            (0, 0) => self.carry_out_plain(csi),
            (b'?', 0) => self.carry_out_private(csi),
            (b'>', 0) => self.carry_out_extended(csi),
            (b'=', 0) => match csi.last {
                b'c' => self.answer_attributes(b'='),
                b'u' => self.change_keyboard(|keys| keys.change(csi.param(0), csi.param(1))),
                _ => (),
            },
            (b'<', 0) if csi.last == b'u' => {
                self.change_keyboard(|keys| keys.pop(csi.count(0)));
            }
            (0, b' ') if csi.last == b'q' => {
                if let Ok(style @ 0..=6) = u8::try_from(csi.param(0)) {
                    self.screen.modes.cursor_style = style;
                }
            }
            (0, b'!') if csi.last == b'p' => self.soft_reset(),
            (0, b'$') if csi.last == b'p' => self.answer_mode(csi.param(0), false),
            (b'?', b'$') if csi.last == b'p' => self.answer_mode(csi.param(0), true),
            _ => (),
        }
    }

    fn carry_out_plain(&mut self, csi: &Csi) {
        let printed = self.printed_before.take();
        let screen = &mut self.screen;
        let row = screen.cursor.row;
        match csi.last {
            b'A' => screen.go_up(csi.count(0)),
            b'B' | b'e' => screen.go_down(csi.count(0)),
            b'C' | b'a' => {
                let column = screen.cursor.column;
                screen.go_to_column(column.saturating_add(csi.count(0)));
            }
            b'D' => {
                let column = screen.cursor.column;
                screen.go_to_column(column.saturating_sub(csi.count(0)));
            }
            b'E' => {
                screen.go_down(csi.count(0));
                screen.go_to_column(0);
            }
            b'F' => {
                screen.go_up(csi.count(0));
                screen.go_to_column(0);
            }
            b'G' | b'`' => screen.go_to_column(csi.count(0) - 1),
            b'H' | b'f' => screen.go_to(csi.count(0) - 1, csi.count(1) - 1),
            b'd' => {
                let column = screen.cursor.column;
                screen.go_to(csi.count(0) - 1, column);
            }
            b'I' => screen.tab_forward(csi.count(0)),
            b'Z' => screen.tab_backward(csi.count(0)),
            b'J' if csi.param(0) == 3 => screen.history.clear(),
            b'J' => part(csi).into_iter().for_each(|part| screen.erase_in_screen(part)),
            b'K' => part(csi).into_iter().for_each(|part| screen.erase_in_row(part)),
            b'@' => screen.insert_cells(csi.count(0)),
            b'P' => screen.delete_cells(csi.count(0)),
            b'X' => screen.erase_some(csi.count(0)),
            b'L' => screen.insert_rows(csi.count(0)),
            b'M' => screen.delete_rows(csi.count(0)),
            b'S' => screen.scroll_up(screen.margins.clone(), csi.count(0)),
            b'T' => screen.scroll_down(screen.margins.clone(), csi.count(0)),
            b'b' => screen.repeat(printed, csi.count(0)),
            b'g' if csi.param(0) == 0 => {
                let column = screen.cursor.column;
                screen.tabs[column] = false;
            }
            b'g' if csi.param(0) == 3 => screen.tabs.fill(false),
            b'm' => sgr::apply(&mut screen.cursor.pen, csi),
            b'r' => {
                let last = match csi.param(1) {
                    0 => screen.lines(),
                    last => usize::from(last),
                };
                screen.set_margins(csi.count(0) - 1, last - 1);
            }
            b's' => screen.save_cursor(),
            b'u' => screen.restore_cursor(),
            b'h' | b'l' => csi.values().iter().for_each(|number| {
                if let Some(mode) = Mode::standard(*number) {
                    self.set_mode(mode, csi.last == b'h');
                }
            }),
            b'c' if csi.param(0) == 0 => self.answer_attributes(0),
            b'n' => self.answer_status(csi.param(0), false),
            b't' => self.carry_out_window(csi),
            _ => (),
        }
        if row == self.screen.cursor.row {
            self.screen.settle_wrap();
        }
    }

    fn carry_out_window(&mut self, csi: &Csi) {
        let is_title = matches!(csi.param(1), 0 | 2);
        match csi.param(0) {
            22 if is_title => {
                if self.titles.len() == MAX_TITLES {
                    self.titles.remove(0);
                }
                self.titles.push(self.title.clone());
            }
            23 if is_title => {
                if let Some(title) = self.titles.pop() {
                    self.set_title(title);
                }
            }
            what => self.answer_window(what),
        }
    }

    fn carry_out_extended(&mut self, csi: &Csi) {
        match csi.last {
            b'c' if csi.param(0) == 0 => self.answer_attributes(b'>'),
            b'q' if csi.param(0) == 0 => self.answer_version(),
            b'u' => self.change_keyboard(|keys| keys.push(csi.param(0))),
            b'm' if csi.param(0) == 4 => {
                self.screen.modes.modify_other_keys =
                    u8::try_from(csi.param(1).min(2)).unwrap_or(0);
            }
            b'm' if csi.values().is_empty() => self.screen.modes.modify_other_keys = 0,
            b'n' if csi.param(0) == 4 => self.screen.modes.modify_other_keys = 0,
            _ => (),
        }
    }

    pub(super) fn change_keyboard(&mut self, change: impl FnOnce(&mut crate::keyboard::Keyboard)) {
        let before = self.keyboard.flags();
        change(&mut self.keyboard);
        let flags = self.keyboard.flags();
        if flags != before {
            self.tell(EventKind::KeyboardChanged { flags });
        }
    }

    /// Resets what gets in a program's way, and leaves the text.
    fn soft_reset(&mut self) {
        for (mode, is_set) in [
            (Mode::Insert, false),
            (Mode::Origin, false),
            (Mode::AutoWrap, true),
            (Mode::ShowCursor, true),
            (Mode::ApplicationCursor, false),
            (Mode::ApplicationKeypad, false),
        ] {
            self.change_mode(mode, is_set);
        }
        let screen = &mut self.screen;
        screen.margins = 0..screen.lines();
        screen.cursor.pen = Default::default();
        screen.cursor.charsets = Default::default();
        screen.saved = Default::default();
    }
}

fn part(csi: &Csi) -> Option<Part> {
    match csi.param(0) {
        0 => Some(Part::After),
        1 => Some(Part::Before),
        2 => Some(Part::All),
        _ => None,
    }
}
