//! `append-64-one`: 64 processes on one session, against one process that appends as often.

use anyhow::{Result, ensure};

use crate::bulk;
use crate::measure::{Budget, Line, Round, Unit};
use crate::rows::Bench;
use crate::scratch::Scratch;
use crate::together::{self, Part};

const PROCESSES: usize = 64;
/// Appends of each process in a round.
const COUNT: u64 = 16;
const TOTAL: u64 = PROCESSES as u64 * COUNT;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let scratch = Scratch::new(None)?;
    let store = scratch.store()?;
    let id = bulk::working(&store, 1)?;
    store.rows(creel_spool::RowFilter::All)?;
    let before = store.read(id)?.snapshot.log.sequence;
    let many = together::appending(store.root(), &[id; PROCESSES], COUNT);
    let one = together::appending(store.root(), &[id], TOTAL);
    let rate = |parts: &[Part]| {
        let time = together::run(parts)?;
        Ok::<_, anyhow::Error>(TOTAL as f64 / time.as_secs_f64())
    };
    let mut rounds = Vec::new();
    for number in 0..bench.scale.count(12) {
        let first = if number % 2 == 0 { rate(&many)? } else { rate(&one)? };
        let second = if number % 2 == 0 { rate(&one)? } else { rate(&many)? };
        let (ours, bare) = if number % 2 == 0 { (first, second) } else { (second, first) };
        rounds.push(Round { ours, bare });
    }
    let appended = store.read(id)?.snapshot.log.sequence - before;
    ensure!(appended == 2 * TOTAL * rounds.len() as u64, "{appended} events are there");
    let what = "64 processes, one session | one writer";
    let line = Line::of_rounds("append-64-one", what, Unit::PerSecond, &rounds)?;
    Ok(vec![line.within(Budget::AtLeastTimes(1.0))])
}
