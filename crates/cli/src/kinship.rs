//! Who calls, and on which sessions it may act: an agent answers for itself and for those it
//! dispatched, a person for all.

use creel_record::{Session, SessionId};
use creel_sys::process::ProcessIdentity;
use creel_sys::session::{HOLD_ARGUMENT, SESSION_VARIABLE};
use creel_sys::tree::{Environ, ExeIdentity, ProcessTable, environ_value};

use crate::codes::Code;
use crate::context::Context;
use crate::descent::calling_session;
use crate::machinery::is_ours;
use crate::report::{Report, chain};
use crate::settings::Settings;

/// The longest chain of processes or parents that is followed; caps keep real ones far below.
const MAX_CHAIN: usize = 1024;

/// Returns the session inside whose run this process was started; none for a person.
///
/// The nearest holder above the process counts, since its environment was set by us; an agent can
/// change its own. Where no holder can be seen (a sandbox with processes of its own), environments
/// are believed.
///
/// # Errors
/// When the environment names no valid session, or the process table can't be read.
pub(crate) fn caller(context: &Context) -> Result<Option<SessionId>, Report> {
    let above = nearest_holder().map_err(|error| {
        let message = format!("can't tell who calls: {}", chain(&error));
        Report::new(Code::Internal, message).next("ls /proc/self/stat")
    })?;
    match above {
        Some(session) => Ok(Some(session)),
        None => calling_session(&context.environment),
    }
}

fn nearest_holder() -> std::io::Result<Option<SessionId>> {
    let table = ProcessTable::read()?;
    let own = ExeIdentity::own()?;
    let mut pid = ProcessIdentity::current()?.pid;
    for _ in 0..MAX_CHAIN {
        let Some(parent) = table.entry(pid).map(|entry| entry.ppid).filter(|ppid| *ppid > 1) else {
            break;
        };
        pid = parent;
        if is_ours(pid, HOLD_ARGUMENT, &own)?
            && let Environ::Value(id) = environ_value(pid, SESSION_VARIABLE)
        {
            return Ok(id.parse().ok());
        }
    }
    Ok(None)
}

/// What a caller wants to do to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// End it in one of the deliberate ways; allowed to itself.
    End,
    /// Answer its question; not allowed to itself, since nobody approves what it asks for.
    Answer,
    /// Type on its terminal, or resize it; not allowed to itself, as with an answer.
    Type,
    /// Ask a question in its name; allowed to itself.
    Ask,
    /// Return its turn; allowed to itself alone, since a result is the word of who worked.
    Return,
}

impl Act {
    /// Tells whether a session may do it to itself.
    pub(crate) fn is_own(self) -> bool {
        !matches!(self, Self::Answer | Self::Type)
    }
}

/// Refuses an agent that acts on a session which is neither itself nor one that it, or one of
/// those, dispatched; each act narrows that. `read` gives the sessions between.
///
/// # Errors
/// When the rule refuses, or as `read` does.
pub(crate) fn check(
    caller: Option<SessionId>,
    (target, act): (&Session, Act),
    settings: &Settings,
    read: impl Fn(SessionId) -> Result<Session, Report>,
) -> Result<(), Report> {
    let Some(caller) = caller else { return Ok(()) };
    if settings.agents.may_act_on_others {
        return Ok(());
    }
    if caller == target.id && act.is_own() {
        return Ok(());
    }
    let mut parent = match act {
        Act::Return => None,
        Act::End | Act::Answer | Act::Type | Act::Ask => {
            target.parent.map(|parent| parent.session_id)
        }
    };
    for _ in 0..MAX_CHAIN {
        match parent {
            None => break,
            Some(id) if id == caller => return Ok(()),
            Some(id) => parent = read(id)?.parent.map(|parent| parent.session_id),
        }
    }
    let (verb, whom) = match act {
        Act::End => ("end", "itself and its descendants"),
        Act::Answer => ("answer", "its descendants"),
        Act::Type => ("type for", "its descendants"),
        Act::Ask => ("ask for", "itself and its descendants"),
        Act::Return => ("return for", "itself"),
    };
    let message = format!(
        "session {caller} may {verb} {whom} only, which session {} is not; nothing was changed",
        target.id
    );
    Err(Report::new(Code::NotYours, message)
        .next("ask the operator: creel session ask \"QUESTION\""))
}
