//! Ending what a test left running: only processes that were started in its own home.

use std::path::Path;
use std::time::Duration;

use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::tree::{Environ, ProcessTable, environ_value};

/// Variables whose values lie below the home, and no other one's. A holder and a keeper have the
/// first, an agent has the others.
const MARKS: [&str; 3] = ["CREEL_RUNTIME_DIR", "HOME", "ORBH_ORB_ROOT_DIR"];

/// Processes that start others while they are ended are met again in the next round.
const MAX_ROUNDS: usize = 20;

/// How long one killed process may take to be gone.
const GONE_DEADLINE: Duration = Duration::from_secs(20);

/// Kills every process whose environment lies below `root`, and waits until they are gone.
///
/// # Panics
/// When some are left after the last round.
pub(super) fn end_all(root: &Path) {
    for _ in 0..MAX_ROUNDS {
        let found = marked(root);
        if found.is_empty() {
            return;
        }
        for process in &found {
            // One that has ended meanwhile is what we want.
            let _ = process.signal(Signal::KILL);
        }
        for process in &found {
            let _ = process.wait_gone(GONE_DEADLINE);
        }
    }
    assert!(marked(root).is_empty(), "processes of {} are left", root.display());
}

fn marked(root: &Path) -> Vec<ProcessIdentity> {
    let table = ProcessTable::read().expect("/proc can be read");
    table
        .entries()
        .filter(|entry| !entry.is_dead() && is_marked(entry.pid, root))
        .filter_map(|entry| ProcessIdentity::of(entry.pid).ok().flatten())
        // Asked again: the pid may be another's by now.
        .filter(|identity| is_marked(identity.pid, root))
        .collect()
}

fn is_marked(pid: i32, root: &Path) -> bool {
    MARKS.iter().any(|name| match environ_value(pid, name) {
        Environ::Value(value) => Path::new(&value).starts_with(root),
        _ => false,
    })
}
