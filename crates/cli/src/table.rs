//! Tables for people: aligned columns, cut to the terminal, no colour.

use std::fmt::Write as _;

/// Characters that a column other than the last takes at most.
const MAX_COLUMN_CHARS: usize = 40;

/// Rows of cells under a head. Cells are lines already made harmless.
#[derive(Clone, Debug)]
pub(crate) struct Table<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// Makes an empty table.
    pub(crate) fn new(head: [&'static str; N]) -> Self {
        Self { head, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Returns the table as text, a newline after each row; empty when it has none.
    pub(crate) fn render(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let mut widths = self.head.map(str::len);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count().min(MAX_COLUMN_CHARS));
            }
        }
        let mut text = String::new();
        push(&mut text, &self.head.map(str::to_owned), &widths);
        for row in &self.rows {
            push(&mut text, row, &widths);
        }
        text
    }
}

fn push<const N: usize>(text: &mut String, row: &[String; N], widths: &[usize; N]) {
    let mut line = String::new();
    for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
        if index + 1 == N {
            line.push_str(cell);
        } else {
            let cell: String = cell.chars().take(MAX_COLUMN_CHARS).collect();
            // Writing to a String can't fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Returns how long ago something was, in its largest unit: `3s`, `12m`, `5h`, `40d`.
pub(crate) fn age(since_ms: i64, now_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(since_ms).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::{Table, age};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["ID", "STATE", "TITLE"]);
        assert_eq!(table.render(), "");
        table.push(["a".into(), "working".into(), "".into()]);
        table.push(["bcd".into(), "x".into(), "the last is not cut".into()]);
        insta::assert_snapshot!(table.render(), @r"
        ID   STATE    TITLE
        a    working
        bcd  x        the last is not cut
        ");
    }

    #[test]
    fn an_age_has_one_unit() {
        let check = |ms, expected: &str| assert_eq!(age(0, ms), expected);
        check(-5, "0s");
        check(59_999, "59s");
        check(60_000, "1m");
        check(86_399_000, "23h");
        check(86_400_000 * 400, "400d");
    }
}
