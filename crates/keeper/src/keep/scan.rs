//! Reading the agent's output by the plan's rules: its own session's id, and its provider's errors.

use creel_api::plan::{JsonRule, ProviderRule, Watch};
use serde_json::Value;

use super::queue::Stream;

/// The longest line that is looked at. Longer ones carry results and files, not ids.
const MAX_SCANNED_BYTES: usize = 1 << 20;

/// The longest id of a harness's session that is believed.
const MAX_NATIVE_ID_BYTES: usize = 256;

/// How often a run's id may change, so that output alone can't grow the record for ever.
const MAX_NATIVE_CHANGES: u32 = 16;

/// Something a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Native(String),
    ProviderError(String),
}

/// Puts lines together and tries the rules on each.
#[derive(Debug)]
pub(super) struct Scanner {
    native_id: Vec<JsonRule>,
    provider_error: Vec<ProviderRule>,
    provider_message: Option<String>,
    stdout: Line,
    stderr: Line,
    last_native: Option<String>,
    native_changes: u32,
}

#[derive(Debug, Default)]
struct Line {
    bytes: Vec<u8>,
    /// True while the rest of an overlong line goes by.
    is_skipping: bool,
}

impl Scanner {
    pub(super) fn new(watch: &Watch) -> Self {
        Self {
            native_id: watch.native_id.clone(),
            provider_error: watch.provider_error.clone(),
            provider_message: watch.provider_message.clone(),
            stdout: Line::default(),
            stderr: Line::default(),
            last_native: None,
            native_changes: 0,
        }
    }

    /// Reads the next bytes of a stream and returns what was found in the lines they complete.
    pub(super) fn read(&mut self, stream: Stream, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        if self.native_id.is_empty() && self.provider_error.is_empty() {
            return found;
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = self.line(stream);
            match part.strip_suffix(b"\n") {
                None => line.push(part),
                Some(rest) => {
                    line.push(rest);
                    let whole = std::mem::take(line);
                    found.extend(self.check(stream, &whole));
                }
            }
        }
        found
    }

    /// Takes the unfinished last lines for whole ones.
    pub(super) fn finish(&mut self) -> Vec<Found> {
        let mut found = Vec::new();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let last = std::mem::take(self.line(stream));
            found.extend(self.check(stream, &last));
        }
        found
    }

    fn line(&mut self, stream: Stream) -> &mut Line {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn check(&mut self, stream: Stream, line: &Line) -> Vec<Found> {
        let mut found = Vec::new();
        let Ok(text) = std::str::from_utf8(&line.bytes) else { return found };
        if line.is_skipping || text.is_empty() {
            return found;
        }
        let json = (stream == Stream::Stdout && self.may_match(text))
            .then(|| serde_json::from_str::<Value>(text).ok())
            .flatten();
        if let Some(json) = &json {
            found.extend(self.native(json));
        }
        let error = self.provider_error.iter().find(|rule| {
            text.contains(&rule.text)
                && (!rule.when.is_empty() || !rule.text.is_empty())
                && (rule.when.is_empty()
                    || json.as_ref().is_some_and(|json| holds(&rule.when, json)))
        });
        found.extend(error.map(|rule| {
            let message = json.as_ref().and_then(|json| self.message(json));
            let text = message.unwrap_or_else(|| text.to_owned());
            Found::ProviderError(format!("{}: {text}", rule.kind))
        }));
        found
    }

    /// Returns what a line about a failure says of it, as one line.
    fn message(&self, json: &Value) -> Option<String> {
        let text = last_member(self.provider_message.as_deref()?, json)?;
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        Some(words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    }

    /// Tells whether a line names every member that one of the rules asks for; most lines don't,
    /// and need not be parsed.
    fn may_match(&self, text: &str) -> bool {
        let names = |pointer: &String| {
            pointer.rsplit('/').next().is_some_and(|name| {
                name.contains('~') || name.parse::<usize>().is_ok() || text.contains(name)
            })
        };
        let names_all = |when: &[(String, String)]| when.iter().all(|(pointer, _)| names(pointer));
        text.trim_start().starts_with('{')
            && (self.native_id.iter().any(|rule| names(&rule.pointer) && names_all(&rule.when))
                || self
                    .provider_error
                    .iter()
                    .any(|rule| !rule.when.is_empty() && names_all(&rule.when)))
    }

    fn native(&mut self, json: &Value) -> Option<Found> {
        let id = self.native_id.iter().find_map(|rule| {
            holds(&rule.when, json).then(|| json.pointer(&rule.pointer)?.as_str()).flatten()
        })?;
        let is_id =
            !id.is_empty() && id.len() <= MAX_NATIVE_ID_BYTES && !id.chars().any(char::is_control);
        if !is_id
            || self.last_native.as_deref() == Some(id)
            || self.native_changes >= MAX_NATIVE_CHANGES
        {
            return None;
        }
        self.native_changes += 1;
        self.last_native = Some(id.to_owned());
        Some(Found::Native(id.to_owned()))
    }
}

impl Line {
    fn push(&mut self, bytes: &[u8]) {
        if self.is_skipping || self.bytes.len() + bytes.len() > MAX_SCANNED_BYTES {
            self.is_skipping = true;
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// Finds the last member of that name whose value is a text, at whatever depth; the parser bounds
/// that.
fn last_member<'a>(name: &str, json: &'a Value) -> Option<&'a str> {
    match json {
        Value::Array(items) => items.iter().rev().find_map(|item| last_member(name, item)),
        Value::Object(members) => members.iter().rev().find_map(|(key, value)| match value {
            Value::String(text) => (key == name).then_some(text.as_str()),
            deeper => last_member(name, deeper),
        }),
        _ => None,
    }
}

fn holds(when: &[(String, String)], json: &Value) -> bool {
    when.iter().all(|(pointer, expected)| match json.pointer(pointer) {
        Some(Value::String(text)) => text == expected,
        Some(Value::Bool(value)) => expected.parse::<bool>() == Ok(*value),
        Some(Value::Number(number)) => {
            expected.parse::<serde_json::Number>().is_ok_and(|other| *number == other)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::order;

    fn check(stream: Stream, chunks: &[&str], expected: &[Found]) {
        let mut watch = order(std::path::Path::new("/"), "/bin/sh", &[]).plan.watch;
        watch.native_id = vec![JsonRule {
            when: vec![("/type".to_owned(), "init".to_owned())],
            pointer: "/session_id".to_owned(),
        }];
        watch.provider_error = vec![
            ProviderRule {
                kind: "api".to_owned(),
                when: vec![("/ok".to_owned(), "false".to_owned())],
                text: String::new(),
            },
            ProviderRule { kind: "auth".to_owned(), when: vec![], text: "log in".to_owned() },
        ];
        watch.provider_message = Some("why".to_owned());
        let mut scanner = Scanner::new(&watch);
        let mut found: Vec<_> =
            chunks.iter().flat_map(|chunk| scanner.read(stream, chunk.as_bytes())).collect();
        found.extend(scanner.finish());
        assert_eq!(found, expected, "{chunks:?}");
    }

    #[test]
    fn ids_are_found_in_lines_however_they_are_cut() {
        let native = [Found::Native("n1".to_owned())];
        check(Stream::Stdout, &["{\"type\":\"init\",\"session_id\":\"n1\"}\n"], &native);
        check(Stream::Stdout, &["x\n{\"type\":\"in", "it\",\"session_id\":\"n1\"}"], &native);
        let line = "{\"type\":\"init\",\"session_id\":\"n1\"}\n";
        check(Stream::Stdout, &[line, line], &native);
        check(Stream::Stderr, &[line], &[]);
        check(Stream::Stdout, &["{\"type\":\"other\",\"session_id\":\"n1\"}\n"], &[]);
        check(Stream::Stdout, &["{\"type\":\"init\",\"session_id\":\"a\\u0007\"}\n"], &[]);
        check(Stream::Stdout, &["{\"type\":\"init\",\"session_id\":7}\n", "\n{\n"], &[]);
    }

    #[test]
    fn provider_errors_are_found_by_members_and_by_text() {
        let api = |line: &str| Found::ProviderError(format!("api: {line}"));
        check(Stream::Stdout, &["{\"ok\":false}\n"], &[api("{\"ok\":false}")]);
        check(Stream::Stdout, &["{\"ok\":true}\n"], &[]);
        check(Stream::Stderr, &["{\"ok\":false}\n"], &[]);
        let auth = Found::ProviderError("auth: please log in now".to_owned());
        check(Stream::Stderr, &["please log in now\n"], &[auth]);
    }

    #[test]
    fn the_message_of_a_provider_error_is_its_last_member_of_that_name() {
        let api = |text: &str| [Found::ProviderError(format!("api: {text}"))];
        check(Stream::Stdout, &["{\"ok\":false,\"why\":\"a\\n b\\u001b[1m\"}\n"], &api("a b [1m"));
        let nested =
            "{\"ok\":false,\"all\":[{\"why\":\"x\"},{\"in\":{\"why\":\"y\"}}],\"rest\":{}}\n";
        check(Stream::Stdout, &[nested], &api("y"));
        check(Stream::Stdout, &["{\"ok\":false,\"why\":7}\n"], &api("{\"ok\":false,\"why\":7}"));
    }

    #[test]
    fn an_overlong_line_is_skipped_whole() {
        let long = "y".repeat(MAX_SCANNED_BYTES + 1);
        check(
            Stream::Stdout,
            &[&long, " log in\n{\"type\":\"init\",\"session_id\":\"n\"}\n"],
            &[Found::Native("n".to_owned())],
        );
    }
}
