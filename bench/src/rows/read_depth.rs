//! `read-depth`: a session is read as fast with a million events as with ten, in process and by a
//! cold `creel inspect`, which takes little more than a process that does nothing.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use creel_record::SessionId;
use creel_spool::Store;

use crate::bulk;
use crate::measure::{Budget, Line, Round, Unit};
use crate::program::{self, Home, timed};
use crate::rows::Bench;
use crate::scratch::{self, Scratch};

const ROW: &str = "read-depth";
const SHALLOW: u64 = 10;
const DEEP: u64 = 1_000_000;
/// Reads of each side in a round.
const READS: usize = 200;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let home = Home::new(bench.creel()?);
    let store = scratch::store_at(&home.store_root())?;
    let deep_count = bench.scale.size(DEEP);
    let shallow = bulk::deep(&store, 1, SHALLOW)?;
    let deep = bulk::deep(&store, 2, deep_count)?;
    for (id, count) in [(shallow, SHALLOW), (deep, deep_count)] {
        let report = store.verify(id)?;
        ensure!(report.is_clean() && report.event_count == count, "a session in bulk: {report:?}");
    }
    let mut lines = vec![reads(&store, [deep, shallow], bench)?];
    lines.extend(inspections(&home, [deep, shallow], bench)?);
    Ok(lines)
}

fn reads(store: &Store, [deep, shallow]: [SessionId; 2], bench: &Bench) -> Result<Line> {
    let timed = |id: SessionId| {
        let start = Instant::now();
        store.read(id)?;
        Ok::<_, anyhow::Error>(start.elapsed().as_secs_f64() / READS as f64)
    };
    let mut rounds = Vec::new();
    for _ in 0..bench.scale.count(60) {
        let mut round = Round { ours: 0.0, bare: 0.0 };
        for _ in 0..READS {
            round.ours += timed(deep)?;
            round.bare += timed(shallow)?;
        }
        rounds.push(round);
    }
    let line = Line::of_rounds(ROW, "read, 1,000,000 events | 10 events", Unit::Seconds, &rounds)?;
    Ok(line.within(Budget::AtMostTimes(1.1)))
}

fn inspections(home: &Home, ids: [SessionId; 2], bench: &Bench) -> Result<[Line; 3]> {
    let scratch = Scratch::new(None)?;
    let mut empty = home.program(program::empty(scratch.path("").as_path())?);
    let [mut deep, mut shallow]: [Command; 2] =
        ids.map(|id| home.creel(&["inspect", "--json", &id.to_string()]));
    let mut version = home.creel(&["--version"]);
    let mut rounds: [Vec<Round>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    for number in 0..bench.scale.count(80) {
        let (ours, ten) = if number % 2 == 0 {
            let ours = timed(&mut deep)?;
            (ours, timed(&mut shallow)?)
        } else {
            let ten = timed(&mut shallow)?;
            (timed(&mut deep)?, ten)
        };
        let sides = [ten, timed(&mut version)?, timed(&mut empty)?];
        for (rounds, bare) in rounds.iter_mut().zip(sides) {
            rounds.push(Round { ours, bare });
        }
    }
    let [depth, version, empty] = rounds;
    let line = |what: &str, rounds: &[Round], budget| {
        Line::of_rounds(ROW, what, Unit::Seconds, rounds).map(|line| line.within(budget))
    };
    Ok([
        line("inspect, 1,000,000 events | 10 events", &depth, Budget::AtMostTimes(1.1))?,
        line("inspect | creel --version", &version, Budget::AtMostOver(0.003))?,
        line("inspect | an empty static program", &empty, Budget::AtMostOver(0.003))?,
    ])
}
