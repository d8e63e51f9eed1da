//! The kinds of event and the data of each, as stored.
//!
//! Stored shapes are additive only: a field, once written, keeps its name and meaning; a new field
//! has a default.

mod dispatch;
mod request;
mod run;
mod session;

use serde_json::value::RawValue;

pub use dispatch::{DispatchClaimed, DispatchMaterialized, DispatchSettled};
pub use request::{
    AnswerTaken, MessageReceived, RequestAnswered, RequestAsked, RequestCancelled, RoomNoticed,
};
pub use run::{
    FollowUp, NativeIdentified, ProcessFacts, RunEndRequested, RunEnded, RunIntended, RunReturned,
    RunSpawned, RunStarted, TurnStarted,
};
pub use session::{
    AccountChanged, ArtifactTracked, FirstRun, InterfaceSet, LaunchKey, LogHealed, ModeSwitched,
    NoteAdded, Parent, ProfileChanged, SessionClosed, SessionCreated, SessionDiscarded,
    SessionEnded, SessionKilled, SessionParked, SessionRegistered, SessionRestored, SliceSet,
    WakeScheduled,
};

use super::Unknown;

macro_rules! facts {
    ($($variant:ident = $type_name:literal #[doc = $doc:literal]),* $(,)?) => {
        /// What happened.
        #[expect(
            clippy::large_enum_variant,
            reason = "facts live one at a time; the large kind comes once in a log"
        )]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Fact {
            $(#[doc = $doc] $variant($variant),)*
            /// A kind of a newer build.
            Unknown(Unknown),
        }

        impl Fact {
            /// Every known CloudEvents type.
            pub const TYPES: &[&str] = &[$($type_name),*];

            /// Returns the CloudEvents type.
            pub fn type_name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $type_name,)*
                    Self::Unknown(unknown) => &unknown.type_name,
                }
            }

            /// Encodes the data.
            pub fn to_data(&self) -> Result<Box<RawValue>, serde_json::Error> {
                match self {
                    $(Self::$variant(data) => serde_json::value::to_raw_value(data),)*
                    Self::Unknown(unknown) => Ok(unknown.data.clone()),
                }
            }

            /// Decodes the data of a kind; an unknown kind is kept as it is.
            pub fn from_data(type_name: &str, data: &RawValue) -> Result<Self, serde_json::Error> {
                match type_name {
                    $($type_name => serde_json::from_str(data.get()).map(Self::$variant),)*
                    _ => Ok(Self::Unknown(Unknown {
                        type_name: type_name.to_owned(),
                        data: data.to_owned(),
                    })),
                }
            }
        }

        $(impl From<$variant> for Fact {
            fn from(data: $variant) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

facts! {
    SessionCreated = "orbh.session.created" #[doc = "The first event of every session."],
    SessionRegistered = "orbh.session.registered" #[doc = "Title and description were set."],
    InterfaceSet = "orbh.session.interface_set" #[doc = "A free key was set."],
    SliceSet = "orbh.session.slice_set" #[doc = "A reserved slice was set by the system."],
    NoteAdded = "orbh.session.note_added" #[doc = "An annotation."],
    ArtifactTracked = "orbh.session.artifact_tracked" #[doc = "A produced file was named."],
    SessionClosed = "orbh.session.closed" #[doc = "Closed with no live run."],
    SessionParked = "orbh.session.parked" #[doc = "Parked with no live run."],
    SessionDiscarded = "orbh.session.discarded" #[doc = "Tombstone, with no live run."],
    SessionKilled = "orbh.session.killed" #[doc = "Killed with no live run."],
    SessionEnded = "orbh.session.ended" #[doc = "Ended with a result and no live run."],
    SessionRestored = "orbh.session.restored" #[doc = "The tombstone was taken back."],
    AccountChanged = "orbh.session.account_changed" #[doc = "Another account from the next run on."],
    ProfileChanged = "orbh.session.profile_changed" #[doc = "Another profile from the next run on."],
    ModeSwitched = "orbh.session.mode_switched" #[doc = "Another shape from the next run on."],
    RunIntended = "orbh.run.intended" #[doc = "A wake: prompt and cursor advance in one."],
    RunStarted = "orbh.run.started" #[doc = "The lease holder starts a harness process."],
    RunSpawned = "orbh.run.spawned" #[doc = "The process exists."],
    NativeIdentified = "orbh.run.native_identified" #[doc = "The harness's own id became known."],
    TurnStarted = "orbh.run.turn_started" #[doc = "A further turn within a structured run."],
    RunReturned = "orbh.run.returned" #[doc = "The explicit end of a turn, with its result."],
    RunEndRequested = "orbh.run.end_requested" #[doc = "Somebody asked a live run to end."],
    RunEnded = "orbh.run.ended" #[doc = "All exit facts, together."],
    RequestAsked = "orbh.request.asked" #[doc = "A question."],
    RequestAnswered = "orbh.request.answered" #[doc = "Its answer."],
    AnswerTaken = "orbh.request.taken" #[doc = "Its waiter printed the answer, so no wake carries it."],
    RequestCancelled = "orbh.request.cancelled" #[doc = "It needs no answer any more."],
    MessageReceived = "orbh.message.received" #[doc = "A message for this session."],
    RoomNoticed = "orbh.room.noticed" #[doc = "Activity in a subscribed room."],
    WakeScheduled = "orbh.session.wake_scheduled" #[doc = "A time to wake at."],
    DispatchClaimed = "orbh.dispatch.claimed" #[doc = "A slot is taken; the child may not exist yet."],
    DispatchMaterialized = "orbh.dispatch.materialized" #[doc = "The child exists."],
    DispatchSettled = "orbh.dispatch.settled" #[doc = "The dispatched turn has its outcome."],
    LogHealed = "orb.spool.healed" #[doc = "Stands in for a damaged line that was set aside."],
}

impl Fact {
    /// Returns the long text of the event: what a [`TextRef`](crate::run::TextRef) points at.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::SessionCreated(data) => Some(&data.prompt),
            Self::NoteAdded(data) => Some(&data.text),
            Self::SessionEnded(data) => data.result.as_deref(),
            Self::RunIntended(data) => Some(&data.prompt),
            Self::RunStarted(data) => data.prompt.as_deref(),
            Self::TurnStarted(data) => Some(&data.prompt),
            Self::RunReturned(data) => Some(&data.payload),
            Self::RunEndRequested(data) => {
                data.result.as_deref().or(data.follow_up.as_ref().map(|f| f.prompt.as_str()))
            }
            Self::RequestAsked(data) => Some(&data.question),
            Self::RequestAnswered(data) => Some(&data.response),
            Self::MessageReceived(data) => Some(&data.text),
            Self::RoomNoticed(data) => Some(&data.text),
            _ => None,
        }
    }
}
