//! Ending the agent's processes when the holder died: what it can no longer do, its keeper does.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use creel_sys::cgroup::Cgroup;
use creel_sys::end_tree::{Pressure, end_tree};
use creel_sys::poll::wait_readable;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::session::SessionQuery;

use super::bell::{Bell, Note};
use crate::control::State;
use crate::say::say;

/// How long what is killed may take to go.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// Pause before the next attempt, unless what outlived this one goes earlier; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Ends the tree of a dead holder on a thread, again and again until it is proven dead.
pub(super) fn end(
    session_id: &str,
    state: Option<&State>,
    grace: Duration,
    bell: Bell,
) -> io::Result<()> {
    let mut query = SessionQuery::new(session_id)?;
    query.leader = state.map(|state| state.agent.clone());
    query.cgroup =
        state.and_then(|state| state.cgroup.as_ref()).map(|dir| Cgroup::at(PathBuf::from(dir)));
    let since = match state {
        Some(state) => state.holder.start_ticks,
        None => ProcessIdentity::current()?.start_ticks,
    };
    query.since_ticks = Some(since);
    thread::Builder::new().name("orphans".to_owned()).spawn(move || {
        let limit = grace.saturating_add(KILL_WITHIN);
        let mut pressure = Pressure { first: Signal::TERM, grace, limit };
        let mut pause = FIRST_PAUSE;
        loop {
            match end_tree(|| query.find(), pressure) {
                Ok(ended) => {
                    let identities: Vec<_> =
                        ended.survivors.iter().map(|s| s.identity.clone()).collect();
                    let is_over = ended.is_proven_dead();
                    bell.ring(Note::Orphans(ended.survivors));
                    if is_over {
                        return;
                    }
                    wait_for_one(&identities, pause);
                }
                Err(error) => {
                    say!("creel keep: can't end the agent: {error}");
                    thread::park_timeout(pause);
                }
            }
            pause = (pause * 2).min(LAST_PAUSE);
            pressure = Pressure { first: Signal::KILL, grace: Duration::ZERO, limit: KILL_WITHIN };
        }
    })?;
    Ok(())
}

/// Waits until one of them is gone, or the time has passed.
fn wait_for_one(identities: &[ProcessIdentity], within: Duration) {
    let handles: Vec<_> =
        identities.iter().filter_map(|identity| identity.open().ok().flatten()).collect();
    let fds: Vec<_> = handles.iter().map(AsFd::as_fd).collect();
    if wait_readable(&fds, within).is_err() {
        thread::park_timeout(within);
    }
}
