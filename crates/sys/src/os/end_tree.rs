//! Ending a tree of processes and proving it dead.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::Signal;

use crate::Deadline;
use crate::os::poll::wait_readable;
use crate::os::process::{ProcessHandle, ProcessIdentity};
use crate::os::session::{Proof, Suspect};

/// How many scans in a row must find nothing. A scan reads the pids in order, so that a process
/// which forks and ends while it runs can be missed by one; its child is seen by the next.
const CLEAN_SCANS: u32 = 2;

/// How many processes are waited for together. Far below the usual limit of 1024 descriptors, of
/// which a fork bomb would otherwise take all; the rest is signalled too, and found by the next
/// scan should it still live.
const MAX_AWAITED: usize = 256;

/// How hard a tree is ended.
#[derive(Clone, Copy, Debug)]
pub struct Pressure {
    /// The signal that asks.
    pub first: Signal,
    /// How long those asked have before they are killed.
    pub grace: Duration,
    /// How long all of it may take; never less than one scan.
    pub limit: Duration,
}

/// What came of ending a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Who was signalled, each once.
    pub signalled: Vec<Suspect>,
    /// Who may still live: what outlived the limit, what isn't ours to signal, and processes of
    /// which nothing is proven ([`Proof::Unreadable`]), which are never signalled.
    pub survivors: Vec<Suspect>,
}

impl Ended {
    /// Tells whether the tree is proven dead.
    #[must_use]
    pub fn is_proven_dead(&self) -> bool {
        self.survivors.is_empty()
    }
}

/// Ends every process that `find` finds, until it finds none.
///
/// Those found first are asked with `pressure.first` and have `pressure.grace` to end. What a later
/// scan finds is stopped first, so that it can't fork any more, and killed when a scan finds
/// nothing that isn't stopped. Ends at `pressure.limit` at the latest, with the survivors; what
/// was found by then has been killed, and may only be slow to go.
///
/// A chain of processes each of which forks the next before a scan can see and stop it is not
/// ended, and may even look ended: only a cgroup could hold it, and none is relied on.
pub fn end_tree(
    mut find: impl FnMut() -> io::Result<Vec<Suspect>>,
    pressure: Pressure,
) -> io::Result<Ended> {
    let deadline = Deadline::after(pressure.limit);
    let mut sweep = Sweep::default();
    let scan = find()?;
    let asked = sweep.signal(&sweep.signallable(&scan), pressure.first)?;
    // A stopped process keeps a signal that asks until it is continued.
    for handle in &asked {
        handle.signal(Signal::CONT)?;
    }
    wait_all_gone(&asked, Deadline::after(pressure.grace).min(deadline))?;
    sweep.kill_rest(&mut find, deadline)?;
    Ok(sweep.ended)
}

#[derive(Default)]
struct Sweep {
    ended: Ended,
    signalled: BTreeSet<ProcessIdentity>,
    refused: BTreeSet<ProcessIdentity>,
}

impl Sweep {
    fn kill_rest(
        &mut self,
        find: &mut impl FnMut() -> io::Result<Vec<Suspect>>,
        deadline: Deadline,
    ) -> io::Result<()> {
        let mut clean_scans = 0;
        let mut stopped = BTreeSet::new();
        loop {
            let scan = find()?;
            let found = self.signallable(&scan);
            if found.is_empty() {
                clean_scans += 1;
                if clean_scans < CLEAN_SCANS {
                    continue;
                }
                self.ended.survivors = scan;
                return Ok(());
            }
            clean_scans = 0;
            if deadline.is_past() {
                self.signal(&found, Signal::KILL)?;
                self.ended.survivors = scan;
                return Ok(());
            }
            let running: Vec<&Suspect> = found
                .iter()
                .copied()
                .filter(|suspect| !stopped.contains(&suspect.identity))
                .collect();
            if running.is_empty() {
                let killed = self.signal(&found, Signal::KILL)?;
                wait_all_gone(&killed, deadline)?;
                stopped.clear();
            } else {
                self.signal(&running, Signal::STOP)?;
                stopped.extend(running.iter().map(|suspect| suspect.identity.clone()));
            }
        }
    }

    fn signallable<'a>(&self, scan: &'a [Suspect]) -> Vec<&'a Suspect> {
        scan.iter()
            .filter(|suspect| {
                suspect.proof != Proof::Unreadable && !self.refused.contains(&suspect.identity)
            })
            .collect()
    }

    /// Signals all that still live and returns the handles of those to be waited for.
    fn signal(&mut self, suspects: &[&Suspect], signal: Signal) -> io::Result<Vec<ProcessHandle>> {
        let mut handles = Vec::new();
        for suspect in suspects {
            let Some(handle) = suspect.identity.open()? else { continue };
            match handle.signal(signal) {
                Ok(false) => continue,
                Ok(true) => {}
                // Shows up as a survivor: an error would leave the others running.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.refused.insert(suspect.identity.clone());
                    continue;
                }
                Err(error) => return Err(error),
            }
            if self.signalled.insert(suspect.identity.clone()) {
                self.ended.signalled.push((*suspect).clone());
            }
            if handles.len() < MAX_AWAITED {
                handles.push(handle);
            }
        }
        Ok(handles)
    }
}

/// Waits for all of them together; comes back early when all are gone.
fn wait_all_gone(handles: &[ProcessHandle], deadline: Deadline) -> io::Result<()> {
    let mut living: Vec<&ProcessHandle> = handles.iter().collect();
    while !living.is_empty() {
        let fds: Vec<_> = living.iter().map(|handle| handle.as_fd()).collect();
        let gone = wait_readable(&fds, deadline.remaining())?;
        if gone.is_empty() {
            break;
        }
        let mut position = 0;
        living.retain(|_| {
            let is_gone = gone.binary_search(&position).is_ok();
            position += 1;
            !is_gone
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
