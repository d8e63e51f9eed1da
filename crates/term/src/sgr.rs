//! Reading and writing how text looks (`CSI … m`).

use std::io::Write as _;

use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, Rgb};

use crate::csi::Csi;
use crate::style::{BLINK, DEFAULT_BACKGROUND, DEFAULT_FOREGROUND, Look};

/// Changes a pen as a sequence says.
pub(crate) fn apply(pen: &mut Cell, csi: &Csi) {
    if csi.values().is_empty() {
        return reset(pen);
    }
    let mut groups = csi.groups();
    while let Some(group) = groups.next() {
        match *group {
            [38 | 48 | 58] => {
                let Some(color) = color(&mut groups.by_ref().map(|group| group[0])) else {
                    continue;
                };
                set_color(pen, group[0], color);
            }
            [which @ (38 | 48 | 58), ref rest @ ..] => {
                // `38:2:space:r:g:b` and, wrongly but often, `38:2:r:g:b`.
                let skipped = if rest.first() == Some(&2) && rest.len() > 4 { 1 } else { 0 };
                let values = rest.iter().take(1).chain(rest.iter().skip(1 + skipped));
                if let Some(color) = color(&mut values.copied()) {
                    set_color(pen, which, color);
                }
            }
            ref other => apply_simple(pen, other),
        }
    }
}

fn apply_simple(pen: &mut Cell, group: &[u16]) {
    let indexed = |value: u16, base: u16, first: u8| {
        Color::Indexed(u8::try_from(value - base).unwrap_or(0) + first)
    };
    match *group {
        [0] => reset(pen),
        [1] => pen.flags.insert(Flags::BOLD),
        [2] => pen.flags.insert(Flags::DIM),
        [3] => pen.flags.insert(Flags::ITALIC),
        [4, 0] | [24] => pen.flags.remove(Flags::ALL_UNDERLINES),
        [4, 2] | [21] => underline(pen, Flags::DOUBLE_UNDERLINE),
        [4, 3] => underline(pen, Flags::UNDERCURL),
        [4, 4] => underline(pen, Flags::DOTTED_UNDERLINE),
        [4, 5] => underline(pen, Flags::DASHED_UNDERLINE),
        [4, ..] => underline(pen, Flags::UNDERLINE),
        [5 | 6] => pen.flags.insert(BLINK),
        [7] => pen.flags.insert(Flags::INVERSE),
        [8] => pen.flags.insert(Flags::HIDDEN),
        [9] => pen.flags.insert(Flags::STRIKEOUT),
        [22] => pen.flags.remove(Flags::DIM_BOLD),
        [23] => pen.flags.remove(Flags::ITALIC),
        [25] => pen.flags.remove(BLINK),
        [27] => pen.flags.remove(Flags::INVERSE),
        [28] => pen.flags.remove(Flags::HIDDEN),
        [29] => pen.flags.remove(Flags::STRIKEOUT),
        [value @ 30..=37] => pen.fg = indexed(value, 30, 0),
        [39] => pen.fg = DEFAULT_FOREGROUND,
        [value @ 40..=47] => pen.bg = indexed(value, 40, 0),
        [49] => pen.bg = DEFAULT_BACKGROUND,
        [59] => pen.set_underline_color(None),
        [value @ 90..=97] => pen.fg = indexed(value, 90, 8),
        [value @ 100..=107] => pen.bg = indexed(value, 100, 8),
        _ => (),
    }
}

/// Resets all but the link, which has a command of its own.
fn reset(pen: &mut Cell) {
    pen.fg = DEFAULT_FOREGROUND;
    pen.bg = DEFAULT_BACKGROUND;
    pen.flags = Flags::empty();
    if pen.extra.is_some() {
        pen.set_underline_color(None);
    }
}

fn underline(pen: &mut Cell, kind: Flags) {
    pen.flags.remove(Flags::ALL_UNDERLINES);
    pen.flags.insert(kind);
}

fn set_color(pen: &mut Cell, which: u16, color: Color) {
    match which {
        38 => pen.fg = color,
        48 => pen.bg = color,
        _ => pen.set_underline_color(Some(color)),
    }
}

fn color(values: &mut dyn Iterator<Item = u16>) -> Option<Color> {
    match values.next()? {
        2 => Some(Color::Spec(Rgb {
            r: u8::try_from(values.next()?).ok()?,
            g: u8::try_from(values.next()?).ok()?,
            b: u8::try_from(values.next()?).ok()?,
        })),
        5 => Some(Color::Indexed(u8::try_from(values.next()?).ok()?)),
        _ => None,
    }
}

/// Appends the parameters that make any pen this look, links apart: what `CSI … m` holds.
pub(crate) fn write_parameters(out: &mut Vec<u8>, look: &Look) {
    out.push(b'0');
    let simple: [(Flags, &[u8]); 12] = [
        (Flags::BOLD, b";1"),
        (Flags::DIM, b";2"),
        (Flags::ITALIC, b";3"),
        (Flags::UNDERLINE, b";4"),
        (Flags::DOUBLE_UNDERLINE, b";4:2"),
        (Flags::UNDERCURL, b";4:3"),
        (Flags::DOTTED_UNDERLINE, b";4:4"),
        (Flags::DASHED_UNDERLINE, b";4:5"),
        (BLINK, b";5"),
        (Flags::INVERSE, b";7"),
        (Flags::HIDDEN, b";8"),
        (Flags::STRIKEOUT, b";9"),
    ];
    for (flag, code) in simple {
        if look.flags.contains(flag) {
            out.extend_from_slice(code);
        }
    }
    write_color(out, look.foreground, 30);
    write_color(out, look.background, 40);
    match look.underline_color {
        Some(Color::Indexed(index)) => append(out, format_args!(";58:5:{index}")),
        Some(Color::Spec(Rgb { r, g, b })) => append(out, format_args!(";58:2::{r}:{g}:{b}")),
        _ => (),
    }
}

fn write_color(out: &mut Vec<u8>, color: Color, base: u16) {
    match color {
        Color::Indexed(index @ 0..=7) => append(out, format_args!(";{}", base + u16::from(index))),
        Color::Indexed(index @ 8..=15) => {
            append(out, format_args!(";{}", base + 52 + u16::from(index)));
        }
        Color::Indexed(index) => append(out, format_args!(";{};5;{index}", base + 8)),
        Color::Spec(Rgb { r, g, b }) => append(out, format_args!(";{};2;{r};{g};{b}", base + 8)),
        Color::Named(_) => (),
    }
}

/// Appends formatted text; writing to memory can't fail.
pub(crate) fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes every byte");
}
