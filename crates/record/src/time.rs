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

/// The last millisecond that the calendar prints in every time zone (9999-12-30T22:00:00Z), so
/// that the printed form keeps its width.
const MAX_MILLIS: i64 = 253_402_207_200_000;

impl Timestamp {
    /// Wraps milliseconds since the epoch, clamped to the years 1970 to 9999 (the last 26 hours apart).
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

#[cfg(test)]
mod tests {
    use super::Timestamp;

    fn check(ms: i64, expected: &str) {
        let stamp = Timestamp::from_millis(ms);
        assert_eq!(stamp.to_string(), expected);
        assert_eq!(expected.parse(), Ok(stamp));
    }

    #[test]
    fn every_stamp_prints_24_characters_and_reads_back() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(1_767_225_600_001, "2026-01-01T00:00:00.001Z");
        check(i64::MAX, "9999-12-30T22:00:00.000Z");
        check(i64::MIN, "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_time_without_an_offset_is_refused() {
        for text in ["", "2026-01-01", "2026-01-01T00:00:00", "yesterday"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
        assert_eq!(
            "2026-01-01T02:00:00+02:00".parse(),
            Ok(Timestamp::from_millis(1_767_225_600_000))
        );
    }
}
