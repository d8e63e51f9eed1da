//! One broken rule at one place.

use std::fmt;

/// A rule broken at a place; ordered by place, so that a report reads file by file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    path: String,
    line: usize,
    message: String,
}

impl Fault {
    /// Returns a fault of a whole file.
    pub(crate) fn of(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: 0, message: message.into() }
    }

    /// Returns a fault at a line, counted from 1.
    pub(crate) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { line, ..Self::of(path, message) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

#[cfg(test)]
pub(crate) fn printed(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}
