//! The way from a dead tree to a recorded end, step by step.
//!
//! Agent collected, tree dead, pipes at their end, verdict returned, transcript synced, end
//! recorded, next run started. A keeper that dies in between is followed by one that takes the same
//! way: each step finds out whether it was taken.

use std::process::ExitCode;
use std::time::Duration;

use creel_api::keeper::Phase;
use creel_api::transcript::Content;
use creel_record::EndReason;
use creel_record::command::end;
use creel_record::event::fact::{ProcessFacts, RunSpawned};
use creel_sys::Deadline;
use creel_sys::exit::Exit;
use creel_sys::process::ProcessIdentity;
use creel_sys::session::{Proof, Suspect};

use super::Keeper;
use super::recorder::{Job, Verdict};
use super::terminal::TerminalAsk;
use crate::control::{Ask, Tree};
use crate::hold::to_survivor;
use crate::say::say;

/// How long pipes of a dead tree may stay open: whoever still holds one is not of the run.
const PIPES_WITHIN: Duration = Duration::from_secs(2);

/// How long the last writes to output and transcript may take; the record goes on without them.
const DISK_WITHIN: Duration = Duration::from_secs(10);

/// How long processes of which nothing is proven may keep a run of a dead holder open. After that
/// the next one who takes the session over is told of them.
const UNPROVEN_WITHIN: Duration = Duration::from_secs(60);

impl Keeper {
    /// Takes the steps that are due.
    pub(super) fn advance(&mut self) {
        if self.phase == Phase::Running && self.state.tree != Tree::Alive {
            self.phase = Phase::Ending;
            self.return_due = None;
        }
        if self.phase == Phase::Ending && self.state.tree == Tree::Dead {
            self.phase = Phase::Draining;
            self.phase_due = Some(Deadline::after(PIPES_WITHIN));
            if let Some(terminal) = &self.terminal {
                terminal.ask(TerminalAsk::Finish { exit: self.state.exit });
            }
        }
        let is_late = self.phase_due.is_some_and(Deadline::is_past);
        match self.phase {
            Phase::Draining if self.tail.is_some() => self.judge(),
            Phase::Draining if is_late => {
                self.phase_due = None;
                self.pump = None;
            }
            Phase::Recording if is_late => {
                say!("creel keep: output and transcript are not synced in time");
                self.disk_done();
            }
            _ => {}
        }
    }

    fn judge(&mut self) {
        self.phase = Phase::Recording;
        self.phase_due = None;
        self.collect_return();
        let tail = self.tail.take().unwrap_or_default();
        self.record(Job::Judge { exit: self.state.exit, tail });
    }

    pub(super) fn judged(&mut self, verdict: Verdict) {
        if verdict.is_ended {
            self.follow();
            return;
        }
        let (exit_code, signal) = code_and_signal(self.state.exit);
        let run_id = self.order.run_id().to_owned();
        let mut entries: Vec<_> = verdict.result.into_iter().collect();
        entries.push(Content::RunEnded { run_id, exit_code, signal });
        self.queue.finish(entries);
        self.phase_due = Some(Deadline::after(DISK_WITHIN));
    }

    pub(super) fn disk_done(&mut self) {
        if self.phase != Phase::Recording || self.phase_due.take().is_none() {
            return;
        }
        let (code, signal) = code_and_signal(self.state.exit);
        let (observed, detail) = match (&self.provider_error, self.state.exit) {
            (Some(line), _) => (Some(EndReason::ProviderError), Some(line.clone())),
            // The exit status died with the holder.
            (None, None) => (Some(EndReason::Lost), Some("its holder died".to_owned())),
            (None, Some(_)) => (None, None),
        };
        self.record(Job::End(end::Exit { code, signal, observed, detail }));
    }

    pub(super) fn ended(&mut self, reason: Option<EndReason>) {
        say!(
            "creel keep: run {} ended: {}",
            self.order.run_number,
            reason.map_or("not recorded", EndReason::as_str)
        );
        self.follow();
    }

    fn follow(&mut self) {
        self.phase = Phase::Deciding;
        // A holder that was told to leave goes with its boot, or its user: nothing is started now.
        if self.state.is_leaving {
            self.followed();
            return;
        }
        let holder_pid = self.control.as_ref().map(|_| self.state.holder.pid);
        self.record(Job::Follow { holder_pid });
    }

    pub(super) fn followed(&mut self) {
        self.is_followed = true;
        self.leave_if_done();
    }

    pub(super) fn terminal_done(&mut self) {
        self.is_terminal_done = true;
        self.leave_if_done();
    }

    /// Leaves once the record is written and every viewer was told of the end.
    fn leave_if_done(&mut self) {
        if self.is_followed && (self.terminal.is_none() || self.is_terminal_done) {
            self.ask_holder(Ask::Leave);
            if self.control.is_none() {
                self.clean_up();
            }
            self.leave = Some(ExitCode::SUCCESS);
        }
    }

    pub(super) fn take_orphans(&mut self, survivors: &[Suspect]) {
        self.survivors = survivors.iter().map(to_survivor).collect();
        if survivors.is_empty() {
            self.unproven_until = None;
            self.state.tree = Tree::Dead;
        } else if survivors.iter().any(|suspect| suspect.proof != Proof::Unreadable) {
            self.unproven_until = None;
        } else if self.unproven_until.is_none() {
            self.unproven_until = Some(Deadline::after(UNPROVEN_WITHIN));
        }
    }

    /// Removes what the holder would have removed.
    fn clean_up(&self) {
        if let Err(error) = super::setup::remove_socket(self.order.run_id()) {
            say!("creel keep: can't remove the run's socket: {error}");
        }
        if let Some(dir) = &self.state.cgroup {
            let group = creel_sys::cgroup::Cgroup::at(dir.into());
            if let Err(error) = group.remove() {
                say!("creel keep: can't remove {dir}: {error}");
            }
        }
    }

    pub(super) fn spawned(&self) -> RunSpawned {
        RunSpawned {
            run_id: self.run_id,
            agent: facts(&self.state.agent),
            holder: facts(&self.state.holder),
            cgroup: self.state.cgroup.clone(),
        }
    }
}

fn facts(identity: &ProcessIdentity) -> ProcessFacts {
    ProcessFacts {
        pid: identity.pid,
        start_ticks: identity.start_ticks,
        boot_id: identity.boot_id.clone(),
    }
}

/// Splits an exit status.
pub(super) fn code_and_signal(exit: Option<Exit>) -> (Option<i32>, Option<i32>) {
    match exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    }
}
