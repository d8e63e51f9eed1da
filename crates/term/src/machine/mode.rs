//! Setting and resetting modes.

use crate::csi::Csi;
use crate::event::EventKind;
use crate::keyboard::Keyboard;
use crate::machine::Machine;
use crate::modes::{Mode, MouseEncoding, MouseTracking};
use crate::screen::Switch;

impl Machine {
    pub(super) fn carry_out_private(&mut self, csi: &Csi) {
        match csi.last {
            b'h' | b'l' => {
                for number in csi.values() {
                    self.set_private(*number, csi.last == b'h');
                }
            }
            b'n' => self.answer_status(csi.param(0), true),
            b'u' => self.answer_keyboard(),
            b'm' if csi.param(0) == 4 => self.answer_modify_other_keys(),
            b'W' if csi.param(0) == 5 => self.screen.reset_tabs(),
            _ => (),
        }
    }

    pub(super) fn set_mode(&mut self, mode: Mode, is_set: bool) {
        self.change_mode(mode, is_set);
        if mode == Mode::Origin {
            self.screen.go_to(0, 0);
        }
    }

    pub(super) fn change_mode(&mut self, mode: Mode, is_set: bool) {
        if is_set != self.screen.modes.is_set(mode) {
            self.screen.modes.set(mode, is_set);
            self.tell(EventKind::ModeChanged { mode, is_set });
        }
    }

    fn set_private(&mut self, number: u16, is_set: bool) {
        if let Some(mode) = Mode::private(number) {
            return self.set_mode(mode, is_set);
        }
        match number {
            47 => self.switch_screen(Switch::Plain, is_set),
            1047 => self.switch_screen(Switch::Clearing, is_set),
            1049 => self.switch_screen(Switch::SavingCursor, is_set),
            1048 if is_set => self.screen.save_cursor(),
            1048 => self.screen.restore_cursor(),
            _ => self.set_mouse(number, is_set),
        }
    }

    fn switch_screen(&mut self, switch: Switch, is_alternate: bool) {
        if is_alternate == self.screen.is_alternate() {
            return;
        }
        if is_alternate {
            self.screen.enter_alternate(switch);
            let flags = std::mem::replace(&mut self.keyboard, Keyboard::new());
            self.parked_keyboard = Some(flags);
        } else {
            self.screen.leave_alternate(switch);
            self.keyboard = self.parked_keyboard.take().unwrap_or_else(Keyboard::new);
        }
        self.tell(EventKind::ScreenSwitched { is_alternate });
    }

    /// Sets how the mouse is reported: one way of each kind is in force, and any that is reset
    /// ends the reports, or their special form.
    fn set_mouse(&mut self, number: u16, is_set: bool) {
        let modes = &mut self.screen.modes;
        let before = (modes.mouse_tracking, modes.mouse_encoding);
        let tracking = MouseTracking::ALL.into_iter().find(|one| one.number() == number);
        let encoding = MouseEncoding::ALL.into_iter().find(|one| one.number() == number);
        if let Some(tracking) = tracking {
            modes.mouse_tracking = if is_set { tracking } else { MouseTracking::Off };
        }
        if let Some(encoding) = encoding {
            if is_set {
                modes.mouse_encoding = encoding;
            } else if modes.mouse_encoding == encoding {
                modes.mouse_encoding = MouseEncoding::Bytes;
            }
        }
        if before != (modes.mouse_tracking, modes.mouse_encoding) {
            self.tell(EventKind::MouseChanged);
        }
    }
}
