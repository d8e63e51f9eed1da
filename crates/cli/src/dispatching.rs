//! A parent's account of what its children owe it: a slot before a child exists, and a settlement
//! once the child's turn has its outcome.

use creel_record::caps::Caps;
use creel_record::command::Verdict;
use creel_record::command::dispatch::{claim, materialize, settle};
use creel_record::dispatch::{Dispatch, Settlement, settlement};
use creel_record::words::Outcome;
use creel_record::{Refusal, RunId, Session, SessionId, Timestamp};
use creel_spool::{ReadError, Store};

use crate::codes::Code;
use crate::context::Context;
use crate::report::Report;

/// Milliseconds after which an outcome that nobody marked as collected counts as left behind: a
/// waiting `request` marks it within a few.
const UNCOLLECTED_AFTER_MS: i64 = 10_000;

/// Milliseconds after which a slot without a child is given back: the child is created right after
/// the slot is claimed.
const ABANDONED_AFTER_MS: i64 = 60_000;

/// The overrides of the caps.
const DEPTH_CAP: &str = "ORBH_DISPATCH_DEPTH_CAP";
const FANOUT_CAP: &str = "ORBH_DISPATCH_FANOUT_CAP";

/// A parent's side of one dispatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// The parent.
    pub(crate) parent: SessionId,
    /// The child.
    pub(crate) child: SessionId,
    /// The child's run whose result is owed.
    pub(crate) run: RunId,
}

/// Whether somebody may still be about to take an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collectors {
    /// The parent's run lives, and its requests in it.
    MayLive,
    /// They ended with the parent's run.
    Gone,
}

/// Reads the caps of this call.
///
/// # Errors
/// When an override is no number.
pub(crate) fn caps() -> Result<Caps, Report> {
    Ok(Caps::with_overrides(number(DEPTH_CAP)?, number(FANOUT_CAP)?))
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<T>, Report> {
    let Some(text) = std::env::var(name).ok().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        Report::new(Code::Usage, format!("{name} is '{text}', which is no number"))
            .next(format!("unset {name}"))
    })
}

impl Claim {
    /// Takes the slot. When there is none, what children left behind is settled first.
    ///
    /// # Errors
    /// When the tree would be too deep or too wide, or the parent can't be written.
    pub(crate) fn take(
        &self,
        context: &Context,
        store: &Store,
        target: &str,
    ) -> Result<(), Report> {
        let caps = caps()?;
        let attempt = || {
            context.append(store, self.parent, |parent| {
                claim(parent, self.child, self.run, (target, caps)).map(Into::into)
            })
        };
        match attempt() {
            Err(report) if report.code() == Code::TooWide => {
                settle_left_behind((context, store), self.parent, Collectors::MayLive)?;
                attempt()?;
            }
            other => {
                other?;
            }
        }
        Ok(())
    }

    /// Records that the child exists.
    ///
    /// # Errors
    /// When the parent can't be written.
    pub(crate) fn materialize(&self, context: &Context, store: &Store) -> Result<(), Report> {
        context.record(store, self.parent, |parent| {
            Ok::<_, Refusal>(match materialize(parent, self.child, self.run) {
                Some(fact) => Verdict::Append(fact.into()),
                None => Verdict::Already(()),
            })
        })?;
        Ok(())
    }

    /// Records the outcome of the child's turn; `is_collected` when a waiting caller has it.
    ///
    /// # Errors
    /// When the parent can't be written.
    pub(crate) fn settle(
        &self,
        (context, store): (&Context, &Store),
        settlement: &Settlement,
        is_collected: bool,
    ) -> Result<(), Report> {
        let dispatch = (self.child, self.run);
        context.record(store, self.parent, |parent| {
            Ok::<_, Refusal>(match settle(parent, dispatch, settlement, is_collected) {
                Some(fact) => Verdict::Append(fact.into()),
                None => Verdict::Already(()),
            })
        })?;
        Ok(())
    }
}

/// Settles the dispatches of a parent whose outcome stands in the record and was not taken by
/// anybody, so that their results reach the parent by a wake. Returns how many.
///
/// # Errors
/// When a session can't be read or the parent can't be written.
pub(crate) fn settle_left_behind(
    (context, store): (&Context, &Store),
    parent: SessionId,
    collectors: Collectors,
) -> Result<usize, Report> {
    let session = store.read(parent)?.snapshot.session;
    let mut count = 0;
    for dispatch in &session.dispatches {
        let Some(settlement) = left_behind(store, dispatch, (context.now(), collectors))? else {
            continue;
        };
        let claim =
            Claim { parent, child: dispatch.child_session_id, run: dispatch.initiated_run_id };
        claim.settle((context, store), &settlement, false)?;
        count += 1;
    }
    Ok(count)
}

fn left_behind(
    store: &Store,
    dispatch: &Dispatch,
    (now, collectors): (Timestamp, Collectors),
) -> Result<Option<Settlement>, Report> {
    let age_ms = |since: Timestamp| now.as_millis().saturating_sub(since.as_millis());
    let child = match store.read(dispatch.child_session_id) {
        Ok(published) => published.snapshot.session,
        Err(ReadError::NotFound { .. }) => {
            let is_abandoned = age_ms(dispatch.started_at) >= ABANDONED_AFTER_MS;
            let outcome = Outcome::Abandoned;
            return Ok(is_abandoned.then_some(Settlement {
                outcome,
                run_number: None,
                result: None,
            }));
        }
        // It is just being created.
        Err(ReadError::NoSnapshot { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let runs = store.runs(child.id, &child)?;
    let settlement = settlement(&child, &runs, dispatch.initiated_run_id);
    let is_left = settlement.outcome.discharges()
        && (collectors == Collectors::Gone || age_ms(child.updated) >= UNCOLLECTED_AFTER_MS);
    Ok(is_left.then_some(settlement))
}

/// Returns the children of a session that still work: what it waits for and what runs.
///
/// # Errors
/// When a child can't be read.
pub(crate) fn living_children(store: &Store, parent: &Session) -> Result<Vec<Session>, Report> {
    let mut living = Vec::new();
    for dispatch in &parent.dispatches {
        match store.read(dispatch.child_session_id) {
            Ok(published) => {
                let child = published.snapshot.session;
                let works = child.work_state() == creel_record::WorkState::Working;
                if child.live_run().is_some() || works {
                    living.push(child);
                }
            }
            Err(ReadError::NotFound { .. } | ReadError::NoSnapshot { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(living)
}
