//! The terminal as others see it.

use crate::event::Effects;
use crate::machine::Machine;
use crate::modes::Modes;
use crate::options::{Options, Size};
use crate::parser::Parser;
use crate::redraw::{self, RedrawOptions};
use crate::state::ScreenState;

/// A terminal without a screen.
///
/// Feeding takes time in proportion to the bytes, and in the steady state allocates nothing but
/// what it returns, rows of history apart.
#[derive(Clone, Debug)]
pub struct Terminal {
    parser: Parser,
    pub(crate) machine: Machine,
}

impl Terminal {
    /// Makes a terminal with an empty screen.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { parser: Parser::new(), machine: Machine::new(options) }
    }

    /// Takes the next bytes of the program's output; returns what is to be answered, and what
    /// happened.
    pub fn feed(&mut self, bytes: &[u8]) -> Effects {
        self.parser.feed(&mut self.machine, bytes);
        std::mem::take(&mut self.machine.effects)
    }

    /// Returns how many bytes were fed, ever.
    #[must_use]
    pub fn offset_bytes(&self) -> u64 {
        self.parser.offset_bytes()
    }

    /// Takes another size. The primary screen's text flows anew, the alternate one's is cut or
    /// filled up; margins are off afterwards. What is fed before the program knows of the new
    /// size is shown in it all the same.
    pub fn resize(&mut self, size: Size) {
        self.machine.screen.resize(size);
        self.machine.options.size = size;
    }

    /// Returns the size.
    #[must_use]
    pub fn size(&self) -> Size {
        self.machine.options.size
    }

    /// Returns the title; empty when there is none. Untrusted.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.machine.title
    }

    /// Returns the working directory that the program told last, as it wrote it. Untrusted.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        self.machine.cwd.as_deref()
    }

    /// Returns the modes.
    #[must_use]
    pub fn modes(&self) -> &Modes {
        &self.machine.screen.modes
    }

    /// Returns the keyboard flags in force.
    #[must_use]
    pub fn keyboard_flags(&self) -> u8 {
        self.machine.keyboard.flags()
    }

    /// Tells whether the alternate screen is active.
    #[must_use]
    pub fn is_alternate(&self) -> bool {
        self.machine.screen.is_alternate()
    }

    /// Returns how many answers were not given, since far more was asked than was sent.
    #[must_use]
    pub fn replies_dropped(&self) -> u64 {
        self.machine.replies_dropped
    }

    /// Returns how many rows left the screen and are kept.
    #[must_use]
    pub fn history_lines(&self) -> usize {
        self.machine.screen.history.len()
    }

    /// Returns how many rows left the screen and are gone.
    #[must_use]
    pub fn history_dropped(&self) -> u64 {
        self.machine.screen.history.dropped()
    }

    /// Returns the bytes of memory that the history takes.
    #[must_use]
    pub fn history_bytes(&self) -> usize {
        self.machine.screen.history.memory_bytes()
    }

    /// Returns the bytes of memory that cells, history and unfinished strings take, about.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.machine.screen.memory_bytes() + self.history_bytes() + self.parser.memory_bytes()
    }

    /// Returns bytes that bring any terminal of this size into this one's state; what follows in
    /// the program's output from [`Self::offset_bytes`] on continues there. With all of the
    /// history it can be stored, and fed to a new terminal later.
    #[must_use]
    pub fn redraw(&self, options: RedrawOptions) -> Vec<u8> {
        redraw::redraw(&self.machine, &self.parser, options)
    }

    /// Returns bytes that bring a terminal which showed this one back: no mode, margin, colour,
    /// link or keyboard flag stays, the primary screen is shown, the cursor is below its text.
    #[must_use]
    pub fn leave(&self) -> Vec<u8> {
        redraw::leave(&self.machine)
    }

    /// Returns everything that a redraw restores, for comparing.
    #[must_use]
    pub fn state(&self) -> ScreenState {
        ScreenState::of(&self.machine)
    }
}
