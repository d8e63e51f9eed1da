//! Colours that a program may set and ask for.

use std::collections::BTreeMap;

use crate::options::DefaultColors;

/// A colour of 8 bits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb {
    /// Its red part.
    pub red: u8,
    /// Its green part.
    pub green: u8,
    /// Its blue part.
    pub blue: u8,
}

/// One colour of a terminal that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorSlot {
    /// One of the 256 numbered ones.
    Indexed(u8),
    /// That of text.
    Foreground,
    /// That behind text.
    Background,
    /// That of the cursor.
    Cursor,
}

impl ColorSlot {
    /// Returns the slot of a dynamic colour's command number.
    pub(crate) fn of_command(number: usize) -> Option<Self> {
        match number {
            10 => Some(Self::Foreground),
            11 => Some(Self::Background),
            12 => Some(Self::Cursor),
            _ => None,
        }
    }

    /// Returns the command that sets the slot, up to the colour.
    pub(crate) fn command(self) -> String {
        match self {
            Self::Indexed(index) => format!("4;{index};"),
            Self::Foreground => "10;".to_owned(),
            Self::Background => "11;".to_owned(),
            Self::Cursor => "12;".to_owned(),
        }
    }
}

/// The colours that a program has set, over those that the terminal claims to have.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    defaults: DefaultColors,
    set: BTreeMap<ColorSlot, Rgb>,
}

impl Palette {
    pub(crate) fn new(defaults: DefaultColors) -> Self {
        Self { defaults, set: BTreeMap::new() }
    }

    pub(crate) fn set(&mut self, slot: ColorSlot, color: Rgb) {
        self.set.insert(slot, color);
    }

    pub(crate) fn reset(&mut self, slot: ColorSlot) {
        self.set.remove(&slot);
    }

    pub(crate) fn reset_indexed(&mut self) {
        self.set.retain(|slot, _| !matches!(slot, ColorSlot::Indexed(_)));
    }

    pub(crate) fn reset_all(&mut self) {
        self.set.clear();
    }

    /// Returns what was set.
    pub(crate) fn all_set(&self) -> impl Iterator<Item = (ColorSlot, Rgb)> {
        self.set.iter().map(|(slot, color)| (*slot, *color))
    }

    /// Returns the colour that a slot has now.
    pub(crate) fn color(&self, slot: ColorSlot) -> Rgb {
        self.set.get(&slot).copied().unwrap_or(match slot {
            ColorSlot::Indexed(index) => usual(index),
            ColorSlot::Foreground => self.defaults.foreground,
            ColorSlot::Background => self.defaults.background,
            ColorSlot::Cursor => self.defaults.cursor,
        })
    }

    /// Tells whether text is light on dark.
    pub(crate) fn is_dark(&self) -> bool {
        let light =
            |rgb: Rgb| u32::from(rgb.red) * 2 + u32::from(rgb.green) * 5 + u32::from(rgb.blue);
        light(self.color(ColorSlot::Background)) < light(self.color(ColorSlot::Foreground))
    }
}

/// The sixteen named colours as most terminals have them.
const NAMED: [u32; 16] = [
    0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5,
    0x7f_7f7f, 0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
];

/// Returns a numbered colour as nearly every terminal has it.
fn usual(index: u8) -> Rgb {
    let step = |level: u8| if level == 0 { 0 } else { 55 + 40 * level };
    match index {
        0..=15 => {
            let [_, red, green, blue] = NAMED[usize::from(index)].to_be_bytes();
            Rgb { red, green, blue }
        }
        16..=231 => {
            let cube = index - 16;
            Rgb { red: step(cube / 36), green: step(cube / 6 % 6), blue: step(cube % 6) }
        }
        232.. => {
            let grey = 8 + 10 * (index - 232);
            Rgb { red: grey, green: grey, blue: grey }
        }
    }
}

/// Reads a colour as programs write it: `rgb:h/h/h` of one to four digits each, or `#` with three
/// equal parts of as many.
pub(crate) fn parse(text: &str) -> Option<Rgb> {
    if let Some(parts) = text.strip_prefix("rgb:") {
        let mut channels = parts.split('/').map(scaled);
        let rgb = Rgb { red: channels.next()??, green: channels.next()??, blue: channels.next()?? };
        return channels.next().is_none().then_some(rgb);
    }
    let digits = text.strip_prefix('#')?;
    let len = digits.len() / 3;
    if !digits.is_ascii() || !digits.len().is_multiple_of(3) || !(1..=4).contains(&len) {
        return None;
    }
    // Here digits are the upper ones of the value: `#f00` is `f0`, not `ff`.
    let channel = |at: usize| {
        let value = u32::from_str_radix(&digits[at * len..(at + 1) * len], 16).ok()?;
        let wide = value << (16 - 4 * len);
        u8::try_from(wide >> 8).ok()
    };
    Some(Rgb { red: channel(0)?, green: channel(1)?, blue: channel(2)? })
}

fn scaled(digits: &str) -> Option<u8> {
    if !(1..=4).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let max = (1_u32 << (4 * digits.len())) - 1;
    u8::try_from(255 * u32::from_str_radix(digits, 16).ok()? / max).ok()
}

impl std::fmt::Display for Rgb {
    /// Writes it as terminals answer it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { red, green, blue } = self;
        write!(f, "rgb:{red:02x}{red:02x}/{green:02x}{green:02x}/{blue:02x}{blue:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Rgb, parse};

    fn check(text: &str, expected: Option<[u8; 3]>) {
        let rgb = expected.map(|[red, green, blue]| Rgb { red, green, blue });
        assert_eq!(parse(text), rgb, "{text}");
    }

    #[test]
    fn a_colour_is_read_in_every_usual_form() {
        check("rgb:f/0/8", Some([255, 0, 136]));
        check("rgb:dddd/1111/00ff", Some([0xdd, 0x11, 0x00]));
        check("#ff8000", Some([255, 128, 0]));
        check("#f80", Some([0xf0, 0x80, 0]));
        check("#ffff80000000", Some([255, 128, 0]));
        check("rgb:1/2", None);
        check("rgb:1/2/3/4", None);
        check("rgb:+1/2/3", None);
        check("#12345", None);
        check("red", None);
    }

    #[test]
    fn what_is_written_is_read() {
        let rgb = Rgb { red: 1, green: 0x80, blue: 0xfe };
        assert_eq!(parse(&rgb.to_string()), Some(rgb));
    }
}
