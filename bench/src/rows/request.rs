//! `request-stdio`: a whole `creel request`, from its start to its printed result, beside a shell
//! that does nothing and as many syncs as the request makes; and a `creel launch`, which returns
//! once the record says that the agent was spawned.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::measure::{Line, Round, Unit};
use crate::program::{Home, look_until, timed};
use crate::rows::Bench;

const ROW: &str = "request-stdio";
const AGENT: &str = "creel session return --finish done";
/// About what a line of the log has.
const LINE: [u8; 400] = [b'x'; 400];

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let home = Home::new(bench.creel()?);
    let request = ["request", "-q", "sh", AGENT];
    let launch = ["launch", "sh", AGENT];
    home.ask(&request)?;
    let mut lines = Vec::new();
    for (verb, arguments) in [("request", &request[..]), ("launch", &launch[..])] {
        let sync_count = syncs(&home, arguments)?;
        let mut rounds = Vec::new();
        for _ in 0..bench.scale.count(40) {
            let start = Instant::now();
            home.ask(arguments)?;
            let ours = start.elapsed().as_secs_f64();
            until_quiet(&home)?;
            rounds.push(Round { ours, bare: bare(&home, sync_count)? });
        }
        let what = format!("{verb} | sh -c true, {sync_count} syncs");
        lines.push(Line::of_rounds(ROW, what, Unit::Seconds, &rounds)?);
    }
    Ok(lines)
}

/// Counts the syncs of a verb and of the processes it starts, until it ends.
fn syncs(home: &Home, arguments: &[&str]) -> Result<usize> {
    let trace = home.path("trace");
    let creel = home.creel(arguments);
    let mut strace = home.program("strace");
    strace
        .args(["-f", "--seccomp-bpf", "-qq", "-e", "trace=fsync,fdatasync,exit_group", "-o"])
        .arg(&trace);
    let id = strace.arg(creel.get_program()).args(arguments).spawn();
    let status = id.context("strace, which counts the syncs, can't be started")?.wait()?;
    anyhow::ensure!(status.success(), "strace: {status}");
    let text = fs::read_to_string(&trace)?;
    // The first process is the verb's own. What comes after its end delays nobody.
    let own = text.split_whitespace().next().context("nothing was traced")?;
    let until =
        text.lines().take_while(|line| !(line.starts_with(own) && line.contains("exit_group(")));
    let count = until.filter(|line| line.contains("sync(")).count();
    until_quiet(home)?;
    Ok(count)
}

/// Waits until no process of an earlier round is left to disturb the next one.
fn until_quiet(home: &Home) -> Result<()> {
    look_until("the last session is over", || {
        let list = home.ask(&["list", "--json", "--limit", "1"])?;
        let row: serde_json::Value = serde_json::from_str(&list)?;
        Ok(row["currentRun"]["ended"].is_string().then_some(()))
    })
}

fn bare(home: &Home, sync_count: usize) -> Result<f64> {
    let start = Instant::now();
    let mut shell = home.program("sh");
    timed(shell.args(["-c", "true"]))?;
    append_synced(&home.path("bare"), sync_count)?;
    Ok(start.elapsed().as_secs_f64())
}

fn append_synced(path: &Path, count: usize) -> Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    for _ in 0..count {
        file.write_all(&LINE)?;
        file.sync_data()?;
    }
    Ok(())
}
