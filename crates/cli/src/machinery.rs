//! The processes that keep a run, for when their socket doesn't answer: the holder, which treats
//! `SIGTERM` as a request to end the run, and its keepers.

use std::io;
use std::time::Duration;

use creel_record::{Run, SessionId};
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::session::{HOLD_ARGUMENT, SESSION_VARIABLE};
use creel_sys::tree::{Environ, ExeIdentity, ProcessTable, cmdline, environ_value, exe};

/// The argument of a keeper, behind the program's name.
const KEEP_ARGUMENT: &str = "keep";

/// The states of a process that was stopped, by a signal or by a tracer.
const STOPPED: [char; 2] = ['T', 't'];

/// A run's own processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machinery {
    /// Its holder.
    holder: ProcessIdentity,
    /// Its holder's keepers, at most one of which works.
    keepers: Vec<ProcessIdentity>,
}

impl Machinery {
    /// Finds the living holder of a run and its keepers; none when it has no holder any more.
    ///
    /// The record knows the holder; one that was not recorded yet is told by its program, its
    /// argument and the session in its environment, which were all set by us.
    ///
    /// # Errors
    /// When the process table can't be read.
    pub(crate) fn find(id: SessionId, run: &Run) -> io::Result<Option<Self>> {
        let table = ProcessTable::read()?;
        let holder = match &run.holder {
            Some(facts) => {
                let holder = ProcessIdentity {
                    pid: facts.pid,
                    start_ticks: facts.start_ticks,
                    boot_id: facts.boot_id.clone(),
                };
                holder.is_alive()?.then_some(holder)
            }
            None => unrecorded_holder(&table, id)?,
        };
        let Some(holder) = holder else { return Ok(None) };
        let mut keepers = Vec::new();
        for entry in table.entries().filter(|entry| entry.ppid == holder.pid) {
            if cmdline(entry.pid).get(1).is_some_and(|argument| argument == KEEP_ARGUMENT) {
                keepers.extend(ProcessIdentity::of(entry.pid)?);
            }
        }
        Ok(Some(Self { holder, keepers }))
    }

    /// Lets those go on that somebody stopped.
    ///
    /// # Errors
    /// When the process table can't be read, or one may not be signalled.
    pub(crate) fn go_on(&self) -> io::Result<()> {
        let table = ProcessTable::read()?;
        for process in self.keepers.iter().chain([&self.holder]) {
            let state = table.entry(process.pid).map(|entry| entry.state);
            if state.is_some_and(|state| STOPPED.contains(&state)) {
                process.signal(Signal::CONT)?;
            }
        }
        Ok(())
    }

    /// Asks the holder to end the run, and waits until it is gone; false when `within` passed
    /// first.
    ///
    /// # Errors
    /// When it may not be signalled.
    pub(crate) fn end(&self, within: Duration) -> io::Result<bool> {
        self.holder.signal(Signal::TERM)?;
        self.holder.wait_gone(within)
    }

    /// Kills holder and keepers, so that the lease comes free.
    ///
    /// # Errors
    /// When they may not be signalled.
    pub(crate) fn kill(&self, within: Duration) -> io::Result<bool> {
        let all = || self.keepers.iter().chain([&self.holder]);
        // Stopped first, so that no keeper sees its holder go and goes on without it.
        for signal in [Signal::STOP, Signal::KILL] {
            for process in all() {
                process.signal(signal)?;
            }
        }
        let mut are_gone = true;
        for process in all() {
            are_gone &= process.wait_gone(within)?;
        }
        Ok(are_gone)
    }

    /// Names the holder for a message.
    pub(crate) fn name(&self) -> String {
        format!("its holder {}", self.holder.pid)
    }
}

fn unrecorded_holder(table: &ProcessTable, id: SessionId) -> io::Result<Option<ProcessIdentity>> {
    let own = ExeIdentity::own()?;
    for entry in table.entries() {
        if is_ours(entry.pid, HOLD_ARGUMENT, &own)?
            && environ_value(entry.pid, SESSION_VARIABLE) == Environ::Value(id.to_string())
        {
            return ProcessIdentity::of(entry.pid);
        }
    }
    Ok(None)
}

/// Tells whether a process is this very program with `argument` behind its name.
///
/// # Errors
/// When its program can't be looked at.
pub(crate) fn is_ours(pid: i32, argument: &str, own: &ExeIdentity) -> io::Result<bool> {
    let has_argument = cmdline(pid).get(1).is_some_and(|found| found == argument);
    Ok(has_argument && exe(pid)?.is_some_and(|exe| exe.is_same_program(own)))
}
