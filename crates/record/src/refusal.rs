//! Refusals: what a rule of the record says no to. Nothing was changed by a refused command.

use crate::ids::{RequestId, RunId, SessionId};
use crate::words::{EndReason, Mode, WorkState};

/// Why a command was refused. `code()` is stable; the text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Text over its bound.
    #[error("{what} has {len_bytes} bytes; at most {max_bytes} are taken")]
    TooLong {
        /// What was too long.
        what: &'static str,
        /// Its length.
        len_bytes: usize,
        /// The bound.
        max_bytes: usize,
    },
    /// A kept environment over its bound.
    #[error(
        "kept environment has {len_bytes} bytes, {largest_bytes} of them in {largest}; at most {max_bytes} are taken"
    )]
    EnvironmentTooLong {
        /// Its length.
        len_bytes: usize,
        /// The bound.
        max_bytes: usize,
        /// Its largest variable.
        largest: String,
        /// What that takes.
        largest_bytes: usize,
    },
    /// Text that must not be empty.
    #[error("{what} is empty")]
    Empty {
        /// What was empty.
        what: &'static str,
    },
    /// A control character where a line is expected.
    #[error("{what} holds a control character")]
    ControlCharacter {
        /// What held it.
        what: &'static str,
    },
    /// A write to a reserved key.
    #[error("keys under 'core:' belong to the system; '{key}' was not set")]
    ReservedKey {
        /// The key.
        key: String,
    },
    /// Too many of something at once.
    #[error("the session already has {count} {what}; at most {max} are kept")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// The bound.
        max: usize,
    },
    /// The session has no run to act on.
    #[error("session {session} has no run yet")]
    NoRun {
        /// The session.
        session: SessionId,
    },
    /// The named run is not among the session's newest runs.
    #[error("run {run} is not one of the newest runs of session {session}")]
    UnknownRun {
        /// The session.
        session: SessionId,
        /// The run.
        run: RunId,
    },
    /// A second, different return of a turn.
    #[error("run {run_number} has already returned ({disposition}, at {at}); its result stands")]
    AlreadyReturned {
        /// The run's number.
        run_number: u64,
        /// The first return's disposition.
        disposition: String,
        /// When it was stored.
        at: String,
    },
    /// A run is live.
    #[error("run {number} of session {session} is still live")]
    RunLive {
        /// The session.
        session: SessionId,
        /// The run's number.
        number: u64,
    },
    /// The end of the live run is asked for already.
    #[error("run {number} of session {session} is already being ended ({reason})")]
    BeingEnded {
        /// The session.
        session: SessionId,
        /// The run's number.
        number: u64,
        /// Why it ends.
        reason: EndReason,
    },
    /// The session is discarded.
    #[error("session {session} is discarded")]
    Discarded {
        /// The session.
        session: SessionId,
    },
    /// The session's turns are ruled by the work layer.
    #[error("session {session} belongs to a delivery; the record starts no run of it")]
    DeliveryOwned {
        /// The session.
        session: SessionId,
    },
    /// The verb does not fit the mode.
    #[error("session {session} is {mode}; {verb} needs another mode")]
    WrongMode {
        /// The session.
        session: SessionId,
        /// Its mode.
        mode: Mode,
        /// The verb.
        verb: &'static str,
    },
    /// The verb does not fit the work state.
    #[error("session {session} is {state}; {verb} does not apply")]
    WrongState {
        /// The session.
        session: SessionId,
        /// Its state.
        state: WorkState,
        /// The verb.
        verb: &'static str,
    },
    /// No question waits for an answer.
    #[error("session {session} has no open question")]
    NoQuestion {
        /// The session.
        session: SessionId,
    },
    /// Several questions wait and none was named.
    #[error("session {session} has {count} open questions; name one")]
    WhichQuestion {
        /// The session.
        session: SessionId,
        /// How many.
        count: usize,
    },
    /// The question has another answer already.
    #[error("question {request} is already answered")]
    AlreadyAnswered {
        /// The question.
        request: RequestId,
    },
    /// The tree is too deep.
    #[error("a child of session {session} would have depth {depth}; the cap is {max}")]
    TooDeep {
        /// The would-be parent.
        session: SessionId,
        /// The child's depth.
        depth: u32,
        /// The cap.
        max: u32,
    },
    /// The session has as many live children as it may.
    #[error("session {session} already waits for {count} children; the cap is {max}")]
    TooWide {
        /// The would-be parent.
        session: SessionId,
        /// Undischarged dispatches.
        count: usize,
        /// The cap.
        max: usize,
    },
    /// A launch key was used with other arguments.
    #[error("key '{key}' already names session {session}, launched with other arguments")]
    KeyTaken {
        /// The key.
        key: String,
        /// The session.
        session: SessionId,
    },
    /// A run cannot end for a reason that only its exit can give.
    #[error("'{reason}' is not an end that can be asked for")]
    NotAskable {
        /// The reason.
        reason: EndReason,
    },
}

impl Refusal {
    /// Returns the stable code; each has a page of its own in the product's documentation.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } | Self::EnvironmentTooLong { .. } => "too-long",
            Self::Empty { .. } => "empty",
            Self::ControlCharacter { .. } => "control-character",
            Self::ReservedKey { .. } => "reserved-key",
            Self::TooMany { .. } => "too-many",
            Self::NoRun { .. } => "no-run",
            Self::UnknownRun { .. } => "unknown-run",
            Self::AlreadyReturned { .. } => "already-returned",
            Self::RunLive { .. } => "run-live",
            Self::BeingEnded { .. } => "being-ended",
            Self::Discarded { .. } => "discarded",
            Self::DeliveryOwned { .. } => "delivery-owned",
            Self::WrongMode { .. } => "wrong-mode",
            Self::WrongState { .. } => "wrong-state",
            Self::NoQuestion { .. } => "no-question",
            Self::WhichQuestion { .. } => "which-question",
            Self::AlreadyAnswered { .. } => "already-answered",
            Self::TooDeep { .. } => "too-deep",
            Self::TooWide { .. } => "too-wide",
            Self::KeyTaken { .. } => "key-taken",
            Self::NotAskable { .. } => "not-askable",
        }
    }
}
