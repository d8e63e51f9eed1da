//! From the record's types to the published shapes: what `inspect` prints and the host answers.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use creel_api::inspect::{
    DispatchView, LeaseView, PathsView, RequestView, ResultView, RunView, SessionView,
};
use creel_api::terminal::TerminalView;
use creel_keeper::client::Client;
use creel_keeper::screen::restore::has_last_screen;
use creel_record::command::start::may_start;
use creel_record::dispatch::Dispatch;
use creel_record::question::Question;
use creel_record::run::ResultRef;
use creel_record::snapshot::SPACE_ID;
use creel_record::{Mode, Run, RunId, Session, SessionId, Timestamp};
use creel_spool::{Published, ReadError, Store};
use creel_sys::boot::{boot_time_ms, wall_time_ms};
use creel_sys::flock_table;
use creel_sys::process::ProcessIdentity;
use thiserror::Error;

/// How long a keeper may take to answer; the record is shown without its word.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Why a session can't be shown.
#[derive(Debug, Error)]
pub enum LookError {
    /// The record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It can't be told who holds the lease.
    #[error("can't tell who holds the lease")]
    Lease(#[source] io::Error),
}

/// Returns everything the record keeps of a session, without the texts of its results.
///
/// # Errors
/// When it can't be read.
pub fn look(store: &Store, id: SessionId, published: &Published) -> Result<SessionView, LookError> {
    let session = &published.snapshot.session;
    let is_damaged = published.damage.is_some();
    // A damaged log answers for what the snapshot holds; its texts are shown where they are sound.
    let text = |at| match store.text(id, at) {
        Ok(text) => Ok(Some(text)),
        Err(_) if is_damaged => Ok(None),
        Err(error) => Err(LookError::from(error)),
    };
    let mut requests = Vec::with_capacity(session.questions.len());
    for question in &session.questions {
        requests.push(request(question, text(question.text)?));
    }
    let runs = match store.runs(id, session) {
        Ok(runs) => runs,
        Err(_) if is_damaged => session.runs.clone(),
        Err(error) => return Err(error.into()),
    };
    let environment = match store.environment(id, session) {
        Ok(environment) => environment,
        Err(_) if is_damaged => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    let lease = lease_of(store, session).map_err(LookError::Lease)?;
    let prompt = text(session.prompt)?;
    let (terminal, last_observed) = terminal_of(store, session);
    let beside = Beside { runs, prompt, environment, requests, lease, terminal, last_observed };
    Ok(self::session(store, published, beside))
}

/// Tells whether somebody has the lease, without touching it: even to try a lock is to be in
/// somebody's way. The kernel's table of locks knows, except of a lock whose taker is of another
/// process namespace: there the run's processes tell.
///
/// # Errors
/// When `/proc` or the note of the holder can't be read.
pub fn lease_of(store: &Store, session: &Session) -> io::Result<LeaseView> {
    let run = session.live_run();
    let mut held = flock_table::is_locked(&store.lease_path(session.id)).unwrap_or(false);
    for process in run.iter().flat_map(|run| [&run.holder, &run.agent]).flatten() {
        let identity = ProcessIdentity {
            pid: process.pid,
            start_ticks: process.start_ticks,
            boot_id: process.boot_id.clone(),
        };
        held |= identity.is_alive()?;
    }
    let boundary =
        run.map(|run| run.cgroup.clone().unwrap_or_else(|| "process session".to_owned()));
    let note = store.read_lease_note(session.id)?;
    let trouble = if held { trouble_of(session) } else { None };
    Ok(LeaseView { held, boundary, note, trouble })
}

/// Asks the newest run's keeper what keeps it from going on: it stays until the end is recorded and
/// what follows is decided. One that doesn't answer says nothing.
fn trouble_of(session: &Session) -> Option<String> {
    let run = session.current_run()?;
    let mut keeper = Client::connect(session.id, run.id, ANSWER_WITHIN).ok()?;
    let status = keeper.status(ANSWER_WITHIN).ok()?;
    status.record_error.or(status.disk_error)
}

/// Asks the keeper of a live terminal how it stands; of an ended run, looks for what it left.
fn terminal_of(store: &Store, session: &Session) -> (Option<TerminalView>, Timestamp) {
    let recorded = session.updated;
    let Some(run) = session.current_run() else { return (None, recorded) };
    if session.mode != Mode::Interactive || session.live_run().is_none() {
        let is_left = has_last_screen(&store.run_dir(session.id, run.number));
        let ended = TerminalView { state: "ended".to_owned(), status: None };
        return (is_left.then_some(ended), recorded);
    }
    let status = Client::connect(session.id, run.id, ANSWER_WITHIN)
        .and_then(|mut client| client.status(ANSWER_WITHIN))
        .ok()
        .and_then(|status| status.terminal);
    let output_at_ms = status.as_ref().and_then(|status| status.output_at_ms);
    let observed = output_at_ms.map_or(recorded, |at_ms| {
        let age_ms = boot_time_ms().saturating_sub(at_ms);
        let at_ms = wall_time_ms().saturating_sub(age_ms);
        Timestamp::from_millis(i64::try_from(at_ms).unwrap_or(i64::MAX)).max(recorded)
    });
    (Some(TerminalView { state: "live".to_owned(), status }), observed)
}

/// Returns the published form of a result, with its text where it was read.
pub fn result(result: &ResultRef, text: Option<String>) -> ResultView {
    ResultView {
        run_number: result.run_number,
        disposition: result.disposition.to_string(),
        at: result.at.to_string(),
        source: result.source.to_string(),
        len_bytes: result.payload.len_bytes,
        sha256: result.sha256.clone(),
        is_late: result.is_late,
        text,
    }
}

/// Returns the published form of a run of `session`.
pub fn run(run: &Run, session: &Session) -> RunView {
    let is_asking = session.blocking_question().is_some_and(|q| q.run_id == Some(run.id));
    RunView {
        id: run.id.to_string(),
        number: run.number,
        status: run.status(is_asking).as_str().to_owned(),
        cause: run.cause.to_string(),
        attempt: run.attempt,
        turn_count: run.turn_count,
        continues_run_id: run.continues_run_id.map(|id| id.to_string()),
        started: run.started.to_string(),
        ended: run.ended.map(|at| at.to_string()),
        pid: run.agent.as_ref().map(|agent| agent.pid),
        native_session_id: run.native_session_id.clone(),
        end_requested: run.end_requested.map(|reason| reason.to_string()),
        end_reason: run.end_reason.map(|reason| reason.to_string()),
        exit_code: run.exit_code,
        signal: run.signal,
        detail: run.detail.clone(),
        disposition: run.disposition().map(|disposition| disposition.to_string()),
        result: run.result.as_ref().map(|it| result(it, None)),
    }
}

/// Returns the published form of a question, with its text where it was read.
pub fn request(question: &Question, text: Option<String>) -> RequestView {
    RequestView {
        id: question.id.to_string(),
        kind: question.kind.to_string(),
        run_id: question.run_id.map(|id: RunId| id.to_string()),
        asked: question.asked.to_string(),
        is_answered: !question.is_open(),
        question: text,
    }
}

fn dispatch(dispatch: &Dispatch) -> DispatchView {
    DispatchView {
        child_session_id: dispatch.child_session_id.to_string(),
        initiated_run_id: dispatch.initiated_run_id.to_string(),
        started_at: dispatch.started_at.to_string(),
        is_materialized: dispatch.is_materialized,
    }
}

/// Returns the question that comes first: the blocking one, else the oldest open one.
pub fn first_open(session: &Session) -> Option<&Question> {
    session.blocking_question().or_else(|| session.questions.iter().find(|q| q.is_open()))
}

/// What a session's view holds beside its snapshot.
#[derive(Debug)]
struct Beside {
    /// Every run, oldest first.
    runs: Vec<Run>,
    /// The launch prompt.
    prompt: Option<String>,
    /// The environment that the launch kept.
    environment: BTreeMap<String, String>,
    /// The open questions with their texts.
    requests: Vec<RequestView>,
    /// Who holds the lease.
    lease: LeaseView,
    /// The terminal of the newest run.
    terminal: Option<TerminalView>,
    /// When something was last seen of the agent.
    last_observed: Timestamp,
}

/// Returns the whole published form of a session.
fn session(store: &Store, published: &Published, beside: Beside) -> SessionView {
    let session = &published.snapshot.session;
    let id = session.id.to_string();
    let path = |path: std::path::PathBuf| path.display().to_string();
    let first = first_open(session).map(|question| question.id.to_string());
    SessionView {
        space_id: SPACE_ID.to_owned(),
        spool_id: id.clone(),
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
        run_count: session.run_count,
        current_run: session.current_run().map(|it| run(it, session)),
        pending_request: beside.requests.iter().find(|it| Some(&it.id) == first.as_ref()).cloned(),
        stale: published.is_stale,
        damaged: published.damage.is_some(),
        damage: published.damage.as_ref().map(ToString::to_string),
        state_since: session.state_since.to_string(),
        discarded: session.discarded,
        authority: session.authority.to_string(),
        cwd: session.cwd.clone(),
        key: session.key.as_ref().map(|key| key.key.clone()),
        prompt: beside.prompt,
        environment: beside.environment,
        root_session_id: session.root_session_id.to_string(),
        depth: session.depth,
        native_session_id: session.native_session_id.clone(),
        intended_run_id: session.intent.as_ref().map(|intent| intent.run_id.to_string()),
        runs: beside.runs.iter().map(|it| run(it, session)).collect(),
        result_count: session.result_count,
        latest_result: session.latest_result.as_ref().map(|it| result(it, None)),
        requests: beside.requests,
        dispatches: session.dispatches.iter().map(dispatch).collect(),
        slices: session.slices.clone(),
        note_count: session.note_count,
        artifact_count: session.artifact_count,
        artifacts: session.artifacts.clone(),
        pending_count: session.pending.count,
        wake_at: session.pending.wake_at.map(|at| at.to_string()),
        sequence: published.snapshot.log.sequence,
        last_observed: Some(beside.last_observed.to_string()),
        can_reattach: beside.terminal.as_ref().is_some_and(|terminal| terminal.status.is_some()),
        can_restart: may_start(session).is_ok(),
        terminal: beside.terminal,
        lease: beside.lease,
        paths: PathsView {
            log: path(store.log_path(session.id)),
            snapshot: path(store.spool_dir().join(format!("{}.json", session.id))),
            transcript: path(store.thread_path(session.id, session.root_thread_id)),
            directory: path(store.session_dir(session.id)),
        },
        id,
    }
}
