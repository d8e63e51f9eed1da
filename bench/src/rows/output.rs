//! `output-stdio`: how fast an agent gets rid of its output, which its keeper reads from the pipe,
//! scans, and writes to the bounded log and the transcript, beside a shell that writes a file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::measure::{Line, Round, Unit};
use crate::program::{Home, timed};
use crate::rows::Bench;

const BYTES: u64 = 200_000_000;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let home = Home::new(bench.creel()?);
    let bytes = bench.scale.size(BYTES);
    let produce = format!(
        "yes 'a line of what an agent tells, as long as such lines are, or so' | head -c {bytes}"
    );
    // The agent itself tells when it began and when the pipe had taken all of it.
    let agent = format!(
        "date +%s%N > began; {produce}; date +%s%N > ended; creel session return --finish done"
    );
    let shell = format!("date +%s%N > began; ({produce}) > plain; date +%s%N > ended");
    let rate = || {
        let seconds = (stamp(&home.path("ended"))? - stamp(&home.path("began"))?) / 1e9;
        Ok::<_, anyhow::Error>(bytes as f64 / seconds)
    };
    let mut rounds = Vec::new();
    for _ in 0..bench.scale.count(8) {
        home.ask(&["request", "-q", "sh", &agent])?;
        let ours = rate()?;
        timed(home.program("sh").args(["-c", &shell]))?;
        let bare = rate()?;
        fs::remove_file(home.path("plain"))?;
        rounds.push(Round { ours, bare });
    }
    let what = format!("{} MB by pipe, keeper, log | sh > file", bytes / 1_000_000);
    Ok(vec![Line::of_rounds("output-stdio", what, Unit::BytesPerSecond, &rounds)?])
}

fn stamp(path: &Path) -> Result<f64> {
    let text = fs::read_to_string(path).with_context(|| format!("no {}", path.display()))?;
    Ok(text.trim().parse()?)
}
