//! Finding every process that may still belong to one session.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;

use crate::os::boot;
use crate::os::cgroup::Cgroup;
use crate::os::process::ProcessIdentity;
use crate::os::tree::{
    Environ, ExeIdentity, ProcessEntry, ProcessTable, cmdline, environ_value, exe,
};

/// The variable that marks the processes of a session, inherited by all they start.
pub const SESSION_VARIABLE: &str = "ORBH_SESSION_ID";

/// The first argument of a holder.
pub const HOLD_ARGUMENT: &str = "hold";

/// The first arguments of the host. It is of no session, so that its environment names none.
pub const HOST_ARGUMENTS: [&str; 2] = ["host", "run"];

/// How often a scan that found nothing is repeated because a process that is new to it ended, or
/// began another program, before it could be looked at. Few, since on a busy machine processes of
/// others do so all the time.
const MAX_REPEATS: u32 = 3;

/// Why a process is taken to belong to a session. The strongest reason is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// It descends from the session's root.
    Descendant,
    /// Its environment names the session.
    Environment,
    /// It is in the process session of the session's agent.
    Session,
    /// It is in the cgroup of the session's run.
    Cgroup,
    /// Nothing proves that it belongs, and nothing that it doesn't: it is the user's own, started
    /// since the run did, left behind by its parent, and hides its environment.
    Unreadable,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descendant => "descends from the session",
            Self::Environment => "names the session in its environment",
            Self::Session => "is in the agent's process session",
            Self::Cgroup => "is in the run's cgroup",
            Self::Unreadable => "hides its environment",
        })
    }
}

/// A living process that may belong to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Who it is.
    pub identity: ProcessIdentity,
    /// The name of its program.
    pub comm: String,
    /// Why it is suspected.
    pub proof: Proof,
}

/// What is known of a session's processes. The more is given, the more is found.
///
/// The calling process is never found. A nested holder (another session's, started from inside
/// this one) is released with its whole subtree: its executable is `holder_exe`, its first
/// argument is [`HOLD_ARGUMENT`], and its environment names another session. So is a host that was
/// started from inside: the same executable, [`HOST_ARGUMENTS`], and an environment without a
/// session. The holder that this session is itself nested in releases nothing of it.
#[derive(Clone, Debug)]
pub struct SessionQuery {
    /// The session whose processes are sought.
    pub session_id: String,
    /// Its root, usually the holder; itself not sought, and without effect once it is dead.
    pub root: Option<ProcessIdentity>,
    /// The leader of the agent's process session, dead or alive.
    pub leader: Option<ProcessIdentity>,
    /// The cgroup of the run. With one, unreadable processes outside of it are cleared.
    pub cgroup: Option<Cgroup>,
    /// Pids that are not sought; their subtrees are.
    pub exempt: BTreeSet<i32>,
    /// Start of the run in clock ticks since boot. Without it, unreadable processes are cleared.
    pub since_ticks: Option<u64>,
    /// The executable of holders.
    pub holder_exe: ExeIdentity,
}

impl SessionQuery {
    /// Makes a query that knows the session's id alone; holders run the caller's executable.
    pub fn new(session_id: impl Into<String>) -> io::Result<Self> {
        Ok(Self {
            session_id: session_id.into(),
            root: None,
            leader: None,
            cgroup: None,
            exempt: BTreeSet::new(),
            since_ticks: None,
            holder_exe: ExeIdentity::own()?,
        })
    }

    /// Scans `/proc` for living processes of the session, in the order of their pids.
    pub fn find(&self) -> io::Result<Vec<Suspect>> {
        let mut known = BTreeSet::new();
        for _ in 0..MAX_REPEATS {
            let scan = self.scan()?;
            if !scan.suspects.is_empty() || scan.unread.is_subset(&known) {
                return Ok(scan.suspects);
            }
            known = scan.seen;
        }
        Ok(Vec::new())
    }

    fn scan(&self) -> io::Result<Scan> {
        let boot_id = boot::boot_id()?;
        let mut environs = BTreeMap::new();
        let table = ProcessTable::read_each(|entry| {
            let environ = if entry.is_kernel_thread {
                Environ::Absent
            } else if entry.is_dead() {
                Environ::Gone
            } else {
                environ_value(entry.pid, SESSION_VARIABLE)
            };
            environs.insert(entry.pid, environ);
        })?;
        let members = match &self.cgroup {
            Some(cgroup) => cgroup.pids()?.into_iter().collect(),
            None => BTreeSet::new(),
        };
        let marks = Marks { query: self, boot_id: &boot_id, table: &table, environs, members };
        let descendants = marks.descendants();
        let released = marks.released(&descendants);
        let own_pid = rustix::process::getpid().as_raw_nonzero().get();
        let sought = table.entries().filter(|entry| {
            let pid = entry.pid;
            !entry.is_dead()
                && pid != own_pid
                && !released.contains(&pid)
                && !self.exempt.contains(&pid)
                && self.root.as_ref().is_none_or(|root| !is_entry(root, entry))
        });
        let suspect = |entry: &ProcessEntry| {
            let proof = if descendants.contains(&entry.pid) {
                Proof::Descendant
            } else {
                marks.proof(entry)?
            };
            Some(Suspect {
                identity: ProcessIdentity {
                    pid: entry.pid,
                    start_ticks: entry.start_ticks,
                    boot_id: boot_id.clone(),
                },
                comm: entry.comm.clone(),
                proof,
            })
        };
        let suspects = sought.filter_map(suspect).collect();
        let unread = marks.unread();
        Ok(Scan { suspects, unread, seen: table.entries().map(|entry| entry.pid).collect() })
    }
}

struct Scan {
    suspects: Vec<Suspect>,
    /// Who was there and ended, or ran another program, before it could be looked at.
    unread: BTreeSet<i32>,
    /// Who was there for longer than a moment.
    seen: BTreeSet<i32>,
}

struct Marks<'a> {
    query: &'a SessionQuery,
    boot_id: &'a str,
    table: &'a ProcessTable,
    environs: BTreeMap<i32, Environ>,
    members: BTreeSet<i32>,
}

impl Marks<'_> {
    fn live_root(&self) -> Option<&ProcessIdentity> {
        self.query.root.as_ref().filter(|root| {
            root.boot_id == self.boot_id
                && self.table.entry(root.pid).is_some_and(|entry| is_entry(root, entry))
        })
    }

    fn descendants(&self) -> BTreeSet<i32> {
        self.live_root().map(|root| self.table.descendants_of(root.pid)).unwrap_or_default()
    }

    /// Nested holders and all below them. A holder above the root is the one that this session is
    /// nested in. Once the root is dead, such a holder may have adopted what the root left: then
    /// what bears the session's own mark is not released.
    fn released(&self, descendants: &BTreeSet<i32>) -> BTreeSet<i32> {
        let root = self.live_root().map(|root| root.pid);
        let mut released = BTreeSet::new();
        for entry in self.table.entries().filter(|entry| self.is_released(entry, descendants)) {
            let below = self.table.descendants_of(entry.pid);
            match root {
                Some(root) if below.contains(&root) => {
                    // Its other sessions are their own matter, and marked as such.
                    released.insert(entry.pid);
                    released.extend(below.difference(descendants).filter(|pid| **pid != root));
                }
                Some(_) => {
                    released.insert(entry.pid);
                    released.extend(below);
                }
                None => {
                    released.insert(entry.pid);
                    released.extend(below.into_iter().filter(|pid| !self.is_marked(*pid)));
                }
            }
        }
        released
    }

    /// Tells whether a process bears the session's id, or sits in its agent's process session.
    fn is_marked(&self, pid: i32) -> bool {
        let has_id = matches!(
            self.environs.get(&pid),
            Some(Environ::Value(id)) if *id == self.query.session_id
        );
        has_id || self.table.entry(pid).is_some_and(|entry| self.is_in_process_session(entry))
    }

    fn is_released(&self, entry: &ProcessEntry, descendants: &BTreeSet<i32>) -> bool {
        let is_suspect = || descendants.contains(&entry.pid) || self.members.contains(&entry.pid);
        let is_called_so = match self.environs.get(&entry.pid) {
            Some(Environ::Value(id)) if *id != self.query.session_id => {
                cmdline(entry.pid).get(1).is_some_and(|arg| arg == HOLD_ARGUMENT)
            }
            // Not in the agent's process session: a host makes its own before anything else.
            Some(Environ::Absent) if is_suspect() && !self.is_in_process_session(entry) => {
                cmdline(entry.pid).get(1..3).is_some_and(|args| args == HOST_ARGUMENTS)
            }
            _ => false,
        };
        is_called_so
            && matches!(
                exe(entry.pid),
                Ok(Some(exe)) if exe.is_same_program(&self.query.holder_exe)
            )
    }

    fn proof(&self, entry: &ProcessEntry) -> Option<Proof> {
        match self.environs.get(&entry.pid)? {
            Environ::Value(id) if *id == self.query.session_id => Some(Proof::Environment),
            _ if self.is_in_process_session(entry) => Some(Proof::Session),
            _ if self.members.contains(&entry.pid) => Some(Proof::Cgroup),
            Environ::Unreadable if self.may_have_escaped(entry) => Some(Proof::Unreadable),
            _ => None,
        }
    }

    /// A session's number stays taken while it has a member; once it has none, another process
    /// can get it as its pid, and is then told apart by its start time.
    fn is_in_process_session(&self, entry: &ProcessEntry) -> bool {
        self.query.leader.as_ref().is_some_and(|leader| {
            leader.boot_id == self.boot_id
                && leader.pid == entry.sid
                && entry.start_ticks >= leader.start_ticks
                && self.table.entry(leader.pid).is_none_or(|entry| is_entry(leader, entry))
        })
    }

    /// Zombies included: what ended just now may have left a child that is younger than the list.
    fn unread(&self) -> BTreeSet<i32> {
        let is_unread =
            |entry: &&ProcessEntry| matches!(self.environs.get(&entry.pid), Some(Environ::Gone));
        let mut unread: BTreeSet<i32> =
            self.table.entries().filter(is_unread).map(|entry| entry.pid).collect();
        unread.extend(self.table.vanished());
        unread
    }

    fn may_have_escaped(&self, entry: &ProcessEntry) -> bool {
        self.query.cgroup.is_none()
            && self.query.since_ticks.is_some_and(|since| entry.start_ticks >= since)
            && is_left_behind(self.table, entry)
            && has_our_user(entry.pid)
    }
}

fn is_entry(identity: &ProcessIdentity, entry: &ProcessEntry) -> bool {
    identity.pid == entry.pid && identity.start_ticks == entry.start_ticks
}

/// Tells whether a process was adopted by the machine's or the user's service manager. Any other
/// parent is itself looked at, and vouches for its children.
fn is_left_behind(table: &ProcessTable, entry: &ProcessEntry) -> bool {
    entry.ppid == 1 || table.entry(entry.ppid).is_some_and(|parent| parent.comm == "systemd")
}

fn has_our_user(pid: i32) -> bool {
    let own = rustix::process::getuid().as_raw().to_string();
    // The directory's owner would be root here, since the process hides from us.
    fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("Uid:"))
            .is_some_and(|uids| uids.split_ascii_whitespace().any(|uid| uid == own))
    })
}

#[cfg(test)]
mod tests;
