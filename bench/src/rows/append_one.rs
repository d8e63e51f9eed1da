//! `append-one`: one writer appends and publishes.
//!
//! Ours and the bare loop take turns, append by append: a sync takes ten times as long in one
//! moment as in the next. The same once more where a sync costs nothing, which shows what the
//! record itself costs.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use crate::bare::BareSpool;
use crate::bulk;
use crate::measure::{Budget, Line, Round, Unit};
use crate::rows::Bench;
use crate::scratch::{self, Scratch};

const ROW: &str = "append-one";
/// Appends of each side in a round.
const PAIRS: usize = 40;
/// A file system in memory, where there is one.
const MEMORY: &str = "/dev/shm";

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let rounds = rounds(&Scratch::new(None)?, bench.scale.count(25))?;
    let line =
        Line::of_rounds(ROW, "append + publish | same calls, no record", Unit::Seconds, &rounds);
    let mut lines = vec![line?.within(Budget::AtMostTimes(1.3))];
    if Path::new(MEMORY).is_dir() {
        let rounds = self::rounds(&Scratch::new(Some(Path::new(MEMORY)))?, bench.scale.count(25))?;
        lines.push(Line::of_rounds(ROW, "  the same, in memory", Unit::Seconds, &rounds)?);
    }
    Ok(lines)
}

fn rounds(scratch: &Scratch, count: usize) -> Result<Vec<Round>> {
    let store = scratch.store()?;
    let id = bulk::working(&store, 1)?;
    store.rows(creel_spool::RowFilter::All)?;
    scratch::append(&store, id, 0)?;
    let spool = BareSpool::new(&scratch.path("bare"), "bare", scratch::shape(&store, id)?)?;
    let mut number = 0;
    let mut rounds = Vec::with_capacity(count);
    for _ in 0..count {
        let mut round = Round { ours: 0.0, bare: 0.0 };
        for pair in 0..PAIRS {
            let mut ours = || {
                let start = Instant::now();
                number += 1;
                scratch::append(&store, id, number)?;
                round.ours += start.elapsed().as_secs_f64() / PAIRS as f64;
                Ok::<_, anyhow::Error>(())
            };
            if pair % 2 == 0 {
                ours()?;
            }
            let start = Instant::now();
            spool.append()?;
            let bare = start.elapsed().as_secs_f64() / PAIRS as f64;
            if pair % 2 == 1 {
                ours()?;
            }
            round.bare += bare;
        }
        rounds.push(round);
    }
    Ok(rounds)
}
