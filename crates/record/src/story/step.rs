//! The steps of stories.

use crate::words::{Disposition, EndReason, Mode, Outcome};

/// One step of a story.
#[derive(Clone, Debug)]
pub(crate) enum Do {
    /// An operator's resume.
    Resume,
    /// Whatever is owed: the intended run, a re-prompt, or a wake (intent and start).
    Owed,
    /// The intent of an owed wake, without its start.
    Intend,
    /// The process exists and the harness told its id.
    Spawn,
    Finish(&'static str),
    Await(&'static str),
    /// A return in the name of run n.
    ReturnOf(u64, Disposition, &'static str),
    /// A further turn of a live run.
    Turn,
    Exit(i32),
    Signal(i32),
    Observe(EndReason),
    Stop(EndReason),
    Interrupt(&'static str),
    EndWith(&'static str),
    Restore,
    Ask,
    Defer,
    /// Answers question n of those the session has.
    Answer(usize),
    Take(usize),
    Cancel(usize),
    Message,
    Room,
    /// A scheduled wake this many milliseconds after the start of the story.
    WakeAt(i64),
    /// The clock, this many milliseconds after the start of the story.
    Clock(i64),
    Claim(u128),
    Materialize(u128),
    Settle(u128, Outcome),
    Collect(u128, Outcome),
    Switch(Mode),
    Account(&'static str),
    Profile(&'static str),
    Register(&'static str, &'static str),
    Set(&'static str, &'static str),
    Slice(&'static str, &'static str),
    Note,
    Artifact(&'static str),
}
