//! The closed word lists of the record, each with one spelling.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The text is none of a list's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not one of {words}")]
pub struct ParseWordError {
    /// The refused text.
    pub text: String,
    /// The accepted words, joined with commas.
    pub words: &'static str,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $first:ident = $first_word:literal $(#[$first_doc:meta])*
        $(, $variant:ident = $word:literal $(#[$variant_doc:meta])*)* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[$first_doc])*
            #[serde(rename = $first_word)]
            $first,
            $($(#[$variant_doc])*
            #[serde(rename = $word)]
            $variant,)*
        }

        impl $name {
            /// Every word of the list, in order.
            pub const ALL: &[Self] = &[Self::$first $(, Self::$variant)*];

            /// Returns the stored spelling.
            pub fn as_str(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = ParseWordError;

            fn from_str(text: &str) -> Result<Self, ParseWordError> {
                Self::ALL.iter().copied().find(|w| w.as_str() == text).ok_or_else(|| {
                    ParseWordError {
                        text: text.chars().take(64).collect(),
                        words: concat!($first_word $(, ", ", $word)*),
                    }
                })
            }
        }
    };
}

words!(
    /// The execution shape of a session.
    Mode {
        Interactive = "interactive" /** A person sits at a terminal. */,
        Headless = "headless" /** Runs alone; only an explicit return is a clean finish. */,
        Subagent = "subagent" /** Headless with a parent that its results are for. */,
    }
);

words!(
    /// The operator-facing lifecycle fact of a session.
    WorkState {
        Working = "working" /** A live or recoverable turn is active. */,
        NeedsInput = "needs-input" /** A blocking question waits for an answer. */,
        Awaiting = "awaiting" /** At rest and wakeable. */,
        Finished = "finished" /** Returned with finish, or closed by an operator. */,
        Abandoned = "abandoned" /** Discarded, killed or lost. */,
    }
);

words!(
    /// The shelf a session stands on, apart from its work state.
    Retention {
        Active = "active" /** Ordinary and visible. */,
        Parked = "parked" /** At rest, to be resumed. */,
        Closed = "closed" /** Taken out of operation. */,
        Finished = "finished" /** Ended with an explicit return. */,
        Error = "error" /** Ended without a completion fact. */,
    }
);

words!(
    /// How a return leaves the session.
    Disposition {
        Finish = "finish" /** The work is over. */,
        Await = "await" /** Dormant and wakeable. */,
    }
);

words!(
    /// Why a run ended, or why its end was asked for.
    EndReason {
        Returned = "returned" /** An explicit return was stored first. */,
        ExitZero = "exit-zero" /** Exit code 0 with no return. */,
        ExitNonzero = "exit-nonzero" /** Another exit code with no return. */,
        Signal = "signal" /** Killed by a signal that nobody recorded. */,
        Hangup = "hangup" /** The terminal went away. */,
        SpawnFailed = "spawn-failed" /** The process never started. */,
        Unknown = "unknown" /** The end was seen, its cause was not. */,
        FailedUnreturned = "failed-unreturned" /** No return after the last re-prompt. */,
        Lost = "lost" /** Proven dead with no recorded exit. */,
        Killed = "killed" /** `kill`. */,
        Closed = "closed" /** `close`. */,
        Parked = "parked" /** `park`. */,
        Discarded = "discarded" /** `discard`. */,
        Ended = "ended" /** `end`. */,
        Interrupted = "interrupted" /** `interrupt`: a new run follows. */,
        Compacted = "compacted" /** A fresh context follows on the same session. */,
        Switched = "switched" /** The other shape follows. */,
        Migrated = "migrated" /** The account moved. */,
        ProfileSwitched = "profile-switched" /** The profile changed. */,
        ProviderError = "provider-error" /** A usage limit, rate limit or API failure. */,
    }
);

words!(
    /// Why a run was started.
    Cause {
        Launch = "launch" /** `launch`: the first run of a peer. */,
        Request = "request" /** `request`: a first run or a follow-up with a waiting caller. */,
        Resume = "resume" /** `resume`. */,
        Reprompt = "reprompt" /** The last run returned nothing. */,
        Wake = "wake" /** New activity for a session at rest. */,
        Interrupt = "interrupt" /** `interrupt` cut the last run. */,
    }
);

words!(
    /// Who owes what at a run's end; never both.
    Authority {
        Record = "record" /** The re-prompt rules of the record. */,
        Delivery = "delivery" /** The turn-end rule of the work layer. */,
    }
);

words!(
    /// Whether a question holds its run.
    QuestionKind {
        Blocking = "blocking" /** Suspends the run until it is answered. */,
        Deferred = "deferred" /** Leaves the lifecycle alone; the answer is a wake. */,
    }
);

words!(
    /// The outcome of one dispatched turn; closed set.
    Outcome {
        Result = "result" /** A result was returned. */,
        ApiError = "api-error" /** The provider failed the run. */,
        FailedUnreturned = "failed-unreturned" /** No return after the last re-prompt. */,
        Abandoned = "abandoned" /** Killed, discarded or lost. */,
        Hangup = "hangup" /** The child's terminal went away. */,
        Adopted = "adopted" /** A person took the child over. */,
        Pending = "pending" /** Nothing yet. */,
    }
);

impl Default for Disposition {
    /// Returns `finish`: what a return means that says nothing else.
    fn default() -> Self {
        Self::Finish
    }
}

impl EndReason {
    /// True for a verdict on the session that a return of the dying agent no longer changes.
    pub fn stands_against_a_return(self) -> bool {
        matches!(self, Self::Killed | Self::Closed | Self::Parked | Self::Ended)
    }

    /// True for an end that somebody asked for; no re-prompt follows one.
    pub fn is_deliberate(self) -> bool {
        matches!(
            self,
            Self::Killed
                | Self::Closed
                | Self::Parked
                | Self::Discarded
                | Self::Ended
                | Self::Interrupted
                | Self::Compacted
                | Self::Switched
                | Self::Migrated
                | Self::ProfileSwitched
        )
    }

    /// True for an exit without a return that the re-prompt rules still rule on.
    pub fn is_unreturned_exit(self) -> bool {
        matches!(
            self,
            Self::ExitZero | Self::ExitNonzero | Self::Signal | Self::Hangup | Self::Unknown
        )
    }
}

impl Cause {
    /// True when the run's prompt is an operator prompt: one given to launch, request or resume.
    pub fn carries_operator_prompt(self) -> bool {
        matches!(self, Self::Launch | Self::Request | Self::Resume)
    }
}

impl Outcome {
    /// True when the outcome settles the dispatch obligation.
    pub fn discharges(self) -> bool {
        !matches!(self, Self::Pending | Self::Adopted)
    }
}
