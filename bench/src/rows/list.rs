//! `list-10k` and `list-100k`: a cold `creel list`, beside a `cat` of the file it reads.

use anyhow::{Result, ensure};
use creel_spool::RowFilter;

use crate::bulk;
use crate::measure::{Budget, Line, Round, Unit};
use crate::program::{Home, timed};
use crate::rows::Bench;
use crate::scratch;

/// A row of one size.
#[derive(Debug)]
pub(super) struct Size {
    row: &'static str,
    session_count: u64,
    budget_seconds: f64,
}

pub(super) const TEN_THOUSAND: Size =
    Size { row: "list-10k", session_count: 10_000, budget_seconds: 0.050 };
pub(super) const HUNDRED_THOUSAND: Size =
    Size { row: "list-100k", session_count: 100_000, budget_seconds: 0.300 };

pub(super) fn measure(bench: &Bench, size: &Size) -> Result<Vec<Line>> {
    let home = Home::new(bench.creel()?);
    let store = scratch::store_at(&home.store_root())?;
    let session_count = bench.scale.size(size.session_count);
    for number in 0..session_count {
        let id = bulk::finished(&store, number)?;
        // A look at a few: the list only looks at snapshots.
        ensure!(number % 1000 > 0 || store.verify(id)?.is_clean(), "a session in bulk is faulty");
    }
    let first = timed(&mut home.creel(&["list"]))?;
    ensure!(store.rows(RowFilter::All)?.len() as u64 == session_count, "some are not listed");
    let mut list = home.creel(&["list"]);
    let mut json = home.creel(&["list", "--json"]);
    let mut cat = home.program("cat");
    cat.arg(store.index_dir().join("changes.jsonl"));
    let mut rounds: [Vec<Round>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..bench.scale.count(24) {
        for (rounds, ours) in rounds.iter_mut().zip([&mut list, &mut json]) {
            let (ours, bare) = (timed(ours)?, timed(&mut cat)?);
            rounds.push(Round { ours, bare });
        }
    }
    let [list, json] = rounds;
    let line = |what: &str, rounds: &[Round]| {
        let line = Line::of_rounds(size.row, what, Unit::Seconds, rounds);
        line.map(|line| line.within(Budget::AtMost(size.budget_seconds)))
    };
    Ok(vec![
        line("list | cat of the feed", &list)?,
        line("list --json | cat of the feed", &json)?,
        Line::of_values(size.row, "  the first list, without a feed", Unit::Seconds, &[first])?,
    ])
}
