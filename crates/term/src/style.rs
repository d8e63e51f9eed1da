//! How a cell looks.

use alacritty_terminal::term::cell::{Cell, Flags, Hyperlink};
use alacritty_terminal::vte::ansi::{Color as CellColor, NamedColor, Rgb as CellRgb};

use crate::palette::Rgb;

/// Blinking text has no flag in the grid's cells, which have one bit to spare.
pub(crate) const BLINK: Flags = Flags::from_bits_retain(1 << 15);

/// The flags that a pen sets; the others tell what a cell is a part of.
pub(crate) fn look_flags(flags: Flags) -> Flags {
    flags.difference(
        Flags::WRAPLINE
            .union(Flags::WIDE_CHAR)
            .union(Flags::WIDE_CHAR_SPACER)
            .union(Flags::LEADING_WIDE_CHAR_SPACER),
    )
}

/// The colour of text, or behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// The terminal's own.
    #[default]
    Default,
    /// One of the 256 numbered ones.
    Indexed(u8),
    /// A colour by its parts.
    Rgb(Rgb),
}

/// A line below text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Underline {
    /// None.
    #[default]
    None,
    /// One line.
    Single,
    /// Two lines.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    /// Dashes.
    Dashed,
}

/// A set of the properties that are on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes(u8);

impl Attributes {
    /// Bold.
    pub const BOLD: Self = Self(1);
    /// Dim.
    pub const DIM: Self = Self(2);
    /// Italic.
    pub const ITALIC: Self = Self(4);
    /// Blinking.
    pub const BLINK: Self = Self(8);
    /// Foreground and background change places.
    pub const INVERSE: Self = Self(16);
    /// Not shown.
    pub const HIDDEN: Self = Self(32);
    /// Struck out.
    pub const STRIKE: Self = Self(64);

    /// Tells whether all of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A link that text carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What the program named it by, so that its parts belong together; empty when it did not.
    pub id: String,
    /// Where it leads. Untrusted.
    pub uri: String,
}

/// How a cell looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The colour of text.
    pub foreground: Color,
    /// The colour behind it.
    pub background: Color,
    /// Bold and the like.
    pub attributes: Attributes,
    /// A line below.
    pub underline: Underline,
    /// That line's colour; the text's when it is the default.
    pub underline_color: Color,
    /// Where it leads.
    pub link: Option<Link>,
}

/// The look of a cell as the grid has it: cheap to compare and to keep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Look {
    pub(crate) foreground: CellColor,
    pub(crate) background: CellColor,
    pub(crate) flags: Flags,
    pub(crate) underline_color: Option<CellColor>,
    pub(crate) link: Option<Hyperlink>,
}

impl Look {
    pub(crate) fn of(cell: &Cell) -> Self {
        Self {
            foreground: cell.fg,
            background: cell.bg,
            flags: look_flags(cell.flags),
            underline_color: cell.underline_color(),
            link: cell.hyperlink(),
        }
    }

    /// Tells whether a cell looks like this, without making its look.
    pub(crate) fn is_of(&self, cell: &Cell) -> bool {
        self.foreground == cell.fg
            && self.background == cell.bg
            && self.flags == look_flags(cell.flags)
            && match &cell.extra {
                None => self.underline_color.is_none() && self.link.is_none(),
                Some(_) => {
                    self.underline_color == cell.underline_color() && self.link == cell.hyperlink()
                }
            }
    }

    pub(crate) fn apply(&self, cell: &mut Cell) {
        cell.fg = self.foreground;
        cell.bg = self.background;
        cell.flags = cell.flags.difference(look_flags(cell.flags)).union(self.flags);
        if cell.extra.is_some() || self.underline_color.is_some() {
            cell.set_underline_color(self.underline_color);
        }
        if cell.extra.is_some() || self.link.is_some() {
            cell.set_hyperlink(self.link.clone());
        }
    }
}

impl Default for Look {
    fn default() -> Self {
        Self::of(&Cell::default())
    }
}

impl From<&Look> for Style {
    fn from(look: &Look) -> Self {
        let has = |flag: Flags| look.flags.contains(flag);
        let attributes = [
            (Flags::BOLD, Attributes::BOLD),
            (Flags::DIM, Attributes::DIM),
            (Flags::ITALIC, Attributes::ITALIC),
            (BLINK, Attributes::BLINK),
            (Flags::INVERSE, Attributes::INVERSE),
            (Flags::HIDDEN, Attributes::HIDDEN),
            (Flags::STRIKEOUT, Attributes::STRIKE),
        ];
        let set = attributes.iter().filter(|(flag, _)| has(*flag));
        let underlines = [
            (Flags::UNDERLINE, Underline::Single),
            (Flags::DOUBLE_UNDERLINE, Underline::Double),
            (Flags::UNDERCURL, Underline::Curly),
            (Flags::DOTTED_UNDERLINE, Underline::Dotted),
            (Flags::DASHED_UNDERLINE, Underline::Dashed),
        ];
        let underline = underlines.into_iter().find(|(flag, _)| has(*flag));
        Self {
            foreground: color(look.foreground),
            background: color(look.background),
            attributes: Attributes(set.fold(0, |all, (_, attribute)| all | attribute.0)),
            underline: underline.map(|(_, underline)| underline).unwrap_or_default(),
            underline_color: look.underline_color.map(color).unwrap_or_default(),
            link: look.link.as_ref().map(link),
        }
    }
}

pub(crate) fn link(link: &Hyperlink) -> Link {
    Link { id: link.id().to_owned(), uri: link.uri().to_owned() }
}

/// Returns what a colour of the grid is. Named ones are made by nobody here but the two defaults.
pub(crate) fn color(color: CellColor) -> Color {
    match color {
        CellColor::Indexed(index) => Color::Indexed(index),
        CellColor::Spec(CellRgb { r, g, b }) => Color::Rgb(Rgb { red: r, green: g, blue: b }),
        CellColor::Named(named) if (named as usize) < 16 => {
            Color::Indexed(u8::try_from(named as usize).unwrap_or(0))
        }
        CellColor::Named(_) => Color::Default,
    }
}

pub(crate) const DEFAULT_FOREGROUND: CellColor = CellColor::Named(NamedColor::Foreground);
pub(crate) const DEFAULT_BACKGROUND: CellColor = CellColor::Named(NamedColor::Background);
