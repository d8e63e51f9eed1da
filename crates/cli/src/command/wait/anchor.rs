//! Which turn of a session is waited for, and what came of it.

use creel_record::dispatch::{Settlement, settlement};
use creel_record::words::Outcome;
use creel_record::{EventId, Run, RunId, Session, SessionId};
use creel_spool::Store;

use crate::report::Report;

/// Where the waiting for one session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// The session.
    pub(crate) id: SessionId,
    /// The run whose turn is waited for; none while no run is known.
    pub(crate) run: Option<RunId>,
    mark: Mark,
}

/// Which results count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// That of the anchored turn.
    Turn,
    /// Any newer than this one.
    After(Option<EventId>),
}

impl Anchor {
    /// Anchors at the session's current run, or at the one that shall start; with `is_next`, any
    /// result newer than the newest one counts.
    pub(crate) fn at(session: &Session, is_next: bool) -> Self {
        let current = session.current_run().map(|run| run.id);
        let run = current.or(session.intent.as_ref().map(|intent| intent.run_id));
        let newest = session.latest_result.as_ref().map(|result| result.event_id);
        let mark = if is_next { Mark::After(newest) } else { Mark::Turn };
        Self { id: session.id, run, mark }
    }

    /// Returns what came of the turn; none while it is pending, or may have gone on unseen.
    ///
    /// # Errors
    /// When the session can't be read.
    pub(crate) fn look(&self, store: &Store) -> Result<Option<Settlement>, Report> {
        let published = store.read(self.id)?;
        if published.is_stale {
            return Ok(None);
        }
        let session = published.snapshot.session;
        let found = match (self.mark, self.run) {
            (Mark::Turn, Some(run)) => settled(&chain(store, &session, run)?, &session, run),
            (Mark::After(passed), _) => next(&session, passed),
            (Mark::Turn, None) => None,
        };
        Ok(found)
    }
}

/// Returns the runs among which a turn is followed: the newest ones, unless it began before them.
///
/// # Errors
/// When the run index can't be read.
pub(crate) fn chain(store: &Store, session: &Session, from: RunId) -> Result<Vec<Run>, Report> {
    let is_recent = session.run(from).is_some() || session.run_count <= session.runs.len() as u64;
    if is_recent { Ok(session.runs.clone()) } else { Ok(store.runs(session.id, session)?) }
}

fn settled(chain: &[Run], session: &Session, anchor: RunId) -> Option<Settlement> {
    Some(settlement(session, chain, anchor)).filter(|s| s.outcome != Outcome::Pending)
}

fn next(session: &Session, passed: Option<EventId>) -> Option<Settlement> {
    if let Some(result) = session.latest_result.as_ref().filter(|r| Some(r.event_id) != passed) {
        return Some(Settlement {
            outcome: Outcome::Result,
            run_number: Some(result.run_number),
            result: Some(result.clone()),
        });
    }
    let run = session.current_run()?;
    let has_passed = run.result.as_ref().is_some_and(|r| Some(r.event_id) == passed);
    if !has_passed {
        return settled(&session.runs, session, run.id);
    }
    // The turn that returned is over; only a verdict on the session rules out another one.
    (session.discarded || session.is_killed()).then_some(Settlement {
        outcome: Outcome::Abandoned,
        run_number: Some(run.number),
        result: None,
    })
}
