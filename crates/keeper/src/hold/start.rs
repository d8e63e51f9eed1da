//! From inherited descriptors to a running agent.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::keeper::socket_name;
use creel_sys::exit::become_subreaper;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::runtime_dir::{RuntimeDir, RuntimeDirError};
use creel_sys::session::SessionQuery;
use creel_sys::signal::PendingSignals;
use creel_sys::socket::{BindError, bind_listener};
use thiserror::Error;

use crate::control::{HOLDER_VERSION, State, Tree};
use crate::hold::agent::{self, Agent};
use crate::hold::attendant::{Attendant, Kept};
use crate::hold::programs::Programs;
use crate::hold::sweep::{KeeperPid, Sweeps};
use crate::hold::{Holder, diagnosis, group};
use crate::inherited;
use crate::order::Order;
use crate::progress::Progress;
use crate::say::say;

/// Why the agent was not started.
#[derive(Debug, Error)]
pub(super) enum StartError {
    /// The descriptors are not those of a launcher.
    #[error("can't read the order of the run")]
    Order(#[source] io::Error),
    /// The process can't be made fit to hold.
    #[error("can't prepare to hold the run")]
    Prepare(#[source] io::Error),
    /// No place for the socket.
    #[error("can't make a place for the run's socket")]
    RuntimeDir(#[source] RuntimeDirError),
    /// The socket can't be made.
    #[error("can't open the run's socket")]
    Bind(#[source] BindError),
    /// The agent can't be run; the text says what stands in the way.
    #[error("{0}")]
    Agent(String),
}

/// Starts the agent. Nothing runs and nothing is left behind when that fails.
pub(super) fn start() -> Result<Holder, StartError> {
    let order_fd = inherited::take(inherited::ORDER).map_err(StartError::Order)?;
    let lease = inherited::take(inherited::LEASE).map_err(StartError::Order)?;
    let order = Order::read(&order_fd).map_err(StartError::Order)?;

    // Blocked before any thread is started, so that none of them is ended by one.
    let signals = [Signal::CHILD, Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT];
    let signals = PendingSignals::block(&signals).map_err(StartError::Prepare)?;
    become_subreaper().map_err(StartError::Prepare)?;
    let holder = ProcessIdentity::current().map_err(StartError::Prepare)?;
    let mut query = SessionQuery::new(order.session_id()).map_err(StartError::Prepare)?;

    let progress = Progress::create().map_err(StartError::Prepare)?;
    let (socket, listener) = listen(order.run_id())?;
    let cgroup = group::make(order.run_id(), order.grouping);
    let started = match agent::start(&order.plan.command, order.plan.terminal.as_ref(), cgroup) {
        Ok(started) => started,
        Err(error) => {
            let reason = diagnosis::why(&order.plan.command, &error);
            remove_socket(&socket);
            return Err(StartError::Agent(reason));
        }
    };

    query.root = Some(holder.clone());
    query.leader = Some(started.child.identity.clone());
    query.cgroup.clone_from(&started.cgroup);
    let keeper_pid = KeeperPid::default();
    let kept = Kept {
        order: order_fd,
        lease,
        listener: listener.into(),
        output: started.output,
        progress,
    };
    Ok(Holder {
        signals,
        sweeps: Sweeps::new(query, keeper_pid.clone()),
        attendant: Attendant::new(Programs::new(order.installed), kept, keeper_pid),
        state: State {
            version: HOLDER_VERSION,
            agent: started.child.identity,
            holder,
            cgroup: started.cgroup.as_ref().map(|group| group.dir().display().to_string()),
            exit: None,
            tree: Tree::Alive,
            keeper_starts: 0,
            is_leaving: false,
        },
        agent: Agent { socket, cgroup: started.cgroup },
        grace: Duration::from_millis(order.plan.watch.end_grace_ms),
        is_over: false,
    })
}

fn listen(run_id: &str) -> Result<(PathBuf, UnixListener), StartError> {
    let path = RuntimeDir::open()
        .and_then(|dir| dir.socket_path(&socket_name(run_id)))
        .map_err(StartError::RuntimeDir)?;
    let listener = bind_listener(&path).map_err(StartError::Bind)?;
    Ok((path, listener))
}

fn remove_socket(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        say!("creel hold: can't remove {}: {error}", path.display());
    }
}
