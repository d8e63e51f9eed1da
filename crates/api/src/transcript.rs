//! The entries of a transcript thread file: JSON Lines, one [`Entry`] a line, written by keepers.
//!
//! A thread goes over many runs. Its oldest part is dropped when the file outgrows its bound; the
//! sequence goes on, so that a reader sees what is missing.

use serde::{Deserialize, Serialize};

/// The entry version this build writes and reads.
pub const TRANSCRIPT_VERSION: u32 = 1;

/// The longest line of a transcript in bytes, its newline included.
pub const MAX_ENTRY_BYTES: usize = 64 * 1024;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// [`TRANSCRIPT_VERSION`].
    pub version: u32,
    /// Position in the thread, from 1 over all runs.
    pub seq: u64,
    /// When it was written: RFC 3339, UTC, milliseconds.
    pub time: String,
    /// Number of the run.
    pub run: u64,
    /// What it says.
    #[serde(flatten)]
    pub content: Content,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Content {
    /// A run begins.
    RunStarted {
        /// Its id.
        run_id: String,
        /// Why it started.
        cause: String,
    },
    /// Something somebody said.
    Message {
        /// `user` or `agent`.
        role: String,
        /// The text.
        text: String,
        /// True when the text was cut to fit an entry; the record has all of a prompt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_cut: bool,
    },
    /// Output that isn't understood yet: whole lines where they fit an entry.
    Raw {
        /// `stdout` or `stderr`.
        stream: String,
        /// The output.
        #[serde(flatten)]
        bytes: RawBytes,
    },
    /// Output that was seen, or must have been, and isn't here.
    Gap {
        /// Why: `slow-disk`, `disk-error` or `keeper-restart`.
        reason: String,
        /// How many bytes; none when nobody knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        len_bytes: Option<u64>,
    },
    /// The result of the run's turn.
    Result {
        /// `finish` or `await`.
        disposition: String,
        /// The deliverable.
        text: String,
        /// True when the text was cut to fit an entry; the record has all of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_cut: bool,
    },
    /// A run is over.
    RunEnded {
        /// Its id.
        run_id: String,
        /// Exit code, when it exited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Signal number, when one killed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
    /// An entry of a newer keeper.
    #[serde(other)]
    Unknown,
}

/// Bytes as text where they are UTF-8, else in base 64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RawBytes {
    /// UTF-8.
    Text(String),
    /// Base 64 with padding (RFC 4648, section 4).
    Base64(String),
}

impl RawBytes {
    /// Makes the form that fits: text unless the bytes aren't UTF-8 or would, escaped, take more
    /// room than base 64 does.
    pub fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if escaped_len(text) <= text.len().div_ceil(3) * 4 => {
                Self::Text(text.to_owned())
            }
            _ => Self::Base64(base64(bytes)),
        }
    }

    /// Returns the bytes; none when the base 64 is broken.
    pub fn decode(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Base64(text) => from_base64(text.as_bytes()),
        }
    }
}

/// Returns the length of `text` inside a JSON string.
fn escaped_len(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut word = 0u32;
        for at in 0..3 {
            word = word << 8 | u32::from(group.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let digit = (word >> (18 - 6 * at)) & 63;
            text.push(if at <= group.len() { char::from(ALPHABET[digit as usize]) } else { '=' });
        }
    }
    text
}

fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding)?;
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut word = 0u32;
        for at in 0..4 {
            let digit = match group.get(at) {
                Some(byte) => ALPHABET.iter().position(|letter| letter == byte)?,
                None => 0,
            };
            word = word << 6 | u32::try_from(digit).ok()?;
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: Content, expected: &str) {
        let time = "2026-01-02T03:04:05.006Z".to_owned();
        let entry = Entry { version: 1, seq: 9, time, run: 2, content };
        let line = serde_json::to_string(&entry).expect("encodes");
        let start = r#"{"version":1,"seq":9,"time":"2026-01-02T03:04:05.006Z","run":2,"kind":"#;
        assert_eq!(line, format!("{start}{expected}}}"));
        assert_eq!(serde_json::from_str::<Entry>(&line).expect("decodes"), entry);
    }

    #[test]
    fn entries_keep_their_shape() {
        check(
            Content::RunStarted { run_id: "r".to_owned(), cause: "launch".to_owned() },
            r#""run-started","runId":"r","cause":"launch""#,
        );
        check(
            Content::Message { role: "user".to_owned(), text: "hi".to_owned(), is_cut: false },
            r#""message","role":"user","text":"hi""#,
        );
        check(
            Content::Raw { stream: "stdout".to_owned(), bytes: RawBytes::new(b"a\n") },
            r#""raw","stream":"stdout","text":"a\n""#,
        );
        check(
            Content::Raw { stream: "stderr".to_owned(), bytes: RawBytes::new(b"\xff\xfe") },
            r#""raw","stream":"stderr","base64":"//4=""#,
        );
        check(
            Content::Gap { reason: "slow-disk".to_owned(), len_bytes: Some(4) },
            r#""gap","reason":"slow-disk","lenBytes":4"#,
        );
        check(
            Content::Result {
                disposition: "finish".to_owned(),
                text: "t".to_owned(),
                is_cut: true,
            },
            r#""result","disposition":"finish","text":"t","isCut":true"#,
        );
        check(
            Content::RunEnded { run_id: "r".to_owned(), exit_code: Some(0), signal: None },
            r#""run-ended","runId":"r","exitCode":0"#,
        );
    }

    #[test]
    fn an_unknown_kind_is_read() {
        let line = r#"{"version":1,"seq":1,"time":"t","run":1,"kind":"dance","steps":[1]}"#;
        let entry: Entry = serde_json::from_str(line).expect("decodes");
        assert_eq!(entry.content, Content::Unknown);
    }

    #[test]
    fn bytes_come_back_from_either_form() {
        for len in 0..70u8 {
            let bytes: Vec<u8> = (0..len).map(|byte| byte.wrapping_mul(97)).collect();
            assert_eq!(RawBytes::new(&bytes).decode(), Some(bytes.clone()), "{len}");
            assert_eq!(from_base64(base64(&bytes).as_bytes()), Some(bytes), "{len}");
        }
        assert_eq!(from_base64(b"a"), None);
        assert_eq!(from_base64(b"===="), None);
        assert_eq!(from_base64(b"a b="), None);
    }
}
