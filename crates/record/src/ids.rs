//! Ids: one newtype each, one text form (lower-case hyphenated UUID), made from given randomness.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::time::Timestamp;

/// The text is not a lower-case hyphenated UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an id (36 characters, lower-case hex and hyphens)")]
pub struct ParseIdError {
    /// The refused text, cut to 64 characters.
    pub text: String,
}

fn parse(text: &str) -> Result<Uuid, ParseIdError> {
    let refuse = || ParseIdError { text: text.chars().take(64).collect() };
    if text.len() != 36 || text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(refuse());
    }
    Uuid::try_parse(text).map_err(|_| refuse())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Makes a time-ordered id (UUIDv7) from the given time and randomness.
            pub fn ordered(now: Timestamp, random: [u8; 10]) -> Self {
                let ms = u64::try_from(now.as_millis()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(ms, &random).into_uuid())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0.as_hyphenated(), f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// A session's id, and its spool's; never changes. UUIDv4 when made here, any UUID accepted.
    SessionId
);
id!(
    /// A run's id (UUIDv7).
    RunId
);
id!(
    /// A turn's id (UUIDv7).
    TurnId
);
id!(
    /// An event's id (UUIDv7).
    EventId
);
id!(
    /// A question's id (UUIDv7).
    RequestId
);
id!(
    /// A transcript thread's id (UUIDv7).
    ThreadId
);

impl SessionId {
    /// Makes a UUIDv4 from the given randomness.
    pub fn random(random: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(random).into_uuid())
    }

    /// Derives the id of `launch --key` from the store and the key (UUIDv8), so that the same key
    /// in the same store names the same session for ever.
    pub fn from_key(store: &str, key: &str) -> Self {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        hash.update((store.len() as u64).to_be_bytes());
        hash.update(store.as_bytes());
        hash.update(key.as_bytes());
        let digest = hash.finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}
