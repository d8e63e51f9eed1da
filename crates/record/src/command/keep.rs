//! What an agent keeps in its session: title, free keys, notes, artifacts.

use serde_json::Value;

use crate::command::{Verdict, line, printable, within, within_encoded};
use crate::event::fact::{ArtifactTracked, InterfaceSet, NoteAdded, SessionRegistered, SliceSet};
use crate::limits::{
    MAX_DESCRIPTION_BYTES, MAX_INTERFACE_BYTES, MAX_KEY_BYTES, MAX_PATH_BYTES, MAX_PAYLOAD_BYTES,
    MAX_SLICE_DEPTH, MAX_SLICES_BYTES, MAX_TITLE_BYTES, MAX_VALUE_BYTES, encoded_len,
};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::snapshot::DERIVED_SLICES;

/// Sets title and description; the same ones again append nothing.
///
/// # Errors
/// When the title is not a line or one of them is over its bound.
pub fn register(session: &Session, title: &str, description: &str) -> Result<Verdict<()>, Refusal> {
    line("title", title, MAX_TITLE_BYTES)?;
    within_encoded("description", description, MAX_DESCRIPTION_BYTES)?;
    if session.title.as_deref() == Some(title)
        && session.description.as_deref() == Some(description)
    {
        return Ok(Verdict::Already(()));
    }
    Ok(Verdict::Append(
        SessionRegistered { title: title.to_owned(), description: description.to_owned() }.into(),
    ))
}

/// Sets a free key.
///
/// # Errors
/// When the key is reserved or not a line, or a bound is passed.
pub fn set(session: &Session, key: &str, value: &str) -> Result<Verdict<()>, Refusal> {
    printable("key", key)?;
    within("key", key, MAX_KEY_BYTES)?;
    if key.starts_with("core:") {
        return Err(Refusal::ReservedKey { key: key.to_owned() });
    }
    within("value", value, MAX_VALUE_BYTES)?;
    if session.interface.get(key).is_some_and(|old| old == value) {
        return Ok(Verdict::Already(()));
    }
    let others: usize =
        session.interface.iter().filter(|(k, _)| *k != key).map(|(k, v)| entry_len(k, v)).sum();
    let len_bytes = others + entry_len(key, value);
    if len_bytes > MAX_INTERFACE_BYTES {
        let what = "the session's keys and values together";
        return Err(Refusal::TooLong { what, len_bytes, max_bytes: MAX_INTERFACE_BYTES });
    }
    Ok(Verdict::Append(InterfaceSet { key: key.to_owned(), value: value.to_owned() }.into()))
}

fn entry_len(key: &str, value: &str) -> usize {
    encoded_len(key) + encoded_len(value) + 6
}

/// Sets a reserved slice, for the system's own use; null removes it.
///
/// # Errors
/// When the name is not that of a slice that is stored as given, the value is nested too deeply, or
/// the slices together pass their bound.
pub fn set_slice(session: &Session, slice: &str, value: Value) -> Result<Verdict<()>, Refusal> {
    line("slice", slice, MAX_KEY_BYTES)?;
    if !slice.starts_with("core:") || DERIVED_SLICES.contains(&slice) {
        return Err(Refusal::ReservedKey { key: slice.to_owned() });
    }
    let (what, count, max) = ("levels in a reserved slice", depth(&value), MAX_SLICE_DEPTH);
    if count > max {
        return Err(Refusal::TooMany { what, count, max });
    }
    let others: usize = session
        .slices
        .iter()
        .filter(|(name, _)| *name != slice)
        .map(|(name, value)| encoded_len(name) + value.to_string().len() + 6)
        .sum();
    let len_bytes = others + encoded_len(slice) + value.to_string().len() + 6;
    if len_bytes > MAX_SLICES_BYTES {
        let what = "the session's reserved slices together";
        return Err(Refusal::TooLong { what, len_bytes, max_bytes: MAX_SLICES_BYTES });
    }
    Ok(Verdict::Append(SliceSet { slice: slice.to_owned(), value }.into()))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Adds a note.
///
/// # Errors
/// When it is empty or over the payload bound.
pub fn note(text: &str) -> Result<Verdict<()>, Refusal> {
    if text.is_empty() {
        return Err(Refusal::Empty { what: "note" });
    }
    within("note", text, MAX_PAYLOAD_BYTES)?;
    Ok(Verdict::Append(NoteAdded { text: text.to_owned() }.into()))
}

/// Names a produced file.
///
/// # Errors
/// When the path is not a line or over its bound.
pub fn artifact(path: &str) -> Result<Verdict<()>, Refusal> {
    line("artifact path", path, MAX_PATH_BYTES)?;
    Ok(Verdict::Append(ArtifactTracked { path: path.to_owned() }.into()))
}
