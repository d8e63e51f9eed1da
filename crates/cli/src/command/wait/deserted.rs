//! Sessions that nobody works on although something is to be done: a run whose holder died and whose
//! end nobody has recorded, and a run that is owed and that nobody starts.

use std::time::Duration;

use creel_record::{Owed, Session, SessionId, decide};
use creel_spool::Store;
use creel_sys::Deadline;
use creel_sys::flock_table;
use creel_sys::process::ProcessHandle;

use crate::codes::Code;
use crate::collecting::{holder_lives, holder_of, last_holder};
use crate::context::Context;
use crate::dispatching::{Collectors, settle_left_behind};
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::birth::Settled;
use crate::starting::owed::{Asker, session_now};
use crate::starting::parent::wake_parent_of;
use crate::starting::right::{self, Doubt, Patience};

/// Pause before what could not be published is tried again: nothing tells when there is room.
const PUBLISH_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a session without a run is left to whoever just created it: they win its lease next.
const NEWBORN_MS: i64 = 5_000;

/// What is known of the sessions that are waited for.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// True when one may have changed.
    pub(super) has_changed: bool,
    /// The living holders, whose end is to be noticed.
    pub(super) holders: Vec<ProcessHandle>,
    /// When to look again although nothing happened.
    pub(super) look_again: Option<Deadline>,
}

/// What may be done about a session that nobody works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// All that is to be done: this user vouches for the store.
    Act,
    /// Nothing but to say so.
    Tell,
}

/// Does, or tells, what is to be done for every such session among `ids`.
///
/// Keepers do all of this for their own sessions; it is left to whoever waits when they were
/// killed.
///
/// # Errors
/// When a session can't be read, what is left of a run can't be proven dead, or what is owed can't
/// or mustn't be started.
pub(super) fn see_to(
    (context, duty): (&Context, Duty),
    store: &Store,
    ids: &[SessionId],
) -> Result<Seen, Report> {
    let mut seen = Seen::default();
    for id in ids {
        match publish(store, *id, duty)? {
            Shown::Whole => {}
            Shown::Now => seen.has_changed = true,
            Shown::NotYet => {
                let due = Deadline::after(PUBLISH_AGAIN_AFTER);
                seen.look_again = Some(seen.look_again.map_or(due, |other| other.min(due)));
                continue;
            }
        }
        let session = store.read(*id)?.snapshot.session;
        if duty == Duty::Act && session.live_run().is_none() && !session.dispatches.is_empty() {
            // Whoever collects does it from inside a run: none is left to do so.
            seen.has_changed |= settle_left_behind((context, store), *id, Collectors::Gone)? > 0;
        }
        let session = store.read(*id)?.snapshot.session;
        match decide(&session, context.now()) {
            Owed::Nothing => {}
            Owed::LiveRun if holder_lives(&session) => seen.holders.extend(holder_of(&session)),
            Owed::LiveRun if duty == Duty::Act => {
                let taken = right::win(store, *id, (Doubt::Refuse, Patience::AfterDeath))?;
                // Nothing was recorded where the end stands in the log and is not visible yet.
                seen.has_changed |= taken.is_some_and(|taken| taken.recorded.is_some())
                    || store.read(*id)?.snapshot.session.live_run().is_none();
                wake_parent_of(context, store, *id);
            }
            Owed::LiveRun => tell(store, &session, "the end of its run is to be recorded")?,
            Owed::StartIntended | Owed::Reprompt { .. } | Owed::Wake { .. } => {
                // A holder stays until it is decided what follows its run.
                if let Some(holder) = last_holder(&session) {
                    seen.holders.push(holder);
                } else if let Some(due) = newborn(&session, context) {
                    let earlier = seen.look_again.map_or(due, |other| other.min(due));
                    seen.look_again = Some(earlier);
                } else if duty == Duty::Act {
                    start_owed(context, store, &session)?;
                    seen.has_changed = true;
                } else {
                    tell(store, &session, "a run of it is owed")?;
                }
            }
        }
    }
    Ok(seen)
}

/// Whether all that a log holds is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It was.
    Whole,
    /// It is now.
    Now,
    /// It can't be published yet: a disk is full, say.
    NotYet,
}

/// Publishes what a dead writer left in a session's log: nothing may be told of a session that has
/// gone on since.
///
/// # Errors
/// When the session can't be read, or is stale where nothing may be done about it.
pub(super) fn publish(store: &Store, id: SessionId, duty: Duty) -> Result<Shown, Report> {
    if !store.read(id)?.is_stale {
        return Ok(Shown::Whole);
    }
    if duty == Duty::Tell {
        let message = format!("the log of session {id} holds more than is published");
        let root = store.root().display();
        let next = format!("creel --orb-root {root} rebuild-session-snapshots {id}");
        return Err(Report::new(Code::NoOutcome, message).next(next));
    }
    session_now(store, id)?;
    Ok(if store.read(id)?.is_stale { Shown::NotYet } else { Shown::Now })
}

/// Returns when a session without a run is old enough that nobody is about to start it.
fn newborn(session: &Session, context: &Context) -> Option<Deadline> {
    session.unstarted_first_run()?;
    let age_ms = context.now().as_millis().saturating_sub(session.updated.as_millis());
    // What seems to come from the future is old.
    let left_ms = (0..NEWBORN_MS).contains(&age_ms).then(|| NEWBORN_MS - age_ms)?;
    Some(Deadline::after(Duration::from_millis(u64::try_from(left_ms).unwrap_or(0))))
}

fn start_owed(context: &Context, store: &Store, session: &Session) -> Result<(), Report> {
    let starter = Starter::new(context)?;
    let asker = Asker { context, store, starter: &starter };
    if asker.settle(session.id, (Doubt::Refuse, Patience::Never))? == Settled::Held {
        right::wait_for_lease(store, session.id)?;
    }
    Ok(())
}

/// Says that nobody works on a session, unless somebody has its lease, or that can't be told.
fn tell(store: &Store, session: &Session, what: &str) -> Result<(), Report> {
    let id = session.id;
    // Tried last, since a try is in the way of others; the table doesn't know all who have it.
    if flock_table::is_locked(&store.lease_path(id)).unwrap_or(true)
        || !store.lease(id).is_ok_and(|lease| lease.is_some())
    {
        return Ok(());
    }
    let message = format!(
        "nobody works on session {id}, although {what}; nothing is started unasked in a store \
         that is not trusted"
    );
    let next = format!("creel --orb-root {} reconcile {id} --grace 0", store.root().display());
    Err(Report::new(Code::NoOutcome, message).next(next))
}
