//! What a client is told when it doesn't get what it asked for.

use creel_api::host::ErrorView;

/// A refusal: the status, and the same three parts that the command line prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    code: &'static str,
    message: String,
    next: Option<String>,
}

/// Characters of a message; longer ones repeat an input.
const MAX_MESSAGE_CHARS: usize = 2000;

impl Refusal {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if let Some((at, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
            message.truncate(at);
        }
        Self { status, code, message, next: None }
    }

    /// Makes a refusal of an error and the errors that caused it.
    pub(crate) fn of(status: u16, code: &'static str, error: &dyn std::error::Error) -> Self {
        Self::new(status, code, chain(error))
    }

    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    pub(crate) fn view(&self) -> ErrorView {
        ErrorView {
            code: self.code.to_owned(),
            message: self.message.clone(),
            next: self.next.clone(),
        }
    }
}

/// Joins an error and its causes into one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
