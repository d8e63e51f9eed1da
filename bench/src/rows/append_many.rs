//! `append-64-many`: 64 processes, each with a session of its own, against 64 with bare files.

use anyhow::{Context, Result};
use creel_record::SessionId;

use crate::bulk;
use crate::measure::{Budget, Line, Round, Unit};
use crate::rows::Bench;
use crate::scratch::{self, Scratch};
use crate::together::{self, Part};

const PROCESSES: u64 = 64;
/// Appends of each process in a round; enough that its first one, with cold pages, counts little.
const COUNT: u64 = 40;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let scratch = Scratch::new(None)?;
    let store = scratch.store()?;
    let ids: Vec<SessionId> =
        (0..PROCESSES).map(|number| bulk::working(&store, number)).collect::<Result<_>>()?;
    store.rows(creel_spool::RowFilter::All)?;
    let first = *ids.first().context("there are 64")?;
    scratch::append(&store, first, 0)?;
    let shape = scratch.path("shape");
    scratch::shape(&store, first)?.save(&shape)?;
    let bare = scratch.path("bare");
    let ours = together::appending(store.root(), &ids, COUNT);
    let bare = |number: u64| {
        let (shape, dir) = (shape.clone(), bare.clone());
        Part::Bare { shape, dir, name: format!("bare-{number}"), count: COUNT }
    };
    let bare: Vec<Part> = (0..PROCESSES).map(bare).collect();
    let rate = |parts: &[Part]| {
        let time = together::run(parts)?;
        Ok::<_, anyhow::Error>((PROCESSES * COUNT) as f64 / time.as_secs_f64())
    };
    let mut rounds = Vec::new();
    for number in 0..bench.scale.count(12) {
        let first = if number % 2 == 0 { rate(&ours)? } else { rate(&bare)? };
        let second = if number % 2 == 0 { rate(&bare)? } else { rate(&ours)? };
        let (ours, bare) = if number % 2 == 0 { (first, second) } else { (second, first) };
        rounds.push(Round { ours, bare });
    }
    let what = "64 processes, 64 sessions | 64 bare";
    let line = Line::of_rounds("append-64-many", what, Unit::PerSecond, &rounds)?;
    Ok(vec![line.within(Budget::AtLeastTimes(0.8))])
}
