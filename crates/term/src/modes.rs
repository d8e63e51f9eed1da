//! The modes that a program may set.

/// A mode that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Cursor keys send application sequences (`?1`).
    ApplicationCursor,
    /// Foreground and background change places on the whole screen (`?5`).
    ReverseVideo,
    /// Rows count from the top margin (`?6`).
    Origin,
    /// Text goes on in the next row (`?7`).
    AutoWrap,
    /// The cursor blinks (`?12`).
    BlinkingCursor,
    /// The cursor is shown (`?25`).
    ShowCursor,
    /// The keypad sends application sequences (`?66`, `ESC =`).
    ApplicationKeypad,
    /// Focus changes are reported (`?1004`).
    FocusEvents,
    /// The wheel sends cursor keys on the alternate screen (`?1007`).
    AlternateScroll,
    /// Pasted text is bracketed (`?2004`).
    BracketedPaste,
    /// Output is to be shown at once when it is complete (`?2026`).
    SynchronizedOutput,
    /// Clusters take the width of what they show (`?2027`); set from the start.
    GraphemeClusters,
    /// Changes between dark and light are reported (`?2031`).
    ColorSchemeEvents,
    /// Text moves what is right of it (`4`).
    Insert,
    /// A line feed returns the carriage too (`20`).
    LineFeedNewLine,
}

impl Mode {
    /// Every mode, in the order in which they are restored.
    pub(crate) const ALL: [Self; 15] = [
        Self::ApplicationCursor,
        Self::ReverseVideo,
        Self::Origin,
        Self::AutoWrap,
        Self::BlinkingCursor,
        Self::ShowCursor,
        Self::ApplicationKeypad,
        Self::FocusEvents,
        Self::AlternateScroll,
        Self::BracketedPaste,
        Self::SynchronizedOutput,
        Self::GraphemeClusters,
        Self::ColorSchemeEvents,
        Self::Insert,
        Self::LineFeedNewLine,
    ];

    /// Returns its number, and whether that is a private one.
    pub(crate) fn number(self) -> (u16, bool) {
        match self {
            Self::ApplicationCursor => (1, true),
            Self::ReverseVideo => (5, true),
            Self::Origin => (6, true),
            Self::AutoWrap => (7, true),
            Self::BlinkingCursor => (12, true),
            Self::ShowCursor => (25, true),
            Self::ApplicationKeypad => (66, true),
            Self::FocusEvents => (1004, true),
            Self::AlternateScroll => (1007, true),
            Self::BracketedPaste => (2004, true),
            Self::SynchronizedOutput => (2026, true),
            Self::GraphemeClusters => (2027, true),
            Self::ColorSchemeEvents => (2031, true),
            Self::Insert => (4, false),
            Self::LineFeedNewLine => (20, false),
        }
    }

    /// Returns the mode of a private number.
    pub(crate) fn private(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.number() == (number, true))
    }

    /// Returns the mode of a standard number.
    pub(crate) fn standard(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.number() == (number, false))
    }

    fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// What the mouse reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseTracking {
    /// Nothing.
    #[default]
    Off,
    /// Presses (`?9`).
    Presses,
    /// Presses and releases (`?1000`).
    Clicks,
    /// And moves with a button down (`?1002`).
    Drags,
    /// And all moves (`?1003`).
    Moves,
}

impl MouseTracking {
    /// Every form but off.
    pub(crate) const ALL: [Self; 4] = [Self::Presses, Self::Clicks, Self::Drags, Self::Moves];

    /// Returns the number that sets it; 0 for off.
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Off => 0,
            Self::Presses => 9,
            Self::Clicks => 1000,
            Self::Drags => 1002,
            Self::Moves => 1003,
        }
    }
}

/// How the mouse's reports are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseEncoding {
    /// In single bytes.
    #[default]
    Bytes,
    /// In UTF-8 (`?1005`).
    Utf8,
    /// In decimal (`?1006`).
    Sgr,
    /// In decimal, the older way (`?1015`).
    Urxvt,
    /// In decimal pixels (`?1016`).
    SgrPixels,
}

impl MouseEncoding {
    /// Every encoding but the plain one.
    pub(crate) const ALL: [Self; 4] = [Self::Utf8, Self::Sgr, Self::Urxvt, Self::SgrPixels];

    /// Returns the number that sets it; 0 for the plain one.
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Bytes => 0,
            Self::Utf8 => 1005,
            Self::Sgr => 1006,
            Self::Urxvt => 1015,
            Self::SgrPixels => 1016,
        }
    }
}

/// All modes of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    bits: u16,
    /// What the mouse reports.
    pub mouse_tracking: MouseTracking,
    /// How it does.
    pub mouse_encoding: MouseEncoding,
    /// How many other keys than the usual are reported (`CSI > 4 ; n m`): 0, 1 or 2.
    pub modify_other_keys: u8,
    /// The cursor's look (`CSI n SP q`): 0 is the terminal's own, up to 6.
    pub cursor_style: u8,
}

impl Default for Modes {
    fn default() -> Self {
        let bits = Mode::AutoWrap.bit() | Mode::ShowCursor.bit() | Mode::GraphemeClusters.bit();
        Self {
            bits,
            mouse_tracking: MouseTracking::Off,
            mouse_encoding: MouseEncoding::Bytes,
            modify_other_keys: 0,
            cursor_style: 0,
        }
    }
}

impl Modes {
    /// Tells whether a mode is on.
    #[must_use]
    pub fn is_set(&self, mode: Mode) -> bool {
        self.bits & mode.bit() != 0
    }

    pub(crate) fn set(&mut self, mode: Mode, is_set: bool) {
        if is_set {
            self.bits |= mode.bit();
        } else {
            self.bits &= !mode.bit();
        }
    }
}
