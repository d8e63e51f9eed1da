//! What a list shows for an interactive session with a live terminal: read-side only, never stored.

use crate::words::{Mode, WorkState};

/// What the terminal wrapper sees of a live run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The harness works.
    Busy,
    /// The harness waits at its prompt.
    Idle,
}

/// A watched live run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// What its terminal shows.
    pub activity: Activity,
    /// Dispatches of the session that have no outcome yet.
    pub live_subagent_count: usize,
}

/// Returns the state to show: for an interactive session with a watched live run what the terminal
/// implies, in every other case the stored state. All read surfaces go through here.
pub fn observed_state(stored: WorkState, mode: Mode, watched: Option<Watched>) -> WorkState {
    match watched {
        Some(seen) if mode == Mode::Interactive => {
            if seen.activity == Activity::Busy || seen.live_subagent_count > 0 {
                WorkState::Working
            } else {
                WorkState::NeedsInput
            }
        }
        _ => stored,
    }
}
