//! Events as a stream: each reader has a place in the journal and a channel of a few portions.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use axum::response::Response;
use creel_api::host::ResetEvent;
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, spawn_blocking};

use crate::host::{Host, Reader};
use crate::http::call::{Call, answer};
use crate::journal::{Begin, Cursor, Event, Found};
use crate::refusal::Refusal;

/// Bytes of a portion, unless one event has more.
const PORTION_BYTES: usize = 64 * 1024;

/// Portions on their way to a reader. One who takes none keeps its place until the ring has moved
/// on, and no more memory than this.
const MAX_PORTIONS: usize = 2;

/// How often a quiet stream says that it is there, so that a reader that is gone is noticed.
const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(30);

/// A comment of the format; a reader takes no notice.
const SIGN_OF_LIFE: &[u8] = b":\n\n";

pub(crate) async fn follow(host: Arc<Host>, call: Call) -> Result<Response, Refusal> {
    let begin = host.board.begin(call.header("last-event-id"));
    let (portions, taken) = mpsc::channel(MAX_PORTIONS);
    let reader = host.reader();
    let pump = tokio::spawn(pump(host, reader, (begin, portions)));
    let body = Body::new(Portions { taken, pump: pump.abort_handle() });
    Ok(answer(StatusCode::OK, "text/event-stream", body))
}

/// Hands events on for as long as somebody takes them.
async fn pump(host: Arc<Host>, _reader: Reader, (mut begin, out): (Begin, mpsc::Sender<Bytes>)) {
    let mut changes = host.board.subscribe();
    let mut shutdown = host.shutdown.subscribe();
    loop {
        let mut at = match begin {
            Begin::After(sequence) => sequence,
            Begin::Reset(reason) => {
                let Some((sequence, portion)) = reset(&host, reason).await else { return };
                if out.send(portion).await.is_err() {
                    return;
                }
                sequence
            }
        };
        loop {
            // Before the look, so that no change falls between the two.
            changes.mark_unchanged();
            match host.board.after(at, PORTION_BYTES) {
                Found::Events(events) => {
                    at = events.last().map_or(at, |event| event.sequence);
                    if out.send(portion(&host.board.epoch(), &events)).await.is_err() {
                        return;
                    }
                }
                Found::Lost => break,
                Found::Nothing => {
                    let waited = tokio::select! {
                        _ = shutdown.wait_for(|is_over| *is_over) => return,
                        () = out.closed() => return,
                        waited = tokio::time::timeout(SIGN_OF_LIFE_EVERY, changes.changed()) => waited,
                    };
                    let sign = Bytes::from_static(SIGN_OF_LIFE);
                    if waited.is_err() && out.send(sign).await.is_err() {
                        return;
                    }
                }
            }
        }
        begin = Begin::Reset("too-old");
    }
}

/// Makes the event that a reader begins with; none when the host ends.
async fn reset(host: &Arc<Host>, reason: &str) -> Option<(u64, Bytes)> {
    let snapshot = host.board.snapshot();
    let other = Arc::clone(host);
    // Read after the place in the journal was taken: what changes in between is told once more.
    let layout = spawn_blocking(move || other.layout()).await.ok()?;
    let (reason, status) = (reason.to_owned(), host.status());
    let data = ResetEvent { reason, status, runs: snapshot.runs, layout };
    let data = serde_json::to_string(&data).ok()?;
    let cursor = Cursor { epoch: host.board.epoch(), sequence: snapshot.sequence };
    Some((snapshot.sequence, Bytes::from(record(&cursor, "reset", &data))))
}

fn portion(epoch: &str, events: &[Arc<Event>]) -> Bytes {
    let mut text = String::new();
    for event in events {
        let cursor = Cursor { epoch: epoch.to_owned(), sequence: event.sequence };
        text.push_str(&record(&cursor, event.kind, &event.data));
    }
    Bytes::from(text)
}

/// JSON on one line has no newline that would end a field.
fn record(cursor: &Cursor, kind: &str, data: &str) -> String {
    format!("id: {cursor}\nevent: {kind}\ndata: {data}\n\n")
}

/// The body of a stream. Dropping it ends the pump.
struct Portions {
    taken: mpsc::Receiver<Bytes>,
    pump: AbortHandle,
}

impl HttpBody for Portions {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.taken.poll_recv(context).map(|portion| portion.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Drop for Portions {
    fn drop(&mut self) {
        self.pump.abort();
    }
}
