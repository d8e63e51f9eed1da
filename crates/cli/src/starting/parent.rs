//! Waking the parent of a session whose turn is over.

use creel_record::{Session, SessionId};
use creel_spool::{ReadError, Store};

use crate::context::Context;
use crate::dispatching::{Collectors, settle_left_behind};
use crate::output::say;
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::owed::Asker;
use crate::starting::right::{self, Doubt, Patience};

/// Wakes the parent of a session that a verb or a takeover ended, where no keeper will. What fails is
/// told, and no failure of the verb.
pub(crate) fn wake_parent_of(context: &Context, store: &Store, child: SessionId) {
    let woken = store
        .read(child)
        .map_err(Report::from)
        .and_then(|child| wake_parent((context, store), child.session(), Vec::new()));
    if let Err(report) = woken {
        say(&format!("creel: the parent of {child} was not woken\n{report}"));
    }
}

/// Gives what a child came to to its parent at rest, whose request for it ended with its run, and
/// starts the run that the parent is owed by that, with the child's credentials and the caller's.
///
/// A parent that runs is left alone: its request takes the outcome, or the end of its run does. So
/// is one in a store that this user doesn't vouch for.
///
/// # Errors
/// When the parent can't be read, written, or started; what was written of it stays, and is found
/// by whoever looks at the parent next.
pub(crate) fn wake_parent(
    (context, store): (&Context, &Store),
    child: &Session,
    variables: Vec<(String, String)>,
) -> Result<(), Report> {
    let Some(id) = resting_parent(store, child)? else { return Ok(()) };
    if !context.sweeps(store)? {
        return Ok(());
    }
    // Whoever has the lease may have looked at the child before it ended: they are waited for.
    let terms = (Doubt::Refuse, Patience::WhileLeaving);
    let Some(taken) = right::win(store, id, terms)? else { return Ok(()) };
    settle_left_behind((context, store), id, Collectors::Gone)?;
    let mut starter = Starter::new(context)?;
    let own = std::mem::replace(&mut starter.variables, variables);
    starter.variables.extend(own);
    Asker { context, store, starter: &starter }.settle_taken(id, taken).map(drop)
}

/// Returns the parent when it rests and the child's result is still owed to it.
fn resting_parent(store: &Store, child: &Session) -> Result<Option<SessionId>, Report> {
    let Some(parent) = child.parent else { return Ok(None) };
    let session = match store.read(parent.session_id) {
        Ok(published) => published.snapshot.session,
        Err(ReadError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_owed = session.dispatches.iter().any(|owed| owed.child_session_id == child.id);
    Ok((is_owed && session.live_run().is_none()).then_some(session.id))
}
