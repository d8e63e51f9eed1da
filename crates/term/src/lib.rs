//! A terminal that runs without a screen: bytes in, state out.
//!
//! Owns: what a program's output means, the rows that left the screen, the answers that programs
//! wait for, and the bytes that show all of it in another terminal. Must not know: sessions, files,
//! processes, sockets, clocks, who looks on.
//!
//! Start reading at [`Terminal`]; then [`mod@redraw`] for the law, `screen` for what happens to
//! cells, `machine` for what sequences do. The grid and its cells are those of
//! `alacritty_terminal`, which scroll fast; what that crate keeps private (margins, tab stops, the
//! screen that is not active) is ours.
//!
//! Invariants:
//! - `state(redraw(s)) = state(s)`, and both stay alike when they read on.
//! - The same stream makes the same state, answers and events, however it is cut.
//! - Nothing grows without bound, whatever is fed: cells by [`Size`], rows by the limits of
//!   [`Options`], strings by [`MAX_STRING_BYTES`], stacks by constants; answers cost as many bytes
//!   as were read, beyond a small credit.
//! - A redraw and [`Terminal::leave`] ask nothing, ring no bell and notify nobody.
//!
//! Widths: a character is as wide as the `unicode-width` tables say, and a cluster of emoji takes
//! two columns while mode 2027 is set, which it is from the start: agents lay their text out by
//! clusters and rarely say so. A program that wants the older way resets the mode, and may ask for
//! it. The same tables are used for screens, history and redraws, and a redraw puts the cursor
//! where it is by address, so that another table in a viewer's terminal shifts no later row.
//!
//! Not modelled: overlined text, double width lines, left and right margins, graphics, and what
//! only some other vendor's terminals do.

#![forbid(unsafe_code)]

mod csi;
mod event;
mod history;
mod keyboard;
mod machine;
mod modes;
mod options;
mod paint;
mod palette;
mod parser;
mod pictographic;
mod read;
pub mod redraw;
mod screen;
mod search;
mod sgr;
mod state;
mod style;
mod terminal;

pub use event::{Effects, EventKind, TermEvent};
pub use modes::{Mode, Modes, MouseEncoding, MouseTracking};
pub use options::{CellPixels, DefaultColors, MAX_COLUMNS, MAX_LINES, Options, Size, SizeRefused};
pub use palette::{ColorSlot, Rgb};
pub use parser::MAX_STRING_BYTES;
pub use read::{StyledCell, StyledRow};
pub use redraw::{RedrawOptions, Scrollback};
pub use search::{Found, Hit, MAX_HITS, Pattern, PatternRefused, Place};
pub use state::{CursorState, ScreenState};
pub use style::{Attributes, Color, Link, Style, Underline};
pub use terminal::Terminal;
