//! From a configuration to a running host, and to its end.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use creel_api::host::SOCKET_NAME;
use creel_sys::MAX_WAIT;
use creel_sys::cgroup::Cgroup;
use creel_sys::poll::wait_readable;
use creel_sys::process::Signal;
use creel_sys::runtime_dir::RuntimeDirError;
use creel_sys::signal::PendingSignals;
use creel_sys::socket::{BindError, bind_listener};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::board::Board;
use crate::config::Config;
use crate::host::{Host, Parts};
use crate::http::doors::Doors;
use crate::instance::{Identity, Instance, InstanceError};
use crate::layout::book::Book;
use crate::notice::{MAX_NOTICES, Notice};
use crate::say::say;
use crate::supervisor::{Ending, Supervisor};
use crate::token::Token;

/// Why there is no host of this process.
#[derive(Debug, Error)]
pub enum RunError {
    /// It may not be, or its lock can't be used.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// No place for its socket.
    #[error("can't make a place for the host's socket")]
    RuntimeDir(#[source] RuntimeDirError),
    /// Its socket can't be made, e.g. since a host of another state directory has it.
    #[error("can't open the host's socket")]
    Bind(#[source] BindError),
    /// The process can't be made fit to be a host.
    #[error("can't {what}")]
    Prepare {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Its doors can't be opened.
    #[error("can't serve: {why}")]
    Serve {
        /// Why.
        why: String,
    },
}

fn preparing(what: &'static str) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::Prepare { what, source }
}

/// Is the host until it is asked to end, has had nothing to do for long enough, or its directories
/// are gone. To be called by a process of one thread.
///
/// Whatever ends it, and however, ends no agent and loses nothing: what it knows is made anew from
/// stores and sockets, and what is its own is on disk before it is acknowledged.
///
/// # Errors
/// When it can't become the host.
pub fn run(config: Config) -> Result<Ending, RunError> {
    // Blocked before any thread is started, so that none of them is ended by one.
    let signals = [Signal::TERM, Signal::INT, Signal::HUP];
    let signals = PendingSignals::block(&signals).map_err(preparing("take in signals"))?;
    leave_runs();
    let identity = Identity::own(&config.version).map_err(preparing("tell who this is"))?;
    let instance = Instance::take(&config.state_dir, &identity)?;
    config.runtime.ensure().map_err(RunError::RuntimeDir)?;
    let socket = config.runtime.socket_path(SOCKET_NAME).map_err(RunError::RuntimeDir)?;
    // Invariant: nobody listens before the lock is held, and nobody with the lock finds a listener
    // that is alive.
    let listener = bind_listener(&socket).map_err(RunError::Bind)?;
    let token = Token::open(&config.state_dir).map_err(preparing("make the token"))?;
    let (book, problem) = Book::open(&config.state_dir);
    let board = Arc::new(Board::new(uuid::Uuid::new_v4().simple().to_string()));
    if let Some(problem) = problem {
        say!("{problem}");
        board.set_degraded("layout", Some(problem));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name("creel-host")
        .build()
        .map_err(preparing("start the runtime"))?;
    let (notices, taken) = mpsc::channel(MAX_NOTICES);
    let parts = Parts { config, identity, socket: socket.clone(), token, board, notices, book };
    let host = Host::new(parts);
    let asked = host.notices.clone();
    // It owns nothing but the signals, and ends with the process.
    std::thread::Builder::new()
        .name("creel-signals".to_owned())
        .spawn(move || ask_to_end(&signals, &asked))
        .map_err(preparing("take in signals"))?;
    let ended = runtime.block_on(async {
        let doors = Doors::open(&host, listener).await.map_err(|why| RunError::Serve { why })?;
        say!("pid {} listens on {}", host.identity.pid, host.socket.display());
        let mut supervisor = Supervisor::new(Arc::clone(&host), instance, (taken, doors));
        let ending = supervisor.run().await;
        say!("{}", farewell(&ending, host.board.holder_count()));
        if !matches!(ending, Ending::Displaced { .. }) {
            // While the lock is held, what is at the path is ours. A leftover is no hindrance.
            let _ = std::fs::remove_file(&socket);
        }
        supervisor.close().await;
        Ok(ending)
    });
    // What still runs beside it only reads, or waits; what was promised to a client is on disk.
    runtime.shutdown_background();
    ended
}

fn farewell(ending: &Ending, holder_count: u64) -> String {
    let why = match ending {
        Ending::Asked => "asked to end".to_owned(),
        Ending::Idle => "nothing to look after".to_owned(),
        Ending::Displaced { what } => format!("{what} is gone or another one"),
    };
    format!("ends: {why}; {holder_count} sessions stay alive")
}

/// Leaves the control group of the run that this was started from: it ends with that run's agent.
fn leave_runs() {
    let outside = Cgroup::own().ok().and_then(|own| own.outside_of_runs());
    if let Some(outside) = outside
        && let Err(error) = outside.join()
    {
        // Sweeps release a host by what it is, too.
        say!("stays in the control group of a run: {error}");
    }
}

fn ask_to_end(signals: &PendingSignals, notices: &mpsc::Sender<Notice>) {
    while wait_readable(&[signals.as_fd()], MAX_WAIT).is_ok() {
        let taken = signals.drain().unwrap_or_default();
        // A terminal that closes is no reason to end.
        if taken.iter().any(|signal| *signal != Signal::HUP)
            && notices.blocking_send(Notice::Stop).is_err()
        {
            return;
        }
    }
}
