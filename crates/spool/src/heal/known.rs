//! What the good lines of a damaged log say of runs, and where lines are lost between them.

use std::collections::BTreeMap;
use std::io;

use creel_record::event::fact::RunStarted;
use creel_record::event::{Event, Fact};
use creel_record::{Cause, RunId, Timestamp, TurnId};

use crate::heal::rewrite::Old;
use crate::walk::{Bounds, Start, Step, Walk};

/// A stretch of sequences whose events are lost.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    /// The sequences.
    pub(super) sequences: std::ops::Range<u64>,
    /// When the good event behind it was written; none at the end of the log.
    pub(super) next: Option<Timestamp>,
}

/// What is said of a run.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// The sequence of the first event that names it.
    pub(super) sequence: u64,
    /// When that was written.
    pub(super) time: Timestamp,
    /// The turn that it started with.
    pub(super) turn_id: Option<TurnId>,
    /// The boot that it ran in.
    pub(super) boot_id: Option<String>,
    /// True once a further turn was begun: turns that are named later tell nothing of the first.
    is_turned: bool,
}

/// What the good lines say.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The starts, each with its sequence, in order.
    pub(super) starts: Vec<(u64, RunStarted)>,
    /// What events other than its start say of each run.
    pub(super) said: BTreeMap<RunId, Said>,
    /// Runs that were to start.
    pub(super) promised: BTreeMap<RunId, (TurnId, Cause)>,
    /// What is lost, in order.
    pub(super) gaps: Vec<Gap>,
}

/// Reads the good lines of the old log.
pub(super) fn read(old: &Old<'_>) -> io::Result<Known> {
    let published_bytes = old.snapshot.map_or(0, |snapshot| snapshot.log.len_bytes);
    let bounds = Bounds { end: old.log.stat.len_bytes, published_bytes };
    let mut walk = Walk::new(old.log.file.as_ref(), old.id, Start::of_log(old.id), bounds);
    let mut known = Known::default();
    let mut next = 1;
    while let Some(step) = walk.next()? {
        let Step::Good(good) = step else { continue };
        let event = &good.event;
        if event.sequence > next {
            known.gaps.push(Gap { sequences: next..event.sequence, next: Some(event.time) });
        }
        next = event.sequence + 1;
        known.take(event);
    }
    let published = old.snapshot.map_or(0, |snapshot| snapshot.log.sequence);
    if next <= published {
        known.gaps.push(Gap { sequences: next..published + 1, next: None });
    }
    Ok(known)
}

impl Known {
    fn take(&mut self, event: &Event) {
        match &event.fact {
            Fact::SessionCreated(data) => {
                let first = data.first_run;
                self.promised.insert(first.run_id, (first.turn_id, data.cause));
            }
            Fact::RunIntended(data) => {
                self.promised.insert(data.run_id, (data.turn_id, Cause::Wake));
            }
            Fact::RunStarted(data) => self.starts.push((event.sequence, data.clone())),
            Fact::RunSpawned(data) => {
                self.name(event, data.run_id).boot_id = Some(data.agent.boot_id.clone());
            }
            Fact::NativeIdentified(data) => {
                self.name(event, data.run_id);
            }
            Fact::TurnStarted(data) => self.name(event, data.run_id).is_turned = true,
            Fact::RunReturned(data) => {
                let said = self.name(event, data.run_id);
                if !said.is_turned {
                    said.turn_id.get_or_insert(data.turn_id);
                }
            }
            Fact::RunEndRequested(data) => {
                self.name(event, data.run_id);
                if let Some(next) = &data.follow_up {
                    self.promised.insert(next.run_id, (next.turn_id, Cause::Interrupt));
                }
            }
            Fact::RunEnded(data) => {
                self.name(event, data.run_id);
            }
            Fact::RequestAsked(data) => {
                if let Some(run_id) = data.run_id {
                    self.name(event, run_id);
                }
            }
            _ => {}
        }
    }

    fn name(&mut self, event: &Event, run_id: RunId) -> &mut Said {
        self.said.entry(run_id).or_insert_with(|| Said {
            sequence: event.sequence,
            time: event.time,
            turn_id: None,
            boot_id: None,
            is_turned: false,
        })
    }
}
