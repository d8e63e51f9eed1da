//! `holder-stdio`: the memory that a headless session's holder and keeper have for themselves.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use creel_sys::tree::ProcessTable;

use crate::measure::{Budget, Line, Round, Unit};
use crate::program::{Home, look_until, pause, private_bytes};
use crate::rows::Bench;

const ROW: &str = "holder-stdio";
/// What the design holds both to.
const MAX_HOLDER_BYTES: f64 = 1.2e6;
const MAX_BOTH_BYTES: f64 = 5e6;
/// How long processes are left alone before they are looked at.
const SETTLE: Duration = Duration::from_millis(500);

const IDLE: &str = "touch done; exec sleep 1000";
/// 10,000 lines of 80 bytes.
const TALKATIVE: &str = "yes \"$(printf %079d 0)\" | head -n 10000; touch done; exec sleep 1000";

/// Private memory of one session's processes.
struct Memory {
    holder: f64,
    keeper: f64,
    agent: f64,
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, script) in [("idle", IDLE), ("after 10,000 lines", TALKATIVE)] {
        let found: Vec<Memory> =
            (0..bench.scale.count(5)).map(|_| look(bench, script)).collect::<Result<_>>()?;
        let line = |what: String, ours: fn(&Memory) -> f64| {
            let rounds: Vec<Round> =
                found.iter().map(|m| Round { ours: ours(m), bare: m.agent }).collect();
            Line::of_rounds(ROW, what, Unit::Bytes, &rounds)
        };
        lines.push(
            line(format!("holder, {name} | its agent, a sleep"), |m| m.holder)?
                .within(Budget::AtMost(MAX_HOLDER_BYTES)),
        );
        lines.push(
            line(format!("holder + keeper, {name} | a sleep"), |m| m.holder + m.keeper)?
                .within(Budget::AtMost(MAX_BOTH_BYTES)),
        );
    }
    Ok(lines)
}

/// Starts a session and looks at its processes.
fn look(bench: &Bench, script: &str) -> Result<Memory> {
    let home = Home::new(bench.creel()?);
    let id = home.ask(&["launch", "sh", script])?;
    let done = home.path("done");
    look_until("the agent is done", || Ok(done.exists().then_some(())))?;
    pause(SETTLE)?;
    let view: serde_json::Value = serde_json::from_str(&home.ask(&["inspect", "--json", &id])?)?;
    let agent = view["currentRun"]["pid"].as_i64().context("the run has no process")?;
    let agent = i32::try_from(agent)?;
    let table = ProcessTable::read()?;
    let holder = table.entry(agent).context("the agent is gone")?.ppid;
    let keepers: Vec<i32> = table
        .entries()
        .filter(|entry| entry.ppid == holder && entry.pid != agent)
        .map(|entry| entry.pid)
        .collect();
    ensure!(keepers.len() == 1, "the holder has {} children beside its agent", keepers.len());
    let memory = Memory {
        holder: private_bytes(holder)?,
        keeper: private_bytes(keepers[0])?,
        agent: private_bytes(agent)?,
    };
    home.ask(&["kill", &id])?;
    Ok(memory)
}
