//! From what a person typed to the session that is meant.

use creel_record::{Session, SessionId};
use creel_spool::{ResolveError, RowFilter, Store};

use crate::codes::Code;
use crate::output::say;
use crate::report::Report;

/// Candidates that a refusal names.
const MAX_NAMED: usize = 5;

/// Finds the session that `typed` names: its id, or a prefix of at least four characters that
/// only its id has.
///
/// # Errors
/// When there is none, there are several, or the text is a harness's own id of a conversation.
pub(crate) fn find(store: &Store, typed: &str) -> Result<SessionId, Report> {
    match store.resolve(typed) {
        Ok(id) => Ok(id),
        Err(ResolveError::Ambiguous { text, candidates }) => Err(ambiguous(&text, &candidates)),
        Err(error @ (ResolveError::NotFound { .. } | ResolveError::Malformed { .. })) => {
            Err(foreign(store, typed).unwrap_or_else(|| error.into()))
        }
        Err(error @ ResolveError::Io { .. }) => Err(error.into()),
    }
}

/// Reads a session for a person or a script that is shown a part of it, and says so when its log
/// holds more.
///
/// # Errors
/// When it can't be read.
pub(crate) fn read_telling(store: &Store, id: SessionId) -> Result<Session, Report> {
    let published = store.read(id)?;
    if published.is_stale {
        say(&format!(
            "creel: the log of {id} holds more than is shown, since nobody published it; \
             creel rebuild-session-snapshots {id} does"
        ));
    }
    Ok(published.snapshot.session)
}

fn ambiguous(text: &str, candidates: &[SessionId]) -> Report {
    let named: Vec<String> = candidates.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = match candidates.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let next = named.first().map_or("creel list".to_owned(), |id| format!("creel inspect {id}"));
    let message = format!("'{text}' could be {}{more}", named.join(", "));
    Report::new(Code::AmbiguousId, message).next(next)
}

/// Recognises an id that a harness gave to the conversation of one of our sessions.
fn foreign(store: &Store, typed: &str) -> Option<Report> {
    // Only told to help: a store that can't be listed is another verb's matter.
    let rows = store.rows(RowFilter::All).ok()?;
    let owner = rows.iter().filter(|row| row.json.contains(typed)).find_map(|row| {
        let row = row.parse().ok()?;
        let native = row.current_run.as_ref()?.native_session_id.as_deref();
        (native == Some(typed)).then_some(row)
    })?;
    let message = format!(
        "'{typed}' is {}'s own id of a conversation; the session is {}",
        owner.runtime, owner.id
    );
    Some(Report::new(Code::ForeignId, message).next(format!("creel inspect {}", owner.id)))
}
