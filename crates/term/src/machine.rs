//! What the sequences do: the parser's calls become changes, answers and events.

mod answer;
mod command;
mod control;
mod mode;
mod string;

use crate::csi::Csi;
use crate::event::{Effects, EventKind, TermEvent};
use crate::history::History;
use crate::keyboard::Keyboard;
use crate::options::Options;
use crate::palette::Palette;
use crate::parser::{Sink, Terminator};
use crate::screen::Screen;

/// Most titles that are kept for later. The terminal that others follow keeps ten.
pub(crate) const MAX_TITLES: usize = 16;

/// Longest title and working directory that are kept.
pub(crate) const MAX_TITLE_BYTES: usize = 4096;

/// Most bytes of answers that were not paid for by bytes read. The queries of an agent's start
/// are answered with less than 2 KiB.
const MAX_REPLY_CREDIT: u64 = 16 * 1024;

/// A bell that follows another within so many bytes is not told again.
const BELL_QUIET_BYTES: u64 = 64;

/// The state of a terminal behind its parser.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) screen: Screen,
    pub(crate) palette: Palette,
    /// The active screen's keyboard flags.
    pub(crate) keyboard: Keyboard,
    /// The primary screen's while the alternate one is active.
    pub(crate) parked_keyboard: Option<Keyboard>,
    pub(crate) title: String,
    pub(crate) titles: Vec<String>,
    pub(crate) cwd: Option<String>,
    /// Whether a progress is shown (OSC 9;4).
    pub(crate) has_progress: bool,
    pub(crate) options: Options,
    pub(crate) effects: Effects,
    pub(crate) replies_dropped: u64,
    offset_bytes: u64,
    /// How many bytes of answers may be given: a byte read pays for one.
    reply_credit: u64,
    credited_until: u64,
    bell_quiet_until: u64,
    /// What was printed last before the sequence that is carried out now.
    printed_before: Option<usize>,
}

impl Machine {
    pub(crate) fn new(options: Options) -> Self {
        let history = History::new(options.history_max_lines, options.history_max_bytes);
        Self {
            screen: Screen::new(options.size, history),
            palette: Palette::new(options.colors),
            keyboard: Keyboard::new(),
            parked_keyboard: None,
            title: String::new(),
            titles: Vec::new(),
            cwd: None,
            has_progress: false,
            options,
            effects: Effects::default(),
            replies_dropped: 0,
            offset_bytes: 0,
            reply_credit: MAX_REPLY_CREDIT,
            credited_until: 0,
            bell_quiet_until: 0,
            printed_before: None,
        }
    }

    fn tell(&mut self, kind: EventKind) {
        self.effects.events.push(TermEvent { offset_bytes: self.offset_bytes, kind });
    }

    /// Answers, unless far more was asked than was sent.
    fn reply(&mut self, answer: &[u8]) {
        self.reply_credit += self.offset_bytes - self.credited_until;
        self.reply_credit = self.reply_credit.min(MAX_REPLY_CREDIT);
        self.credited_until = self.offset_bytes;
        match self.reply_credit.checked_sub(answer.len() as u64) {
            Some(left) => {
                self.reply_credit = left;
                self.effects.replies.extend_from_slice(answer);
            }
            None => self.replies_dropped += 1,
        }
    }

    fn ring_bell(&mut self) {
        if self.offset_bytes >= self.bell_quiet_until {
            self.tell(EventKind::BellRung);
        }
        self.bell_quiet_until = self.offset_bytes + BELL_QUIET_BYTES;
    }

    fn set_title(&mut self, title: String) {
        self.title.clone_from(&title);
        self.tell(EventKind::TitleSet(title));
    }

    fn reset(&mut self) {
        self.screen.reset();
        self.palette.reset_all();
        self.keyboard = Keyboard::new();
        self.parked_keyboard = None;
        self.title.clear();
        self.titles.clear();
        self.has_progress = false;
        self.tell(EventKind::WasReset);
    }
}

impl Sink for Machine {
    fn reached(&mut self, offset_bytes: u64) {
        self.offset_bytes = offset_bytes;
        self.printed_before = self.screen.last_printed.take();
    }

    fn print(&mut self, text: &str) {
        self.screen.print(text);
    }

    fn control(&mut self, byte: u8) {
        self.carry_out_control(byte);
    }

    fn escape(&mut self, intermediate: u8, last: u8) {
        self.carry_out_escape(intermediate, last);
    }

    fn csi(&mut self, csi: &Csi) {
        self.carry_out(csi);
    }

    fn osc(&mut self, payload: &[u8], terminator: Terminator) {
        self.carry_out_command(payload, terminator);
    }

    fn dcs(&mut self, payload: &[u8]) {
        self.carry_out_string(payload);
    }

    fn apc(&mut self, _payload: &[u8]) {
        // The one such command in use asks for graphics; silence says that there are none.
    }
}
