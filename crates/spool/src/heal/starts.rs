//! Making the lost starts of runs again.
//!
//! Without its start, a run's return and end would count for nothing: finished work would be done
//! again. The old snapshot and the run index know most runs whole; of any other the good events
//! behind the damage say that it ran.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use creel_record::event::fact::RunStarted;
use creel_record::{Cause, Run, RunId, Timestamp, TurnId};

use crate::heal::known::{self, Gap, Known};
use crate::heal::rewrite::Old;
use crate::run_index;
use crate::store::Store;

/// A start that is made again.
#[derive(Clone, Debug)]
pub(super) struct LostStart {
    /// When the run started.
    pub(super) time: Timestamp,
    /// The fact.
    pub(super) start: RunStarted,
}

/// Returns the starts that are lost, by the sequence that each is made again at.
pub(super) fn lost(store: &Store, old: &Old<'_>) -> io::Result<BTreeMap<u64, LostStart>> {
    let mut known = known::read(old)?;
    // The first event is the creation, whatever else is lost.
    for gap in &mut known.gaps {
        gap.sequences.start = gap.sequences.start.max(2);
    }
    let mut made = BTreeMap::new();
    for run in stored_runs(store, old)? {
        let said = known.said.get(&run.id);
        let turn_id = said.and_then(|said| said.turn_id).filter(|_| run.turn_count > 1);
        let start = RunStarted {
            run_id: run.id,
            turn_id: turn_id.unwrap_or(run.turn_id),
            number: run.number,
            cause: run.cause,
            attempt: run.attempt,
            continues_run_id: run.continues_run_id,
            prompt: None,
            machine_id: run.machine_id.clone(),
            boot_id: run.boot_id.clone(),
        };
        known.place(LostStart { time: run.started, start }, &mut made);
    }
    let mut named: Vec<(u64, RunId)> =
        known.said.iter().map(|(id, said)| (said.sequence, *id)).collect();
    named.sort_unstable();
    for (_, run_id) in named {
        if let Some(lost) = known.guess(run_id) {
            known.place(lost, &mut made);
        }
    }
    Ok(made)
}

/// Returns the runs that the old snapshot and the run index have, oldest first.
fn stored_runs(store: &Store, old: &Old<'_>) -> io::Result<Vec<Run>> {
    let mut runs = run_index::read_good(store, old.id)?;
    if let Some(snapshot) = old.snapshot {
        let held: BTreeSet<u64> = snapshot.session.runs.iter().map(|run| run.number).collect();
        runs.retain(|run| !held.contains(&run.number));
        runs.extend_from_slice(&snapshot.session.runs);
        runs.sort_by_key(|run| run.number);
    }
    Ok(runs)
}

impl Known {
    /// Gives a start that no good line is a sequence; none is left for it when nothing is lost
    /// where it must have stood.
    fn place(&mut self, lost: LostStart, made: &mut BTreeMap<u64, LostStart>) {
        let number = lost.start.number;
        let is_there =
            |start: &RunStarted| start.run_id == lost.start.run_id || start.number == number;
        if self.starts.iter().any(|(_, start)| is_there(start)) {
            return;
        }
        let before = self.starts.iter().filter(|(_, start)| start.number < number);
        let after = self.starts.iter().filter(|(_, start)| start.number > number);
        let low = before.map(|(sequence, _)| *sequence).max().unwrap_or(0);
        let named = self.said.get(&lost.start.run_id).map(|said| said.sequence);
        let high = after.map(|(sequence, _)| *sequence).chain(named).min().unwrap_or(u64::MAX);
        let free = |gap: &Gap| {
            let mut sequences = gap.sequences.clone();
            sequences
                .find(|sequence| (low + 1..high).contains(sequence) && !made.contains_key(sequence))
        };
        let mut places = self.gaps.iter().filter_map(|gap| free(gap).map(|at| (gap, at)));
        let is_due = |gap: &Gap| gap.next.is_none_or(|next| next >= lost.time);
        let Some((_, sequence)) =
            places.clone().find(|(gap, _)| is_due(gap)).or_else(|| places.next_back())
        else {
            return;
        };
        self.starts.push((sequence, lost.start.clone()));
        self.starts.sort_by_key(|(sequence, _)| *sequence);
        made.insert(sequence, lost);
    }

    /// Makes the start of a run that only its later events know.
    fn guess(&self, run_id: RunId) -> Option<LostStart> {
        let said = self.said.get(&run_id)?;
        let previous = self.starts.iter().rev().find(|(sequence, _)| *sequence < said.sequence);
        let previous = previous.map(|(_, start)| start);
        let promised = self.promised.get(&run_id);
        let turn_id = promised
            .map(|(turn_id, _)| *turn_id)
            .or(said.turn_id)
            .unwrap_or_else(|| TurnId::ordered(said.time, [0; 10]));
        let start = RunStarted {
            run_id,
            turn_id,
            number: previous.map_or(1, |start| start.number + 1),
            cause: promised.map_or(Cause::Resume, |(_, cause)| *cause),
            attempt: 0,
            continues_run_id: previous.map(|start| start.run_id),
            prompt: None,
            // No machine judges a run of another one; this one did its work or is gone.
            machine_id: previous.map(|start| start.machine_id.clone()).unwrap_or_default(),
            boot_id: said
                .boot_id
                .clone()
                .or_else(|| previous.map(|start| start.boot_id.clone()))
                .unwrap_or_default(),
        };
        Some(LostStart { time: said.time, start })
    }
}
