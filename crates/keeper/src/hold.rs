//! The holder: the one process of a run that must not die, and so does little.
//!
//! It starts the agent, is the parent that orphans come to, keeps what must outlive a keeper (the
//! pipes, the listening socket, the lease, the exit status), ends the agent's processes when it is
//! asked to or when the agent ended, and proves them dead. It reads nothing that the agent wrote.

mod agent;
mod attendant;
mod diagnosis;
mod group;
mod place;
mod programs;
mod start;
mod sweep;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use creel_api::keeper::Survivor;
use creel_sys::exit::reap_all;
use creel_sys::poll::wait_readable;
use creel_sys::process::Signal;
use creel_sys::signal::PendingSignals;
use creel_sys::{Deadline, MAX_WAIT};

use crate::control::{Ask, State, Tree};
use crate::hold::agent::Agent;
use crate::hold::attendant::Attendant;
use crate::hold::place::Place;
use crate::hold::sweep::Sweeps;
use crate::inherited;
use crate::say::say;
use crate::word::{Word, chain};

/// Failed polls in a row before the holder gives up: each would be a fault of the kernel.
const MAX_FAILED_POLLS: u32 = 16;

/// Runs `creel hold`. Does nothing but complain unless a launcher started it.
pub fn hold() -> ExitCode {
    let Ok(word) = inherited::take(inherited::WORD) else {
        say!("creel hold is started by creel launch, request and resume only");
        return ExitCode::from(2);
    };
    let mut word = File::from(word);
    match start::start() {
        Ok(holder) => {
            let spawned = Word::Spawned {
                agent: holder.state.agent.clone(),
                holder: holder.state.holder.clone(),
            };
            // A launcher that died meanwhile changes nothing for the agent.
            if let Err(error) = spawned.write(&mut word) {
                say!("creel hold: the launcher is gone: {error}");
            }
            drop(word);
            holder.run()
        }
        Err(error) => {
            let reason = chain(&error);
            say!("creel hold: {reason}");
            if let Err(error) = (Word::Failed { reason }).write(&mut word) {
                say!("creel hold: the launcher is gone: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

/// A running holder.
struct Holder {
    signals: PendingSignals,
    agent: Agent,
    place: Place,
    attendant: Attendant,
    sweeps: Sweeps,
    state: State,
    /// How long the agent's processes have between being asked to end and being killed.
    grace: Duration,
    is_over: bool,
}

impl Holder {
    fn run(mut self) -> ExitCode {
        let mut failed_polls = 0;
        while !self.is_over && failed_polls < MAX_FAILED_POLLS {
            self.attendant.start_if_due(&mut self.state);
            self.sweeps.retry_if_due();
            match self.wait() {
                Ok(()) => failed_polls = 0,
                Err(error) => {
                    failed_polls += 1;
                    say!("creel hold: {error}");
                }
            }
            let before = self.state.clone();
            self.hear_attendant();
            self.take_signals();
            self.collect_sweeps();
            if let Some(listener) = self.place.look() {
                self.attendant.listen(listener, &self.state);
            }
            if self.state != before {
                self.attendant.tell(&self.state);
            }
        }
        self.place.leave();
        self.agent.clean_up();
        if self.is_over { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Waits for anything to happen.
    fn wait(&self) -> io::Result<()> {
        let mut fds = vec![self.signals.as_fd()];
        fds.extend(self.attendant.control());
        fds.extend(self.sweeps.done_fds());
        fds.extend(self.place.fd());
        let due = [self.attendant.due(), self.sweeps.due(), self.place.due()].into_iter().flatten();
        let within = due.map(Deadline::remaining).min().unwrap_or(MAX_WAIT);
        wait_readable(&fds, within).map(|_| ())
    }

    fn hear_attendant(&mut self) {
        for ask in self.attendant.hear() {
            self.obey(ask);
        }
    }

    fn obey(&mut self, ask: Ask) {
        match ask {
            Ask::Here => {}
            Ask::End { signal, grace_ms } => {
                self.end_tree(signal, Duration::from_millis(grace_ms));
            }
            // Invariant: the holder outlives the tree.
            Ask::Leave => self.is_over = self.state.tree == Tree::Dead,
        }
    }

    fn take_signals(&mut self) {
        let taken = self.signals.drain().unwrap_or_else(|error| {
            say!("creel hold: {error}");
            Vec::new()
        });
        // One signal wakes only, so that the socket's name is looked at.
        if taken.iter().any(|signal| !matches!(*signal, Signal::CHILD | Signal::USR1)) {
            self.state.is_leaving = true;
            self.end_tree(Signal::TERM, self.grace);
        }
        let reaped = reap_all().unwrap_or_else(|error| {
            say!("creel hold: {error}");
            Vec::new()
        });
        for child in reaped {
            if child.pid == self.state.agent.pid && self.state.exit.is_none() {
                self.state.exit = Some(child.exit);
                // What the agent left behind would hold its pipes open.
                if self.state.tree == Tree::Alive {
                    self.end_tree(Signal::TERM, self.grace);
                }
            } else {
                for ask in self.attendant.reaped(child.pid) {
                    self.obey(ask);
                }
            }
        }
    }

    fn end_tree(&mut self, signal: Signal, grace: Duration) {
        if self.state.tree == Tree::Dead {
            return;
        }
        if self.state.tree == Tree::Alive {
            self.state.tree = Tree::Ending { survivors: Vec::new() };
        }
        self.sweeps.start(signal, grace);
    }

    fn collect_sweeps(&mut self) {
        if let Some(survivors) = self.sweeps.collect() {
            self.state.tree =
                Tree::Ending { survivors: survivors.iter().map(to_survivor).collect() };
        }
        // A sweep takes a process that is not collected yet for dead; its status comes at once.
        if self.sweeps.is_proven_dead() && self.state.exit.is_some() {
            self.state.tree = Tree::Dead;
        }
    }
}

/// Names a suspect for the status.
pub(crate) fn to_survivor(suspect: &creel_sys::session::Suspect) -> Survivor {
    Survivor {
        pid: suspect.identity.pid,
        start_ticks: suspect.identity.start_ticks,
        comm: suspect.comm.clone(),
        proof: suspect.proof.to_string(),
    }
}
