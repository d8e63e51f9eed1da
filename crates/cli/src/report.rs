//! What a person is told when a verb can't do what was asked.

use std::error::Error;
use std::fmt;

use crate::codes::Code;
use crate::exit::Exit;
use crate::terminal;

/// Characters of a message that are printed; longer ones are cut, since they repeat an input.
const MAX_MESSAGE_CHARS: usize = 2000;

/// One failure: what failed, with which input, under which code, and what to do next.
///
/// Prints as one line, and a second one that begins with `Next:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    code: Code,
    message: String,
    hint: Option<String>,
}

impl Report {
    /// Makes a report; the message is one clause, lower case, without a full stop.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Makes a report of an error and the errors that caused it.
    pub(crate) fn of(code: Code, error: &dyn Error) -> Self {
        Self::new(code, chain(error))
    }

    /// Names the command to try next.
    pub(crate) fn next(mut self, command: impl Into<String>) -> Self {
        self.hint = Some(command.into());
        self
    }

    /// Returns the stable code.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// Returns what failed, without code and hint.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the command to try next, when one is named.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns message and code in one line.
    pub(crate) fn line(&self) -> String {
        format!("{} [{}]", terminal::line(&self.message, MAX_MESSAGE_CHARS), self.code.as_str())
    }

    /// Returns the exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.code.exit()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "creel: {}", self.line())?;
        match &self.hint {
            Some(hint) => write!(f, "\nNext: {}", terminal::line(hint, MAX_MESSAGE_CHARS)),
            None => Ok(()),
        }
    }
}

/// Joins an error and its causes into one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
