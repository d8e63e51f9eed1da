//! Wall-clock stamps as stored: RFC 3339, UTC, milliseconds, always 24 characters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A wall-clock instant in milliseconds since the Unix epoch. It dates things; it orders nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 time with an offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an RFC 3339 time")]
pub struct ParseTimestampError {
    /// The refused text, cut to 64 characters.
    pub text: String,
}

/// The last millisecond of the year 9999, so that the printed form keeps its width.
const MAX_MILLIS: i64 = 253_402_300_799_999;

impl Timestamp {
    /// Wraps milliseconds since the epoch, clamped to the years 1970 to 9999.
    pub fn from_millis(ms: i64) -> Self {
        Self(ms.clamp(0, MAX_MILLIS))
    }

    /// Returns milliseconds since the epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = jiff::Timestamp::from_millisecond(self.0)
            .expect("clamped to the years that the calendar holds");
        write!(f, "{instant:.3}")
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        text.parse::<jiff::Timestamp>()
            .map(|t| Self::from_millis(t.as_millisecond()))
            .map_err(|_| ParseTimestampError { text: text.chars().take(64).collect() })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
