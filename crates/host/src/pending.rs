//! Whether a store holds a session that waits to be woken: then a host has something to look after.

use creel_record::{Owed, Session, Timestamp, WorkState, decide};
use creel_spool::{RowFilter, Store};
use creel_sys::boot;

/// Tells whether a session of the store has a wake before it, or is owed a run. What can't be read
/// may have one.
pub(crate) fn has_pending_wake(store: &Store) -> bool {
    let Ok(rows) = store.rows(RowFilter::Visible) else { return true };
    let now = Timestamp::from_millis(i64::try_from(boot::wall_time_ms()).unwrap_or(i64::MAX));
    rows.iter().any(|row| {
        let may_wait = row.parse().map_or(true, |row| {
            [WorkState::Awaiting, WorkState::Working].iter().any(|it| it.as_str() == row.work_state)
        });
        may_wait && store.read(row.id).map_or(true, |published| waits(published.session(), now))
    })
}

fn waits(session: &Session, now: Timestamp) -> bool {
    session.pending.wake_at.is_some() || !matches!(decide(session, now), Owed::Nothing)
}
