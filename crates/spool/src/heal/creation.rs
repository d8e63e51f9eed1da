//! Making a lost creation again from the snapshot.

use std::collections::BTreeMap;

use creel_record::event::Draft;
use creel_record::event::fact::{FirstRun, SessionCreated};
use creel_record::source::Source;
use creel_record::{Cause, Session, TurnId};

use crate::heal::rewrite::Old;
use crate::heal::{HealError, Mint};

/// The type of the event.
pub(super) const TYPE: &str = "orbh.session.created";

/// Makes the creation of a session from its snapshot. Its prompt and environment are empty: only the
/// kept log has them, damaged, and a prompt may be run.
pub(super) fn draft(old: &Old<'_>, mint: &mut Mint<'_>) -> Result<Draft, HealError> {
    let Some(snapshot) = old.snapshot else { return Err(HealError::NoCreation { id: old.id }) };
    let session = &snapshot.session;
    let id = (mint.event_id)();
    let (first_run, cause) = first_run(old, session, mint);
    let created = SessionCreated {
        kind: "session".to_owned(),
        runtime: session.runtime.clone(),
        profile: session.profile.clone(),
        account: session.account.clone(),
        mode: session.mode,
        authority: session.authority,
        prompt: String::new(),
        cwd: session.cwd.clone(),
        root_thread_id: session.root_thread_id,
        title: session.title.clone(),
        description: session.description.clone(),
        key: session.key.clone(),
        parent: session.parent,
        continues: session.continues,
        root_session_id: session.root_session_id,
        depth: session.depth,
        first_run,
        cause,
        environment: BTreeMap::new(),
    };
    let (source, time) = (Source::Maintenance, session.started);
    Ok(Draft { id, source, time, fact: created.into() })
}

/// Returns the ids of the first run: as it started, or as it was to.
fn first_run(old: &Old<'_>, session: &Session, mint: &mut Mint<'_>) -> (FirstRun, Cause) {
    if let Some(start) = &old.audit.first_start {
        return (FirstRun { run_id: start.run_id, turn_id: start.turn_id }, start.cause);
    }
    if let Some(run) = session.runs.iter().find(|run| run.number == 1) {
        return (FirstRun { run_id: run.id, turn_id: run.turn_id }, run.cause);
    }
    if let Some(intent) = &session.intent {
        return (FirstRun { run_id: intent.run_id, turn_id: intent.turn_id }, intent.cause);
    }
    let turn_id = TurnId::ordered(mint.now, [0; 10]);
    let run_id = creel_record::RunId::ordered(mint.now, [0; 10]);
    (FirstRun { run_id, turn_id }, Cause::Launch)
}
