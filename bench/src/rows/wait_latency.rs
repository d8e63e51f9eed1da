//! `wait-latency`: from a return that is acknowledged to the end of a `creel wait` for it, beside
//! a process that ends when a file appears.

use std::fs;
use std::time::Instant;

use anyhow::{Result, ensure};
use creel_record::command::returning::{Return, return_turn};
use creel_record::{Disposition, SessionId};

use crate::measure::{Line, Round, Unit};
use crate::program::{Home, until_watching};
use crate::rows::Bench;
use crate::scratch::{self, Scratch};
use crate::together::Part;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let home = Home::new(bench.creel()?);
    let store = scratch::store_at(&home.store_root())?;
    let scratch = Scratch::new(None)?;
    let dir = scratch.path("watched");
    fs::create_dir(&dir)?;
    let mut rounds = Vec::new();
    for number in 0..bench.scale.count(60) {
        let id: SessionId = home.ask(&["launch", "sh", "exec sleep 1000"])?.parse()?;
        let mut waiter = home.creel(&["wait", &id.to_string()]).spawn()?;
        until_watching(&waiter)?;
        scratch::record(&store, id, |session| {
            let (run_id, disposition) = (None, Disposition::Finish);
            return_turn(session, &Return { run_id, disposition, payload: "done" })
        })?;
        let acknowledged = Instant::now();
        ensure!(waiter.wait()?.success(), "the wait failed");
        let ours = acknowledged.elapsed().as_secs_f64();
        home.ask(&["kill", &id.to_string()])?;

        let mut waiter = Part::Wake { dir: dir.clone() }.start()?;
        until_watching(&waiter)?;
        fs::write(dir.join(number.to_string()), "done")?;
        let written = Instant::now();
        ensure!(waiter.wait()?.success(), "the waiter failed");
        rounds.push(Round { ours, bare: written.elapsed().as_secs_f64() });
    }
    let what = "return to end of wait | inotify wake-up";
    Ok(vec![Line::of_rounds("wait-latency", what, Unit::Seconds, &rounds)?])
}
