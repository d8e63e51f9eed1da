//! The record of one agent session: its events, what they add up to, and what is owed next.
//!
//! Owns: event types and their line form, the fold from events to a [`Session`], work state and
//! retention, results, questions, dispatches, tree caps, the rules of every verb as
//! `command -> event or refusal`, and [`decide()`]. Must not know: files, clocks, randomness,
//! processes; time and ids come in as arguments.
//!
//! Start reading at [`event`], then [`mod@fold`], then [`mod@decide`].
//!
//! Invariants:
//! - `fold(a ++ b) = fold(fold(a), b)`: a session restored from its snapshot folds on as if it had
//!   folded everything.
//! - One mutation is one event is one line; sequences run from 1 without a gap.
//! - A session's encoded size is bounded ([`limits::MAX_SNAPSHOT_BYTES`]); large text stays in the
//!   log and is pointed at.
//! - Work state follows log order, never the clock.

#![forbid(unsafe_code)]

pub mod caps;
pub mod command;
pub mod decide;
pub mod dispatch;
pub mod event;
pub mod fold;
pub mod ids;
pub mod limits;
pub mod line;
pub mod observed;
pub mod question;
pub mod refusal;
pub mod run;
pub mod session;
pub mod snapshot;
pub mod source;
pub mod time;
pub mod words;

#[cfg(test)]
mod story;

pub use decide::{Owed, decide};
pub use event::{Event, Fact};
pub use fold::fold;
pub use ids::{EventId, RequestId, RunId, SessionId, ThreadId, TurnId};
pub use refusal::Refusal;
pub use run::{Run, RunStatus};
pub use session::Session;
pub use source::Source;
pub use time::Timestamp;
pub use words::{Authority, Cause, Disposition, EndReason, Mode, Retention, WorkState};
