//! What a terminal tells besides what it shows.

use crate::modes::Mode;
use crate::style::Link;

/// What came of some bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// To be written to the program, as it is: answers to what it asked, in the order asked.
    pub replies: Vec<u8>,
    /// What happened, in order.
    pub events: Vec<TermEvent>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermEvent {
    /// How many bytes of the stream had been read then, those that tell of it included.
    pub offset_bytes: u64,
    /// What it was.
    pub kind: EventKind,
}

/// What happened. All text is untrusted: the program wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The bell was rung. Rings within 64 bytes of the last one are not told.
    BellRung,
    /// The title was set, perhaps to what it was.
    TitleSet(String),
    /// The program told its working directory (OSC 7), as a URL or path.
    CwdTold(String),
    /// Text from here on is a link.
    LinkOpened(Link),
    /// A command that is not for the screen came: status, progress, notifications, clipboard and
    /// whatever else. The payload is what followed the number and its semicolon, at most 64 KiB.
    OscReceived {
        /// Its number.
        code: u32,
        /// The rest of it.
        payload: Vec<u8>,
    },
    /// A mode was changed.
    ModeChanged {
        /// Which.
        mode: Mode,
        /// To what.
        is_set: bool,
    },
    /// The mouse is reported otherwise.
    MouseChanged,
    /// The other screen was taken.
    ScreenSwitched {
        /// Whether it is the alternate one.
        is_alternate: bool,
    },
    /// The keyboard's flags are others.
    KeyboardChanged {
        /// Those in force.
        flags: u8,
    },
    /// Everything was reset.
    WasReset,
}
