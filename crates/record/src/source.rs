//! Who caused an event, as the CloudEvents `source` attribute.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::SessionId;
use crate::limits::truncated;

/// The actor of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A person, or a program outside any session.
    Operator,
    /// An agent, through a verb run inside its session.
    Session(SessionId),
    /// The keeper of a run.
    Keeper,
    /// Maintenance that won the lease (`reconcile`, `heal`).
    Maintenance,
    /// A source that a newer build wrote; kept as it is.
    Other(String),
}

impl Source {
    /// Returns the source, a foreign one cut to `max_bytes` inside a JSON string.
    pub fn within(&self, max_bytes: usize) -> Self {
        match self {
            Self::Other(text) => Self::Other(truncated(text, max_bytes).to_owned()),
            known => known.clone(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("/operator"),
            Self::Session(id) => write!(f, "/session/{id}"),
            Self::Keeper => f.write_str("/keeper"),
            Self::Maintenance => f.write_str("/maintenance"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        match text {
            "/operator" => Self::Operator,
            "/keeper" => Self::Keeper,
            "/maintenance" => Self::Maintenance,
            _ => text
                .strip_prefix("/session/")
                .and_then(|id| id.parse().ok())
                .map_or_else(|| Self::Other(text.to_owned()), Self::Session),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        Ok(Self::from(text.as_ref()))
    }
}
