//! From inherited descriptors to a running agent.

use std::io;
use std::time::Duration;

use creel_sys::exit::become_subreaper;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::session::SessionQuery;
use creel_sys::signal::PendingSignals;
use thiserror::Error;

use crate::control::{HOLDER_VERSION, State, Tree};
use crate::hold::agent::{self, Agent};
use crate::hold::attendant::{Attendant, Kept};
use crate::hold::place::{Place, PlaceError};
use crate::hold::programs::Programs;
use crate::hold::sweep::{KeeperPid, Sweeps};
use crate::hold::{Holder, diagnosis, group};
use crate::inherited;
use crate::order::Order;
use crate::progress::Progress;

/// Why the agent was not started.
#[derive(Debug, Error)]
pub(super) enum StartError {
    /// The descriptors are not those of a launcher.
    #[error("can't read the order of the run")]
    Order(#[source] io::Error),
    /// The process can't be made fit to hold.
    #[error("can't prepare to hold the run")]
    Prepare(#[source] io::Error),
    /// There is no socket.
    #[error(transparent)]
    Place(#[from] PlaceError),
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
    let signals =
        [Signal::CHILD, Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1];
    let signals = PendingSignals::block(&signals).map_err(StartError::Prepare)?;
    become_subreaper().map_err(StartError::Prepare)?;
    let holder = ProcessIdentity::current().map_err(StartError::Prepare)?;
    let mut query = SessionQuery::new(order.session_id()).map_err(StartError::Prepare)?;

    let progress = Progress::create().map_err(StartError::Prepare)?;
    let (place, listener) = Place::take(order.run_id())?;
    let cgroup = group::make(order.run_id(), order.grouping);
    let started = match agent::start(&order.plan.command, order.plan.terminal.as_ref(), cgroup) {
        Ok(started) => started,
        Err(error) => {
            let reason = diagnosis::why(&order.plan.command, &error);
            place.leave();
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
        place,
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
        agent: Agent { cgroup: started.cgroup },
        grace: Duration::from_millis(order.plan.watch.end_grace_ms),
        is_over: false,
    })
}
