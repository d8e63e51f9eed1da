//! What each route answers.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use creel_api::host::{SessionsView, StopView, TerminalEntry, TerminalsView};
use creel_api::keeper::{Phase, Status};
use creel_api::layout::LayoutChange;
use creel_spool::{ReadError, ResolveError, RowFilter, Store};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::host::Host;
use crate::http::call::{Call, answer, json};
use crate::http::openapi;
use crate::layout::ChangeError;
use crate::layout::book::BookError;
use crate::notice::Notice;
use crate::refusal::Refusal;
use crate::view::{self, LookError};

/// Sessions of a store that are listed when nothing is said.
const DEFAULT_LISTED_SESSIONS: usize = 1000;

/// How long a keeper may take until its run is listed without what it says.
const STATUS_WITHIN: Duration = Duration::from_secs(2);

pub(crate) async fn status(host: Arc<Host>, _call: Call) -> Result<Response, Refusal> {
    json(&host.status())
}

pub(crate) async fn stop(host: Arc<Host>, _call: Call) -> Result<Response, Refusal> {
    let view = StopView { pid: host.identity.pid, holder_count: host.board.holder_count() };
    // A supervisor that is gone has stopped.
    let _ = host.notices.send(Notice::Stop).await;
    json(&view)
}

pub(crate) async fn sessions(host: Arc<Host>, call: Call) -> Result<Response, Refusal> {
    let filter =
        if call.query("all") == Some("true") { RowFilter::All } else { RowFilter::Visible };
    let limit = match call.query("limit").map(str::parse) {
        None => DEFAULT_LISTED_SESSIONS,
        Some(Ok(limit)) => limit,
        Some(Err(_)) => return Err(Refusal::new(400, "usage", "`limit` is no number")),
    };
    let wanted = call.query("store").map(str::to_owned);
    let stores = blocking(move || {
        let is_wanted = |store: &Store| {
            wanted.as_ref().is_none_or(|it| store.root().as_os_str() == it.as_str())
        };
        let stores = host.stores();
        stores.iter().filter(|it| is_wanted(it)).map(|it| Host::list(it, filter, limit)).collect()
    })
    .await?;
    json(&SessionsView { stores })
}

pub(crate) async fn session(host: Arc<Host>, call: Call) -> Result<Response, Refusal> {
    let typed = call.parameter("id").to_owned();
    let view = blocking(move || {
        let (store, id) = resolve(&host.stores(), &typed)?;
        let published = store.read(id).map_err(|error| unread(&error))?;
        view::look(&store, id, &published).map_err(|error| match &error {
            LookError::Read(error) => unread(error),
            LookError::Lease(_) => Refusal::of(500, "store-unusable", &error),
        })
    })
    .await??;
    json(&view)
}

/// Finds the one session that is meant, in whichever store.
fn resolve(stores: &[Store], typed: &str) -> Result<(Store, creel_record::SessionId), Refusal> {
    let mut found = None;
    for store in stores {
        match store.resolve(typed) {
            Ok(id) if found.is_none() => found = Some((store.clone(), id)),
            Ok(_) => {
                let message = format!("'{typed}' begins sessions of several stores");
                return Err(Refusal::new(409, "ambiguous-id", message).next("give the whole id"));
            }
            Err(ResolveError::NotFound { .. }) => {}
            Err(error) => return Err(unresolved(&error)),
        }
    }
    found.ok_or_else(|| {
        let message = format!("no session of a watched store is '{typed}'");
        Refusal::new(404, "unknown-id", message).next("GET /v1/sessions?all=true")
    })
}

fn unresolved(error: &ResolveError) -> Refusal {
    let (status, code) = match error {
        ResolveError::Malformed { .. } => (404, "malformed-id"),
        ResolveError::NotFound { .. } => (404, "unknown-id"),
        ResolveError::Ambiguous { .. } => (409, "ambiguous-id"),
        ResolveError::Io { .. } => (500, "store-unusable"),
    };
    Refusal::of(status, code, error).next("GET /v1/sessions?all=true")
}

fn unread(error: &ReadError) -> Refusal {
    let (status, code) = match error {
        ReadError::NotFound { .. } => (404, "unknown-id"),
        ReadError::NoSnapshot { .. }
        | ReadError::BadSnapshot { .. }
        | ReadError::StaleIndex { .. } => (409, "snapshot-invalid"),
        ReadError::NoRun { .. } => (404, "unknown-run"),
        ReadError::Damaged { .. } => (409, "session-damaged"),
        ReadError::Busy { .. } => (503, "session-busy"),
        ReadError::Io { .. } => (500, "store-unusable"),
    };
    Refusal::of(status, code, error).next("creel verify")
}

pub(crate) async fn terminals(host: Arc<Host>, _call: Call) -> Result<Response, Refusal> {
    // Asked all at once: one that hangs costs the others nothing.
    let asked: Vec<_> = host
        .board
        .askable()
        .into_iter()
        .map(|(run, asks)| {
            let (answer, answered) = oneshot::channel();
            let is_asked = asks.is_some_and(|asks| asks.try_send(answer).is_ok());
            (run, is_asked.then_some(answered))
        })
        .collect();
    let until = tokio::time::Instant::now() + STATUS_WITHIN;
    let mut terminals = Vec::with_capacity(asked.len());
    for (run, answered) in asked {
        let status = match answered {
            Some(answered) => tokio::time::timeout_at(until, answered).await.ok(),
            None => None,
        };
        terminals.push(terminal(run, status.and_then(Result::ok).as_ref()));
    }
    json(&TerminalsView { terminals })
}

fn terminal(run: creel_api::host::RunEntry, status: Option<&Status>) -> TerminalEntry {
    TerminalEntry {
        run,
        phase: status.map(|status| phase(status.phase).to_owned()),
        agent_pid: status.map(|status| status.agent_pid),
        keeper_starts: status.map(|status| status.keeper_starts),
        output_bytes: status.map(|status| status.output_bytes),
        dropped_bytes: status.map(|status| status.dropped_bytes),
        terminal: status.and_then(|status| status.terminal.clone()),
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Running => "running",
        Phase::Ending => "ending",
        Phase::Draining => "draining",
        Phase::Recording => "recording",
        Phase::Deciding => "deciding",
        Phase::Unknown => "unknown",
    }
}

pub(crate) async fn layout(host: Arc<Host>, _call: Call) -> Result<Response, Refusal> {
    json(&blocking(move || host.layout()).await?)
}

pub(crate) async fn change_layout(host: Arc<Host>, call: Call) -> Result<Response, Refusal> {
    let wanted: LayoutChange = call.json()?;
    let changed = blocking(move || host.change_layout(&wanted)).await?;
    json(&changed.map_err(|error| unchanged(&error))?)
}

fn unchanged(error: &BookError) -> Refusal {
    match error {
        BookError::Refused(ChangeError::Invalid(_)) => Refusal::of(422, "layout-invalid", error)
            .next("correct the layout; nothing was changed"),
        BookError::Refused(ChangeError::Revision { .. }) => {
            Refusal::of(409, "layout-changed", error).next("read it again; nothing was changed")
        }
        BookError::Write { path, .. } => {
            Refusal::of(500, "not-written", error).next(format!("ls -ld {}", path.display()))
        }
    }
}

pub(crate) async fn openapi(_host: Arc<Host>, _call: Call) -> Result<Response, Refusal> {
    let text = openapi::text();
    Ok(answer(StatusCode::OK, "application/json", Body::from(text)))
}

/// Runs what reads and writes files beside the runtime.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    spawn_blocking(work).await.map_err(|error| Refusal::of(500, "internal", &error))
}
