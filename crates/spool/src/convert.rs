//! From the record's session to the row that lists show.

use creel_api::session::{RequestRow, RunRow, SessionRow};
use creel_record::question::Question;
use creel_record::snapshot::SPACE_ID;
use creel_record::{Run, Session};

/// What a row says beyond the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowFlags {
    /// The log holds more than is published, and nobody is writing.
    pub is_stale: bool,
    /// The log is damaged or read-only until it is healed.
    pub is_damaged: bool,
}

/// Makes the row of a session.
pub fn to_row(session: &Session, flags: RowFlags) -> SessionRow {
    let is_asking = session.blocking_question().is_some();
    let pending = session
        .blocking_question()
        .or_else(|| session.questions.iter().find(|question| question.is_open()));
    SessionRow {
        id: session.id.to_string(),
        space_id: SPACE_ID.to_owned(),
        spool_id: session.id.to_string(),
        root_thread_id: session.root_thread_id.to_string(),
        runtime: session.runtime.clone(),
        profile: session.profile.clone(),
        account: session.account.clone(),
        mode: session.mode.to_string(),
        retention: session.retention.to_string(),
        work_state: session.work_state().to_string(),
        title: session.title.clone(),
        description: session.description.clone(),
        interface: session.interface.clone(),
        continues: session.continues.map(|id| id.to_string()),
        parent_session_id: session.parent.map(|parent| parent.session_id.to_string()),
        started: session.started.to_string(),
        updated: session.updated.to_string(),
        state_since: session.state_since.to_string(),
        run_count: session.run_count,
        current_run: session.current_run().map(|run| to_run_row(run, is_asking)),
        pending_request: pending.map(to_request_row),
        result_count: session.result_count,
        discarded: session.discarded,
        stale: flags.is_stale,
        damaged: flags.is_damaged,
        depth: session.depth,
        root_session_id: session.root_session_id.to_string(),
        key: session.key.as_ref().map(|key| key.key.clone()),
    }
}

fn to_run_row(run: &Run, is_asking: bool) -> RunRow {
    RunRow {
        id: run.id.to_string(),
        number: run.number,
        status: run.status(is_asking).as_str().to_owned(),
        cause: run.cause.to_string(),
        started: run.started.to_string(),
        ended: run.ended.map(|at| at.to_string()),
        end_reason: run.end_reason.map(|reason| reason.to_string()),
        exit_code: run.exit_code,
        native_session_id: run.native_session_id.clone(),
    }
}

fn to_request_row(question: &Question) -> RequestRow {
    RequestRow {
        id: question.id.to_string(),
        kind: question.kind.to_string(),
        asked: question.asked.to_string(),
    }
}
