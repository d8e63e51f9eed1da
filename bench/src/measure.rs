//! What a row measured: rounds of ours beside the peer, and what they are held to.

use serde::Serialize;

/// One round: both sides measured one after the other, so that what the machine does meanwhile
/// meets both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Our side, in the unit of its line.
    pub(crate) ours: f64,
    /// The bare loop's or the peer's.
    pub(crate) bare: f64,
}

/// The middle of some values, and their middle half.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// A quarter of the values is below.
    pub(crate) low: f64,
    /// A quarter of the values is above.
    pub(crate) high: f64,
}

impl Spread {
    /// Returns the spread of some values; none of none.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |part: usize| (sorted[last * part / 4] + sorted[(last * part).div_ceil(4)]) / 2.0;
        Some(Self { median: at(2), low: at(1), high: at(3) })
    }
}

/// What the numbers of a line count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unit {
    Seconds,
    PerSecond,
    Bytes,
    BytesPerSecond,
}

/// What a line is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    /// Ours is at most so many times the other side.
    AtMostTimes(f64),
    /// Ours is at least so many times the other side.
    AtLeastTimes(f64),
    /// Ours is at most this, in the line's unit.
    AtMost(f64),
    /// Ours is at most this over the other side, in the line's unit.
    AtMostOver(f64),
    /// Nothing: the line is there to be read.
    None,
}

/// What came of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    Within,
    Over,
    /// There is no budget.
    Noted,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The row it belongs to.
    pub(crate) row: &'static str,
    /// What is measured, against what.
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) budget: Budget,
    pub(crate) ours: Spread,
    pub(crate) bare: Option<Spread>,
    /// Ours by bare, round by round.
    pub(crate) ratio: Option<Spread>,
    /// Ours less bare, round by round.
    pub(crate) over: Option<Spread>,
}

impl Line {
    /// Sums rounds up.
    ///
    /// # Errors
    /// When there was none.
    pub(crate) fn of_rounds(
        row: &'static str,
        what: impl Into<String>,
        unit: Unit,
        rounds: &[Round],
    ) -> anyhow::Result<Self> {
        let spread = |value: fn(&Round) -> f64| Spread::of(rounds.iter().map(value));
        let ours = spread(|round| round.ours).ok_or_else(|| anyhow::anyhow!("no round was run"))?;
        Ok(Self {
            row,
            what: what.into(),
            unit,
            budget: Budget::None,
            ours,
            bare: spread(|round| round.bare),
            ratio: spread(|round| round.ours / round.bare),
            over: spread(|round| round.ours - round.bare),
        })
    }

    /// Notes values that nothing is beside.
    ///
    /// # Errors
    /// When there was none.
    pub(crate) fn of_values(
        row: &'static str,
        what: impl Into<String>,
        unit: Unit,
        values: &[f64],
    ) -> anyhow::Result<Self> {
        let rounds: Vec<Round> =
            values.iter().map(|ours| Round { ours: *ours, bare: f64::NAN }).collect();
        let line = Self::of_rounds(row, what, unit, &rounds)?;
        Ok(Self { bare: None, ratio: None, over: None, ..line })
    }

    /// Holds the line to a budget.
    pub(crate) fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Tells whether the medians keep the budget. A side that is missing keeps none.
    pub(crate) fn verdict(&self) -> Verdict {
        let holds = |spread: Option<Spread>, test: &dyn Fn(f64) -> bool| {
            spread.is_some_and(|spread| test(spread.median))
        };
        let is_kept = match self.budget {
            Budget::None => return Verdict::Noted,
            Budget::AtMost(max) => self.ours.median <= max,
            Budget::AtMostTimes(max) => holds(self.ratio, &|ratio| ratio <= max),
            Budget::AtLeastTimes(min) => holds(self.ratio, &|ratio| ratio >= min),
            Budget::AtMostOver(max) => holds(self.over, &|over| over <= max),
        };
        if is_kept { Verdict::Within } else { Verdict::Over }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Line, Round, Unit, Verdict};

    fn check(budget: Budget, expected: Verdict) {
        let rounds = [(1.0, 1.0), (3.0, 2.0), (9.0, 3.0)].map(|(ours, bare)| Round { ours, bare });
        let line = Line::of_rounds("row", "what", Unit::Seconds, &rounds).unwrap();
        assert_eq!(line.within(budget).verdict(), expected, "{budget:?}");
    }

    #[test]
    fn a_budget_is_held_against_medians_of_rounds() {
        check(Budget::AtMostTimes(1.5), Verdict::Within);
        check(Budget::AtMostTimes(1.4), Verdict::Over);
        check(Budget::AtLeastTimes(1.6), Verdict::Over);
        check(Budget::AtMost(3.0), Verdict::Within);
        check(Budget::AtMost(2.9), Verdict::Over);
        check(Budget::AtMostOver(1.0), Verdict::Within);
        check(Budget::AtMostOver(0.9), Verdict::Over);
        check(Budget::None, Verdict::Noted);
    }
}
