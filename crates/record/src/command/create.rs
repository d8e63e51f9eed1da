//! Creating a session.

use std::collections::BTreeMap;

use crate::command::{line, within, within_encoded};
use crate::event::fact::SessionCreated;
use crate::limits::{
    MAX_DESCRIPTION_BYTES, MAX_ENVIRONMENT_BYTES, MAX_LAUNCH_KEY_BYTES, MAX_NAME_BYTES,
    MAX_PATH_BYTES, MAX_PAYLOAD_BYTES, MAX_TITLE_BYTES, encoded_len, truncated,
};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::words::Mode;

/// Checks the bounds of a creation.
///
/// # Errors
/// When a text is over its bound, a name is not a line, or the prompt is empty.
pub fn check(created: &SessionCreated) -> Result<(), Refusal> {
    line("runtime", &created.runtime, MAX_NAME_BYTES)?;
    for (what, name) in [("profile", &created.profile), ("account", &created.account)] {
        if let Some(name) = name {
            line(what, name, MAX_NAME_BYTES)?;
        }
    }
    // A person at a terminal may begin with nothing.
    if created.mode != Mode::Interactive || !created.prompt.is_empty() {
        prompt(&created.prompt)?;
    }
    line("working directory", &created.cwd, MAX_PATH_BYTES)?;
    if let Some(title) = &created.title {
        line("title", title, MAX_TITLE_BYTES)?;
    }
    if let Some(description) = &created.description {
        within_encoded("description", description, MAX_DESCRIPTION_BYTES)?;
    }
    if let Some(key) = &created.key {
        line("key", &key.key, MAX_LAUNCH_KEY_BYTES)?;
        line("arguments hash", &key.arguments_hash, MAX_NAME_BYTES)?;
    }
    environment(&created.environment)
}

fn environment(environment: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let variable_bytes = |(name, value): (&String, &String)| {
        // Quotes, a colon and a comma.
        encoded_len(name) + encoded_len(value) + 6
    };
    let len_bytes: usize = environment.iter().map(variable_bytes).sum();
    if len_bytes <= MAX_ENVIRONMENT_BYTES {
        return Ok(());
    }
    let largest = environment.iter().max_by_key(|variable| variable_bytes(*variable));
    let name = largest.map(|(name, _)| truncated(name, MAX_NAME_BYTES)).unwrap_or_default();
    Err(Refusal::EnvironmentTooLong {
        len_bytes,
        max_bytes: MAX_ENVIRONMENT_BYTES,
        largest: name.to_owned(),
        largest_bytes: largest.map(variable_bytes).unwrap_or_default(),
    })
}

/// Checks a prompt.
///
/// # Errors
/// When it is empty or over the payload bound.
pub fn prompt(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Empty { what: "prompt" });
    }
    within("prompt", text, MAX_PAYLOAD_BYTES)
}

/// Answers a launch whose key names a session that is already there.
///
/// # Errors
/// When the other arguments differ.
pub fn same_key(session: &Session, created: &SessionCreated) -> Result<(), Refusal> {
    if let (Some(ours), Some(theirs)) = (&session.key, &created.key)
        && ours == theirs
    {
        return Ok(());
    }
    let key = created.key.as_ref().map(|k| k.key.clone()).unwrap_or_default();
    Err(Refusal::KeyTaken { key, session: session.id })
}
