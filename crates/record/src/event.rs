//! Events: what happened, to which session, by whom, in which order.

pub mod fact;

use serde_json::value::RawValue;

pub use fact::Fact;

use crate::ids::{EventId, SessionId};
use crate::source::Source;
use crate::time::Timestamp;

/// One stored event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Unique id (UUIDv7).
    pub id: EventId,
    /// Who caused it.
    pub source: Source,
    /// When, by the writer's wall clock.
    pub time: Timestamp,
    /// The session it belongs to.
    pub subject: SessionId,
    /// Position in the log, from 1, without a gap.
    pub sequence: u64,
    /// What happened.
    pub fact: Fact,
}

/// The part of an event that its writer brings; the log adds subject and sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Unique id (UUIDv7).
    pub id: EventId,
    /// Who caused it.
    pub source: Source,
    /// When, by the writer's wall clock.
    pub time: Timestamp,
    /// What happened.
    pub fact: Fact,
}

impl Draft {
    /// Completes the draft to an event.
    pub fn at(self, subject: SessionId, sequence: u64) -> Event {
        Event {
            id: self.id,
            source: self.source,
            time: self.time,
            subject,
            sequence,
            fact: self.fact,
        }
    }
}

/// A kind that this build does not know; kept as it is and folded as nothing.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// The CloudEvents type.
    pub type_name: String,
    /// The data as stored.
    pub data: Box<RawValue>,
}

impl PartialEq for Unknown {
    fn eq(&self, other: &Self) -> bool {
        self.type_name == other.type_name && self.data.get() == other.data.get()
    }
}

impl Eq for Unknown {}
