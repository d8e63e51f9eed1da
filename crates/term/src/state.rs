//! Everything a redraw restores, for comparing.

use std::fmt;

use crate::machine::Machine;
use crate::modes::{Mode, Modes};
use crate::palette::{ColorSlot, Rgb};
use crate::read::StyledRow;
use crate::screen::{Charset, Charsets, Cursor, is_wrapped};
use crate::style::{Look, Style};

/// Most differences that are listed.
const MAX_DIFFERENCES: usize = 20;

/// A cursor, and how it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorState {
    /// Its row on the screen, from 0.
    pub row: usize,
    /// Its column, from 0.
    pub column: usize,
    /// Whether the next character goes to the next row.
    pub is_wrap_pending: bool,
    /// How characters will look.
    pub pen: Style,
    /// Which of the four sets are for line drawing.
    pub line_drawing: [bool; 4],
    /// Which set is in use.
    pub charset: usize,
    /// Whether rows are counted from the top margin.
    pub is_origin: bool,
}

/// The state of a terminal, without what only its past explains.
///
/// Left out: rows that left the screen, and whether output is being held back (`?2026`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenState {
    /// The active screen's rows.
    pub rows: Vec<StyledRow>,
    /// The primary screen's rows while the alternate one is active.
    pub primary_rows: Option<Vec<StyledRow>>,
    /// The cursor.
    pub cursor: CursorState,
    /// The active screen's saved cursor.
    pub saved: CursorState,
    /// The primary screen's, while the alternate one is active.
    pub primary_saved: Option<CursorState>,
    /// The first row within the margins, and the first below.
    pub margins: (usize, usize),
    /// The columns with a tab stop.
    pub tabs: Vec<usize>,
    /// The modes.
    pub modes: Modes,
    /// The active screen's keyboard flags, those in force last.
    pub keyboard: Vec<u8>,
    /// The primary screen's, while the alternate one is active.
    pub primary_keyboard: Option<Vec<u8>>,
    /// The colours that were set.
    pub colors: Vec<(ColorSlot, Rgb)>,
    /// The title.
    pub title: String,
    /// The titles kept for later, the newest last.
    pub titles: Vec<String>,
    /// The working directory that was told.
    pub cwd: Option<String>,
}

impl ScreenState {
    pub(crate) fn of(machine: &Machine) -> Self {
        let screen = &machine.screen;
        let is_origin = screen.modes.is_set(Mode::Origin);
        let mut modes = screen.modes;
        modes.set(Mode::SynchronizedOutput, false);
        let rows = 0..screen.lines();
        let primary =
            |row| StyledRow::of(screen.primary_row(row), is_wrapped(screen.primary_row(row)));
        let saved = &screen.parked_saved;
        Self {
            rows: rows
                .clone()
                .map(|row| StyledRow::of(screen.row(row), screen.is_wrapped(row)))
                .collect(),
            primary_rows: screen.is_alternate().then(|| rows.map(primary).collect()),
            cursor: cursor(&screen.cursor, is_origin),
            saved: cursor(&screen.saved.cursor, screen.saved.is_origin),
            primary_saved: screen.is_alternate().then(|| cursor(&saved.cursor, saved.is_origin)),
            margins: (screen.margins.start, screen.margins.end),
            tabs: screen
                .tabs
                .iter()
                .enumerate()
                .filter(|(_, stop)| **stop)
                .map(|(at, _)| at)
                .collect(),
            modes,
            keyboard: machine.keyboard.all().to_vec(),
            primary_keyboard: machine.parked_keyboard.as_ref().map(|keys| keys.all().to_vec()),
            colors: machine.palette.all_set().collect(),
            title: machine.title.clone(),
            titles: machine.titles.clone(),
            cwd: machine.cwd.clone(),
        }
    }

    /// Returns where two states differ, a line each, `self` first; nothing when they are equal.
    #[must_use]
    pub fn difference(&self, other: &Self) -> String {
        let mut lines = Vec::new();
        rows_difference("row", (&self.rows, &other.rows), &mut lines);
        if let (Some(own), Some(others)) = (&self.primary_rows, &other.primary_rows) {
            rows_difference("primary row", (own, others), &mut lines);
        }
        let fields: [(&str, &dyn fmt::Debug, &dyn fmt::Debug); 12] = [
            ("alternate", &self.primary_rows.is_some(), &other.primary_rows.is_some()),
            ("cursor", &self.cursor, &other.cursor),
            ("saved", &self.saved, &other.saved),
            ("primary saved", &self.primary_saved, &other.primary_saved),
            ("margins", &self.margins, &other.margins),
            ("tabs", &self.tabs, &other.tabs),
            ("modes", &self.modes, &other.modes),
            ("keyboard", &self.keyboard, &other.keyboard),
            ("primary keyboard", &self.primary_keyboard, &other.primary_keyboard),
            ("colors", &self.colors, &other.colors),
            ("title", &(&self.title, &self.titles), &(&other.title, &other.titles)),
            ("cwd", &self.cwd, &other.cwd),
        ];
        for (name, own, others) in fields {
            let (own, others) = (format!("{own:?}"), format!("{others:?}"));
            if own != others {
                lines.push(format!("{name}: {own} | {others}"));
            }
        }
        lines.truncate(MAX_DIFFERENCES);
        lines.join("\n")
    }
}

fn rows_difference(
    name: &str,
    (own, others): (&[StyledRow], &[StyledRow]),
    lines: &mut Vec<String>,
) {
    if own.len() != others.len() {
        lines.push(format!("{name}s: {} | {}", own.len(), others.len()));
    }
    for (at, (own, others)) in own.iter().zip(others).enumerate() {
        if own == others {
            continue;
        }
        let cell = own.cells.iter().zip(&others.cells).position(|(own, other)| own != other);
        let shown = |row: &StyledRow| match cell.and_then(|cell| row.cells.get(cell)) {
            Some(cell) => format!("{cell:?}"),
            None => format!("wrapped {}, {} cells", row.is_wrapped, row.cells.len()),
        };
        let place = cell.map_or(String::new(), |cell| format!(" cell {cell}"));
        lines.push(format!(
            "{name} {at}: {:?} | {:?}\n{name} {at}{place}: {} | {}",
            own.text(),
            others.text(),
            shown(own),
            shown(others)
        ));
    }
}

fn cursor(cursor: &Cursor, is_origin: bool) -> CursorState {
    let Charsets { sets, in_use } = cursor.charsets;
    CursorState {
        row: cursor.row,
        column: cursor.column,
        is_wrap_pending: cursor.is_wrap_pending,
        pen: Style::from(&Look::of(&cursor.pen)),
        line_drawing: sets.map(|set| set == Charset::LineDrawing),
        charset: in_use,
        is_origin,
    }
}
