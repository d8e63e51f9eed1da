//! The two doors: the Unix socket and the loopback address.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use creel_sys::socket::bind_listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinSet};

use crate::config::Http;
use crate::contact::own_user;
use crate::host::Host;
use crate::http::guard::{self, Door};
use crate::http::route::router;
use crate::http::stall::Stalling;
use crate::refusal::chain;
use crate::say::say;

/// Connections of each door; those beyond wait in the kernel's queue until one is closed.
const MAX_CONNECTIONS: usize = 128;

/// How long the head of a request may take to come; also how long a connection may stay without
/// one.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Bytes of a head, and of what is read ahead.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// How long answers that are under way may take when the host ends.
const CLOSED_WITHIN: Duration = Duration::from_secs(2);

/// The open doors.
#[derive(Debug)]
pub(crate) struct Doors {
    accepting: JoinSet<()>,
    socket: AbortHandle,
}

impl Doors {
    /// Opens the socket, and the loopback address when it is wanted. A port that can't be had is
    /// no reason not to be a host.
    pub(crate) async fn open(host: &Arc<Host>, listener: StdUnixListener) -> Result<Self, String> {
        let mut accepting = JoinSet::new();
        let socket = accept_socket(&mut accepting, host, listener)?;
        let mut doors = Self { accepting, socket };
        if let Http::Port(port) = host.config.http {
            let why = doors.open_loopback(host, port).await.err();
            if let Some(why) = &why {
                say!("no HTTP: {why}");
            }
            host.board.set_degraded("http", why);
        }
        Ok(doors)
    }

    async fn open_loopback(&mut self, host: &Arc<Host>, port: u16) -> Result<(), String> {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let failed = |error: std::io::Error| format!("can't listen on {wanted}: {error}");
        let listener = TcpListener::bind(wanted).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // Set once: there is one port for the life of a host.
        let _ = host.http.set(address);
        let host = Arc::clone(host);
        self.accepting.spawn(async move {
            let mut serving = Serving::new(&host);
            let mut shutdown = host.shutdown.subscribe();
            loop {
                let permit = serving.permit().await;
                let accepted = tokio::select! {
                    _ = shutdown.wait_for(|is_over| *is_over) => break,
                    accepted = listener.accept() => accepted,
                };
                match accepted {
                    Ok((stream, _)) => {
                        // Events are small, and waited for.
                        let _ = stream.set_nodelay(true);
                        serving.serve(stream, Door::Loopback(address), permit);
                    }
                    Err(error) => serving.failed(&error).await,
                }
            }
            serving.close().await;
        });
        Ok(())
    }

    /// Listens anew at the socket's path.
    pub(crate) fn rebind(&mut self, host: &Arc<Host>) -> Result<(), String> {
        let listener = bind_listener(&host.socket).map_err(|error| chain(&error))?;
        let socket = accept_socket(&mut self.accepting, host, listener)?;
        std::mem::replace(&mut self.socket, socket).abort();
        Ok(())
    }

    /// Takes nobody in any more, and gives what is under way a moment.
    pub(crate) async fn close(mut self) {
        let all = async { while self.accepting.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CLOSED_WITHIN, all).await;
    }
}

fn accept_socket(
    accepting: &mut JoinSet<()>,
    host: &Arc<Host>,
    listener: StdUnixListener,
) -> Result<AbortHandle, String> {
    let listener = listener
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(listener))
        .map_err(|error| error.to_string())?;
    let host = Arc::clone(host);
    Ok(accepting.spawn(async move {
        let mut serving = Serving::new(&host);
        let mut shutdown = host.shutdown.subscribe();
        loop {
            let permit = serving.permit().await;
            let accepted = tokio::select! {
                _ = shutdown.wait_for(|is_over| *is_over) => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let is_ours = stream.peer_cred().is_ok_and(|peer| peer.uid() == own_user());
                    if is_ours {
                        serving.serve(stream, Door::Socket, permit);
                    }
                }
                Err(error) => serving.failed(&error).await,
            }
        }
        serving.close().await;
    }))
}

/// The connections of one door.
struct Serving {
    host: Arc<Host>,
    router: Router,
    slots: Arc<Semaphore>,
    connections: JoinSet<()>,
}

impl Serving {
    fn new(host: &Arc<Host>) -> Self {
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Self { host: Arc::clone(host), router: router(host), slots, connections: JoinSet::new() }
    }

    /// Waits for a free slot.
    async fn permit(&mut self) -> Option<OwnedSemaphorePermit> {
        while self.connections.try_join_next().is_some() {}
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    /// Sees the connections out.
    async fn close(mut self) {
        while self.connections.join_next().await.is_some() {}
    }

    fn serve<S>(&mut self, stream: S, door: Door, permit: Option<OwnedSemaphorePermit>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (host, router) = (Arc::clone(&self.host), self.router.clone());
        self.connections.spawn(async move {
            serve_one(host, router, (Stalling::new(stream), door)).await;
            drop(permit);
        });
    }

    /// A lack of descriptors passes; until it does, nobody else is accepted.
    async fn failed(&mut self, error: &std::io::Error) {
        say!("a connection was not accepted: {error}");
        let some_end = async {
            self.connections.join_next().await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), some_end).await;
    }
}

async fn serve_one<S>(host: Arc<Host>, router: Router, (stream, door): (S, Door))
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut shutdown = host.shutdown.subscribe();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (host, router) = (Arc::clone(&host), router.clone());
        async move { Ok::<_, std::convert::Infallible>(ask(&host, router, (request, door)).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // What goes wrong with one connection is its peer's matter.
        _ = connection.as_mut() => return,
        _ = shutdown.wait_for(|is_over| *is_over) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(CLOSED_WITHIN, connection).await;
}

async fn ask(
    host: &Host,
    router: Router,
    (request, door): (hyper::Request<Incoming>, Door),
) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = guard::check(door, &host.token, &parts) {
        return refusal.into();
    }
    let request = Request::from_parts(parts, Body::new(body));
    route(router, request).await
}

async fn route(router: Router, request: Request) -> Response {
    use hyper::service::Service as _;
    let service = hyper_util::service::TowerToHyperService::new(router);
    match service.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
