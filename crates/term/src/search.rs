//! Finding text in the history and on the screen.

use std::ops::Range;

use alacritty_terminal::term::cell::{Cell, Flags};
use regex::{Regex, RegexBuilder};

use crate::terminal::Terminal;

/// Most places that one search returns.
pub const MAX_HITS: usize = 10_000;

/// Most memory that a pattern may take when it is made ready, and while it is matched.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Longest line that is searched as one, in rows. What a hostile program prints without an end is
/// cut there.
const MAX_LINE_ROWS: usize = 1024;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// These characters.
    Literal(String),
    /// These characters, in either case.
    AnyCase(String),
    /// What a regular expression says, in the syntax of the `regex` crate.
    Regex(String),
}

/// A pattern that can't be searched for.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the pattern can't be searched for: {reason}")]
pub struct PatternRefused {
    /// What is wrong with it, in one line.
    reason: String,
}

impl From<regex::Error> for PatternRefused {
    fn from(error: regex::Error) -> Self {
        let text = error.to_string();
        // A syntax error draws the pattern first; what is wrong stands in the last line.
        let last = text.lines().last().unwrap_or_default().trim();
        Self { reason: last.strip_prefix("error: ").unwrap_or(last).to_owned() }
    }
}

/// A place between cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of its row, as [`Terminal::rows`] counts.
    pub row: u64,
    /// The column before which it is.
    pub column: usize,
}

/// Something found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where it begins.
    pub start: Place,
    /// Behind its last cell; it may be in a later row.
    pub end: Place,
    /// What was found.
    pub text: String,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The places, from the top.
    pub hits: Vec<Hit>,
    /// Whether there may be more below.
    pub is_cut: bool,
}

impl Pattern {
    fn compile(&self) -> Result<Regex, PatternRefused> {
        let text = match self {
            Self::Literal(text) | Self::AnyCase(text) => regex::escape(text),
            Self::Regex(text) => text.clone(),
        };
        RegexBuilder::new(&text)
            .case_insensitive(matches!(self, Self::AnyCase(_)))
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(Into::into)
    }
}

/// One line of text, and where each byte of it is shown.
#[derive(Default)]
struct Line {
    text: String,
    rows: usize,
    /// The first byte of each cell, and its place.
    cells: Vec<(usize, Place)>,
    end: Option<Place>,
}

impl Line {
    fn append(&mut self, number: u64, cells: &[Cell]) {
        self.rows += 1;
        let left_out = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
        for (column, cell) in cells.iter().enumerate() {
            if !cell.flags.intersects(left_out) {
                self.cells.push((self.text.len(), Place { row: number, column }));
                self.text.push(cell.c);
                self.text.extend(cell.zerowidth().unwrap_or_default());
            }
        }
        self.end = Some(Place { row: number, column: cells.len() });
    }

    fn hit(&self, range: Range<usize>) -> Option<Hit> {
        let first = self.cells.partition_point(|(at, _)| *at <= range.start).checked_sub(1)?;
        let last = self.cells.partition_point(|(at, _)| *at < range.end).checked_sub(1)?;
        let end = match self.cells.get(last + 1) {
            Some((_, next)) if next.row == self.cells[last].1.row => *next,
            Some(_) => Place { column: self.cells[last].1.column + 1, ..self.cells[last].1 },
            None => self.end?,
        };
        Some(Hit { start: self.cells.get(first)?.1, end, text: self.text[range].to_owned() })
    }
}

impl Terminal {
    /// Searches rows from the top. Lines that go on over several rows are searched as one; what
    /// is found is at most `max_hits` and [`MAX_HITS`] places, none of them empty.
    ///
    /// # Errors
    /// When the pattern is none, or takes too much memory.
    pub fn search(
        &self,
        pattern: &Pattern,
        rows: Range<u64>,
        max_hits: usize,
    ) -> Result<Found, PatternRefused> {
        let regex = pattern.compile()?;
        let max_hits = max_hits.min(MAX_HITS);
        let mut found = Found::default();
        let mut line = Line::default();
        let first = rows.start.max(self.history_dropped());
        for (number, row) in (first..).zip(self.raw_rows(rows)) {
            line.append(number, &row.cells);
            if row.is_continued && line.rows < MAX_LINE_ROWS {
                continue;
            }
            search_line(&regex, &std::mem::take(&mut line), &mut found.hits);
            if found.hits.len() > max_hits {
                break;
            }
        }
        search_line(&regex, &line, &mut found.hits);
        found.is_cut = found.hits.len() > max_hits;
        found.hits.truncate(max_hits);
        Ok(found)
    }
}

fn search_line(regex: &Regex, line: &Line, hits: &mut Vec<Hit>) {
    let text = line.text.trim_end_matches(' ');
    let found = regex.find_iter(text).filter(|found| !found.is_empty());
    hits.extend(found.filter_map(|found| line.hit(found.range())));
}
