//! What is wrong in a catalog file, and where.

use std::fmt::{self, Write as _};
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Longest piece of a value that a message repeats, in characters: one terminal line.
const MAX_VALUE_CHARS: usize = 60;

/// A mistake in a catalog file, found before anything of the file was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogError(Box<Mistake>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mistake {
    path: String,
    text: String,
    span: Range<usize>,
    key: String,
    problem: String,
    accepted: Option<String>,
}

impl CatalogError {
    pub(crate) fn new(file: (&str, &str), span: Range<usize>, key: String, message: &str) -> Self {
        let (path, text) = file;
        let (problem, accepted) = match message.split_once(", expected ") {
            Some((problem, "u64")) => (problem, Some("a whole number, 0 or more".to_owned())),
            Some((problem, accepted)) => (problem, Some(accepted.to_owned())),
            None => (message, None),
        };
        let end = span.end.min(text.len());
        Self(Box::new(Mistake {
            path: path.to_owned(),
            text: text.to_owned(),
            span: span.start.min(end)..end,
            key,
            problem: problem.lines().collect::<Vec<_>>().join(" "),
            accepted,
        }))
    }

    /// Returns the 1-based line of the mistake.
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// Returns the 1-based column of the mistake, in characters.
    pub fn column(&self) -> usize {
        self.before().chars().rev().take_while(|c| *c != '\n').count() + 1
    }

    /// Returns the path of the key, such as `harness.claude.channels[0]`.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// Returns what is accepted in that place, when that can be said.
    pub fn accepted(&self) -> Option<&str> {
        self.0.accepted.as_deref()
    }

    /// Returns the message with the lines around the mistake, for people; without colour.
    pub fn to_human(&self) -> String {
        let mut group = Level::ERROR
            .primary_title(format!("{}: {}", self.key_or_file(), self.0.problem))
            .element(
                Snippet::source(&self.0.text)
                    .path(&self.0.path)
                    .annotation(AnnotationKind::Primary.span(self.0.span.clone())),
            );
        if let Some(accepted) = &self.0.accepted {
            group = group.element(Level::HELP.message(format!("expected {accepted}")));
        }
        Renderer::plain().render(&[group])
    }

    fn key_or_file(&self) -> &str {
        if self.0.key.is_empty() || self.0.key == "." { "catalog" } else { &self.0.key }
    }

    fn before(&self) -> &str {
        self.0.text.get(..self.0.span.start).unwrap_or_default()
    }

    fn value(&self) -> String {
        let value = self.0.text.get(self.0.span.clone()).unwrap_or_default();
        let line = value.lines().next().unwrap_or_default().trim();
        let mut short: String = line.chars().take(MAX_VALUE_CHARS).collect();
        if short.len() < value.trim().len() {
            short.push('…');
        }
        short
    }
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = format!("{}:{}:{}", self.0.path, self.line(), self.column());
        let mut line = format!("{place}: {}: {}", self.key_or_file(), self.0.problem);
        let value = self.value();
        if !value.is_empty() && !self.0.problem.contains(value.trim_matches('"')) {
            write!(line, " (the value is {value})")?;
        }
        if let Some(accepted) = &self.0.accepted {
            write!(line, "; accepted: {accepted}")?;
        }
        f.write_str(&line)
    }
}

impl std::error::Error for CatalogError {}
