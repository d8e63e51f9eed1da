//! Whether the caller is an agent: by its environment, or by the processes above it.

use creel_record::SessionId;
use creel_sys::session::SESSION_VARIABLE;
use creel_sys::tree::{Environ, ProcessTable, environ_value};

use crate::codes::Code;
use crate::environment::Environment;
use crate::report::Report;

/// Ancestors that are looked at: more than any process has.
const MAX_ANCESTORS: usize = 1024;

/// Returns the session that the caller works for; none for a person.
///
/// An agent may clear its own environment, but not that of the processes it descends from; its
/// orphans stay below its holder.
///
/// # Errors
/// When the variable holds no id, or the processes can't be read.
pub(crate) fn calling_session(environment: &Environment) -> Result<Option<SessionId>, Report> {
    if let Some(session) = environment.caller()? {
        return Ok(Some(session));
    }
    let table = ProcessTable::read().map_err(|error| Report::of(Code::Internal, &error))?;
    let mut pid = i32::try_from(std::process::id()).unwrap_or(0);
    for _ in 0..MAX_ANCESTORS {
        let Some(entry) = table.entry(pid).filter(|entry| entry.ppid > 0) else { break };
        pid = entry.ppid;
        if let Environ::Value(text) = environ_value(pid, SESSION_VARIABLE)
            && let Ok(session) = text.parse()
        {
            return Ok(Some(session));
        }
    }
    Ok(None)
}
