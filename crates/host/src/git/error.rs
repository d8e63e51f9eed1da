//! Why a call of git came to nothing.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use creel_sys::exit::Exit;

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git can't be started")]
    Missing {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something around the process failed.
    #[error("can't {what} git {verb}")]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The command.
        verb: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Git said no.
    #[error("git {verb} in {dir} ended with {exit}: {stderr}")]
    Failed {
        /// The command.
        verb: String,
        /// Where.
        dir: PathBuf,
        /// How it ended.
        exit: Exit,
        /// The end of what it printed on standard error, on one line.
        stderr: String,
    },
    /// It took too long and was ended with all it had started.
    #[error("git {verb} in {dir} was ended after {} s", after.as_secs())]
    TimedOut {
        /// The command.
        verb: String,
        /// Where.
        dir: PathBuf,
        /// How long it had.
        after: Duration,
    },
    /// It printed something that git doesn't print.
    #[error("git {verb} answered '{answer}'")]
    Unexpected {
        /// The command.
        verb: &'static str,
        /// The beginning of what it printed.
        answer: String,
    },
}

impl GitError {
    /// Makes an error of an answer that can't be read.
    pub(crate) fn unexpected(verb: &'static str, answer: &[u8]) -> Self {
        let answer = String::from_utf8_lossy(answer).chars().take(200).collect();
        Self::Unexpected { verb, answer }
    }

    /// Tells whether git itself refused, rather than that it could not be asked.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}
