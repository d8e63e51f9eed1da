//! The exit codes, all of them.

use std::process::ExitCode;

/// How a verb ended, as its exit code says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line was wrong, or the service asked is not up.
    Usage = 2,
    /// Nothing matched.
    NothingMatched = 3,
    /// Refused; nothing was changed.
    Refused = 4,
    /// The environment or the place can't be used.
    Unusable = 5,
    /// The store is of another revision.
    OtherRevision = 6,
    /// The time passed first; what was waited for is still pending.
    TimedOut = 7,
    /// A signal ended the wait; what was waited for runs on.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
