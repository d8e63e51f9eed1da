//! `creel inspect`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use creel_api::inspect::{LeaseView, ResultView, RunView, SessionView};
use creel_api::terminal::TerminalView;
use creel_keeper::client::Client;
use creel_keeper::screen::restore::has_last_screen;
use creel_record::{Mode, Session, SessionId, Timestamp};
use creel_spool::{Published, Store};
use creel_sys::boot::{boot_time_ms, wall_time_ms};
use creel_sys::flock_table;
use creel_sys::process::ProcessIdentity;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;
use crate::view::{self, Beside};

/// How long a keeper may take to answer; the record is printed without its word.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Print everything the record keeps of a session
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// Print the text of every result too
    #[arg(short, long)]
    results: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such session, or it can't be read.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let published = store.read(id)?;
    let mut view = look(&store, id, &published)?;
    if args.results {
        add_results(&store, &published, &mut view)?;
    }
    if args.json {
        context.output.json(&view)?;
    } else {
        context.output.raw(page(&view).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn look(store: &Store, id: SessionId, published: &Published) -> Result<SessionView, Report> {
    let session = &published.snapshot.session;
    let is_damaged = published.damage.is_some();
    // A damaged log answers for what the snapshot holds; its texts are shown where they are sound.
    let text = |at| match store.text(id, at) {
        Ok(text) => Ok(Some(text)),
        Err(_) if is_damaged => Ok(None),
        Err(error) => Err(Report::from(error)),
    };
    let mut requests = Vec::with_capacity(session.questions.len());
    for question in &session.questions {
        requests.push(view::request(question, text(question.text)?));
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
    let lease = lease_of(store, session)?;
    let prompt = text(session.prompt)?;
    let (terminal, last_observed) = terminal_of(store, session);
    let beside = Beside { runs, prompt, environment, requests, lease, terminal, last_observed };
    Ok(view::session(store, published, beside))
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

/// Tells whether somebody has the lease, without touching it: even to try a lock is to be in
/// somebody's way. The kernel's table of locks knows, except of a lock whose taker is of another
/// process namespace: there the holder tells, which has it for life. The agent never has it.
fn lease_of(store: &Store, session: &Session) -> Result<LeaseView, Report> {
    let failed = |error: io::Error| Report::of(Code::StoreUnusable, &error).next("creel scope");
    let run = session.live_run();
    let mut held = flock_table::is_locked(&store.lease_path(session.id)).unwrap_or(false);
    if let Some(holder) = run.and_then(|run| run.holder.as_ref()) {
        let identity = ProcessIdentity {
            pid: holder.pid,
            start_ticks: holder.start_ticks,
            boot_id: holder.boot_id.clone(),
        };
        held |= identity.is_alive().map_err(failed)?;
    }
    let boundary =
        run.map(|run| run.cgroup.clone().unwrap_or_else(|| "process session".to_owned()));
    let note = store.read_lease_note(session.id).map_err(failed)?;
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

fn add_results(store: &Store, published: &Published, view: &mut SessionView) -> Result<(), Report> {
    let session = &published.snapshot.session;
    for (run, shown) in store.runs(session.id, session)?.iter().zip(&mut view.runs) {
        if let (Some(result), Some(shown)) = (&run.result, &mut shown.result) {
            shown.text = Some(store.text(session.id, result.payload)?);
        }
    }
    let newest = view.runs.last().and_then(|run| run.result.as_ref()?.text.clone());
    if let Some(shown) = view.current_run.as_mut().and_then(|run| run.result.as_mut()) {
        shown.text = newest;
    }
    if let (Some(result), Some(shown)) = (&session.latest_result, &mut view.latest_result) {
        shown.text = Some(store.text(session.id, result.payload)?);
    }
    Ok(())
}

/// Returns the view for a person.
fn page(view: &SessionView) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            // Writing to a String can't fail.
            let _ = writeln!(text, "{name:<12} {}", terminal::line(value, usize::MAX));
        }
    };
    let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
    let target = match &view.profile {
        Some(profile) => format!("{}/{profile}", view.runtime),
        None => view.runtime.clone(),
    };
    field("Session", &view.id);
    field("Title", &or_empty(&view.title));
    field("About", &or_empty(&view.description));
    field("State", &format!("{} since {}", view.work_state, view.state_since));
    field("Shelf", if view.discarded { "discarded" } else { &view.retention });
    field("Target", &target);
    field("Account", &or_empty(&view.account));
    field("Mode", &view.mode);
    field("Directory", &view.cwd);
    field("Launch key", &or_empty(&view.key));
    field("Parent", &or_empty(&view.parent_session_id));
    field("Continues", &or_empty(&view.continues));
    field("Native id", &or_empty(&view.native_session_id));
    field("Started", &view.started);
    field("Updated", &view.updated);
    field("Wakes at", &or_empty(&view.wake_at));
    field("Lease", &lease(&view.lease));
    field("Trouble", &or_empty(&view.lease.trouble));
    field("Boundary", &or_empty(&view.lease.boundary));
    field("Terminal", &view.terminal.as_ref().map(terminal_line).unwrap_or_default());
    field("Damage", &or_empty(&view.damage));
    if view.stale {
        field("Stale", &format!("creel rebuild-session-snapshots {}", view.id));
    }
    field("Counts", &counts(view));
    for (name, value) in &view.interface {
        field("Key", &format!("{name} = {value}"));
    }
    for request in &view.requests {
        let state = if request.is_answered { "answered" } else { "open" };
        let question = or_empty(&request.question);
        field("Question", &format!("{} {} {state}: {question}", request.id, request.kind));
    }
    for dispatch in &view.dispatches {
        let owed = format!("{} (run {})", dispatch.child_session_id, dispatch.initiated_run_id);
        field("Waits for", &owed);
    }
    for artifact in &view.artifacts {
        field("Artifact", artifact);
    }
    for (name, value) in &view.environment {
        field("Environment", &format!("{name}={value}"));
    }
    field("Log", &view.paths.log);
    field("Prompt", &or_empty(&view.prompt));
    for shown in &view.runs {
        run_lines(&mut text, shown);
    }
    text
}

fn terminal_line(view: &TerminalView) -> String {
    let Some(status) = &view.status else { return view.state.clone() };
    let doubt = status.doubt.as_ref().map(|doubt| format!(", in doubt: {doubt}"));
    format!(
        "{}, {}x{} by {}, {} viewers{}",
        view.state,
        status.size.columns,
        status.size.lines,
        status.size_from,
        status.viewers.len(),
        doubt.unwrap_or_default()
    )
}

fn lease(lease: &LeaseView) -> String {
    match (&lease.note, lease.held) {
        (Some(note), true) => format!("held ({note})"),
        (_, true) => "held".to_owned(),
        (_, false) => "free".to_owned(),
    }
}

fn counts(view: &SessionView) -> String {
    format!(
        "runs {}, results {}, notes {}, artifacts {}, events {}",
        view.run_count, view.result_count, view.note_count, view.artifact_count, view.sequence
    )
}

fn run_lines(text: &mut String, run: &RunView) {
    let mut line = format!("Run {:<8} {}, {}", run.number, run.status, run.cause);
    if run.attempt > 0 {
        let _ = write!(line, " {}", run.attempt);
    }
    let _ = write!(line, ", from {}", run.started);
    if let Some(ended) = &run.ended {
        let _ = write!(line, " to {ended}");
    }
    if let Some(reason) = &run.end_reason {
        let _ = write!(line, ", {reason}");
    }
    let facts = [("pid", run.pid), ("exit", run.exit_code), ("signal", run.signal)];
    for (name, value) in facts {
        if let Some(value) = value {
            let _ = write!(line, ", {name} {value}");
        }
    }
    if let Some(detail) = &run.detail {
        let _ = write!(line, ": {detail}");
    }
    let _ = writeln!(text, "{}", terminal::line(&line, usize::MAX));
    if let Some(result) = &run.result {
        result_lines(text, result);
    }
}

fn result_lines(text: &mut String, result: &ResultView) {
    let late = if result.is_late { ", late" } else { "" };
    let ResultView { disposition, len_bytes, at, source, .. } = result;
    let line = format!("  returned   {disposition}{late}, {len_bytes} bytes, at {at} by {source}");
    let _ = writeln!(text, "{}", terminal::line(&line, usize::MAX));
    if let Some(payload) = &result.text {
        for line in terminal::block(payload).lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
}
