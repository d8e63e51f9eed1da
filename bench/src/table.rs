//! Printing what was measured: a table for people, JSON Lines for programs.

use serde::Serialize;

use crate::measure::{Budget, Line, Spread, Unit, Verdict};

/// Widths of the columns that are padded.
const WIDTHS: [usize; 6] = [15, 46, 13, 13, 21, 11];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Out<'a> {
    row: &'a str,
    what: &'a str,
    unit: Unit,
    ours: Spread,
    bare: Option<Spread>,
    ratio: Option<Spread>,
    over: Option<Spread>,
    budget: String,
    verdict: Verdict,
}

/// Returns the table's head.
pub(crate) fn head() -> String {
    joined(["row", "what", "ours", "beside", "ratio (middle half)", "budget", "verdict"])
}

/// Returns a line of the table.
pub(crate) fn text(line: &Line) -> String {
    let amount = |spread: Option<Spread>| {
        spread.map_or_else(|| "-".to_owned(), |s| quantity(s.median, line.unit))
    };
    let ratio = match (line.budget, line.ratio, line.over) {
        (Budget::AtMostOver(_), _, Some(over)) => format!(
            "+{} ({}-{})",
            quantity(over.median, line.unit),
            quantity(over.low, line.unit),
            quantity(over.high, line.unit)
        ),
        (_, Some(s), _) => format!("{:.2}x ({:.2}-{:.2})", s.median, s.low, s.high),
        _ => "-".to_owned(),
    };
    let verdict = match line.verdict() {
        Verdict::Within => "within",
        Verdict::Over => "OVER",
        Verdict::Noted => "",
    };
    joined([
        line.row,
        &line.what,
        &amount(Some(line.ours)),
        &amount(line.bare),
        &ratio,
        &budget(line),
        verdict,
    ])
}

/// Returns a line as JSON.
///
/// # Errors
/// When a number is none.
pub(crate) fn json(line: &Line) -> serde_json::Result<String> {
    serde_json::to_string(&Out {
        row: line.row,
        what: &line.what,
        unit: line.unit,
        ours: line.ours,
        bare: line.bare,
        ratio: line.ratio,
        over: line.over,
        budget: budget(line),
        verdict: line.verdict(),
    })
}

fn joined(cells: [&str; 7]) -> String {
    let mut text = String::new();
    for (at, cell) in cells.iter().enumerate() {
        let width = WIDTHS.get(at).copied().unwrap_or(0);
        text.push_str(&format!("{cell:<width$}  "));
    }
    text.trim_end().to_owned()
}

fn budget(line: &Line) -> String {
    match line.budget {
        Budget::AtMostTimes(max) => format!("<= {max}x"),
        Budget::AtLeastTimes(min) => format!(">= {min}x"),
        Budget::AtMost(max) => format!("<= {}", quantity(max, line.unit)),
        Budget::AtMostOver(max) => format!("+ {}", quantity(max, line.unit)),
        Budget::None => String::new(),
    }
}

/// Prints a number in a unit that leaves it readable.
fn quantity(value: f64, unit: Unit) -> String {
    let scaled = |steps: &[(f64, &str)]| {
        let fits = |step: &&(f64, &str)| value.abs() >= step.0;
        let (size, name) = steps.iter().find(fits).or(steps.last()).copied().unwrap_or((1.0, ""));
        let digits = if (value / size).abs() < 10.0 { 2 } else { 1 };
        format!("{:.digits$} {name}", value / size)
    };
    match unit {
        Unit::Seconds => scaled(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")]),
        Unit::PerSecond => format!("{value:.0}/s"),
        Unit::Bytes => scaled(&[(1e6, "MB"), (1e3, "kB"), (1.0, "B")]),
        Unit::BytesPerSecond => scaled(&[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")]),
    }
}

#[cfg(test)]
mod tests {
    use super::quantity;
    use crate::measure::Unit;

    fn check(value: f64, unit: Unit, expected: &str) {
        assert_eq!(quantity(value, unit), expected);
    }

    #[test]
    fn a_number_is_printed_in_a_unit_that_leaves_it_readable() {
        check(0.0123, Unit::Seconds, "12.3 ms");
        check(0.000_004_2, Unit::Seconds, "4.20 us");
        check(-0.0012, Unit::Seconds, "-1.20 ms");
        check(1_234.4, Unit::PerSecond, "1234/s");
        check(1_200_000.0, Unit::Bytes, "1.20 MB");
        check(2.5e8, Unit::BytesPerSecond, "250.0 MB/s");
    }
}
