//! Commands: what a verb wants, checked against the session, becomes a fact to append, an answer
//! that was given before, or a refusal.

pub mod create;
pub mod dispatch;
pub mod end;
pub mod keep;
pub mod question;
pub mod returning;
pub mod start;

#[cfg(test)]
mod tests;

use crate::event::Fact;
use crate::limits::encoded_len;
use crate::refusal::Refusal;

/// What a command comes to.
#[expect(clippy::large_enum_variant, reason = "one lives at a time, and is taken apart at once")]
#[derive(Debug)]
pub enum Verdict<A> {
    /// Append this fact.
    Append(Fact),
    /// Nothing to append: the record already says so.
    Already(A),
}

impl<A> Verdict<A> {
    /// Returns the fact, when there is one to append.
    pub fn into_fact(self) -> Option<Fact> {
        match self {
            Self::Append(fact) => Some(fact),
            Self::Already(_) => None,
        }
    }
}

/// Refuses text over `max_bytes`.
pub(crate) fn within(what: &'static str, text: &str, max_bytes: usize) -> Result<(), Refusal> {
    if text.len() > max_bytes {
        return Err(Refusal::TooLong { what, len_bytes: text.len(), max_bytes });
    }
    Ok(())
}

/// Refuses text that takes over `max_bytes` inside a JSON string.
pub(crate) fn within_encoded(
    what: &'static str,
    text: &str,
    max_bytes: usize,
) -> Result<(), Refusal> {
    let len_bytes = encoded_len(text);
    if len_bytes > max_bytes {
        return Err(Refusal::TooLong { what, len_bytes, max_bytes });
    }
    Ok(())
}

/// Refuses an empty text, one over the bound, and one with control characters: it must be a line.
pub(crate) fn line(what: &'static str, text: &str, max_bytes: usize) -> Result<(), Refusal> {
    printable(what, text)?;
    within_encoded(what, text, max_bytes)
}

/// Refuses an empty text and one with control characters.
pub(crate) fn printable(what: &'static str, text: &str) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(Refusal::Empty { what });
    }
    if text.chars().any(char::is_control) {
        return Err(Refusal::ControlCharacter { what });
    }
    Ok(())
}
