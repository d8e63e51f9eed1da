//! Normalising what differs between two runs of a test.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Characters of a UUID.
const ID_CHARS: usize = 36;

/// Characters of a time as the record prints it.
const TIME_CHARS: usize = 24;

/// Characters of an id in tables.
const SHORT_CHARS: usize = 8;

/// The ids that a home has seen, in order, and its own path.
#[derive(Debug)]
pub(super) struct Names {
    root: String,
    ids: Mutex<Vec<String>>,
}

impl Names {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.display().to_string(), ids: Mutex::new(Vec::new()) }
    }

    pub(super) fn normal(&self, text: &str) -> String {
        let text = text.replace(&self.root, "<root>");
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let is_start = !out.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
            if is_start && let Some((name, len)) = name(rest, &mut ids) {
                out.push_str(&name);
                rest = &rest[len..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out
    }
}

/// Returns the name of what `text` begins with, and its length.
fn name(text: &str, ids: &mut Vec<String>) -> Option<(String, usize)> {
    if let Some(id) = text.get(..ID_CHARS).filter(|id| is_id(id)) {
        let number = match ids.iter().position(|known| known == id) {
            Some(at) => at + 1,
            None => {
                ids.push(id.to_owned());
                ids.len()
            }
        };
        return Some((format!("<id-{number}>"), ID_CHARS));
    }
    if text.get(..TIME_CHARS).is_some_and(is_time) {
        return Some(("<time>".to_owned(), TIME_CHARS));
    }
    let short = text.get(..SHORT_CHARS).filter(|short| short.bytes().all(is_hex))?;
    let at = ids.iter().position(|id| id.starts_with(short))?;
    let is_whole = !text[SHORT_CHARS..].starts_with(|c: char| c.is_ascii_alphanumeric());
    is_whole.then(|| (format!("<id-{}>", at + 1), SHORT_CHARS))
}

fn is_id(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => is_hex(byte),
    })
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn is_time(text: &str) -> bool {
    text.bytes().zip(b"0000-00-00T00:00:00.000Z").all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == *form,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Names;

    #[test]
    fn what_differs_between_two_runs_has_one_name() {
        let names = Names::new(Path::new("/tmp/ct1"));
        let check = |text: &str, expected: &str| assert_eq!(names.normal(text), expected);
        let id = "0197f1b2-aaaa-4bbb-8ccc-0123456789ab";
        check("0197f1b2 x", "0197f1b2 x");
        check(&format!("id {id}, {id}"), "id <id-1>, <id-1>");
        check("0197f1b2 x", "<id-1> x");
        check("0197f1b2e x", "0197f1b2e x");
        check("at 2026-01-02T03:04:05.678Z.", "at <time>.");
        check("/tmp/ct1/home/żółw", "<root>/home/żółw");
    }
}
