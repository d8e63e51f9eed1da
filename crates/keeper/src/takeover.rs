//! Taking over a session whose run nobody keeps any more.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::keeper::socket_name;
use creel_record::command::end::{Exit, record_end};
use creel_record::event::fact::{ProcessFacts, RunEnded};
use creel_record::{EndReason, Refusal, Run, RunId, Session, SessionId, Source};
use creel_spool::{Change, Lease, LeaseError, Store, TransactError};
use creel_sys::boot::{boot_id, boot_time_ms, machine_id, wall_time_ms};
use creel_sys::cgroup::Cgroup;
use creel_sys::end_tree::{Pressure, end_tree};
use creel_sys::fs::FileId;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::runtime_dir::RuntimeDir;
use creel_sys::session::{SessionQuery, Suspect};
use creel_sys::tree::ExeIdentity;
use thiserror::Error;

use crate::mint::draft;

/// How long what is killed may take to go.
const KILL_WITHIN: Duration = Duration::from_secs(10);

/// How far the start of a run may be off when all that is known of it is a wall-clock time.
const CLOCK_SLACK_MS: u64 = 10_000;

/// Milliseconds of a clock tick as `/proc` counts them (`USER_HZ`, 100 on every Linux).
const TICK_MS: u64 = 10;

/// What happens to processes of the old run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldTree {
    /// They are asked to end, and killed after this time.
    End {
        /// The time.
        grace: Duration,
    },
    /// They are reported.
    List,
}

/// What happens to processes of which nothing is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// The takeover is refused.
    Refuse,
    /// An operator looked at them: they don't belong to the run.
    Accept,
}

/// How to take over.
#[derive(Clone, Debug)]
pub struct TakeoverOptions {
    /// What happens to processes of the old run.
    pub old_tree: OldTree,
    /// What happens to processes of which nothing is proven.
    pub unproven: Unproven,
    /// The program of holders, to tell nested ones.
    pub exe: PathBuf,
}

impl Default for TakeoverOptions {
    fn default() -> Self {
        Self {
            old_tree: OldTree::End { grace: Duration::from_secs(5) },
            unproven: Unproven::Refuse,
            exe: PathBuf::from("/proc/self/exe"),
        }
    }
}

/// A session that is nobody else's now.
#[derive(Debug)]
pub struct TakenOver {
    /// The right to start and end its runs.
    pub lease: Lease,
    /// The end of its run, when it was still marked live.
    pub recorded: Option<RunEnded>,
}

/// Why a session was not taken over. The record is as it was.
#[derive(Debug, Error)]
pub enum TakeoverError {
    /// Somebody keeps it.
    #[error("session {session_id} is being run ({})", note.as_deref().unwrap_or("by an unknown process"))]
    Live {
        /// The session.
        session_id: SessionId,
        /// What the holder of the lease wrote about itself.
        note: Option<String>,
    },
    /// Its run was started on another machine, which alone can tell whether it lives.
    #[error("run {run_number} of session {session_id} was started on machine {machine_id}")]
    OtherMachine {
        /// The session.
        session_id: SessionId,
        /// The run.
        run_number: u64,
        /// The machine.
        machine_id: String,
    },
    /// Processes of the old run live, or may.
    #[error("processes of session {session_id} may still run: {}", names(suspects))]
    Suspects {
        /// The session.
        session_id: SessionId,
        /// They.
        suspects: Vec<Suspect>,
    },
    /// The lease can't be asked for.
    #[error("can't ask for the lease of session {session_id}")]
    Lease {
        /// The session.
        session_id: SessionId,
        /// Why.
        source: LeaseError,
    },
    /// The processes can't be looked at.
    #[error("can't look for processes of session {session_id}")]
    Scan {
        /// The session.
        session_id: SessionId,
        /// Why.
        source: io::Error,
    },
    /// The record can't be read or written.
    #[error("can't record what became of the run of session {session_id}")]
    Record {
        /// The session.
        session_id: SessionId,
        /// Why.
        source: TransactError<Refusal>,
    },
}

fn names(suspects: &[Suspect]) -> String {
    let names: Vec<_> = suspects
        .iter()
        .map(|suspect| format!("{} ({}, {})", suspect.identity.pid, suspect.comm, suspect.proof))
        .collect();
    names.join(", ")
}

/// Wins the lease of a session, ends and proves dead what its last run left behind, and records
/// the run as lost when it is marked live.
///
/// # Errors
/// [`TakeoverError`]; the lease is free again then.
pub fn takeover(
    store: &Store,
    id: SessionId,
    options: &TakeoverOptions,
) -> Result<TakenOver, TakeoverError> {
    let lease = store
        .lease(id)
        .map_err(|source| TakeoverError::Lease { session_id: id, source })?
        .ok_or_else(|| TakeoverError::Live {
            session_id: id,
            note: store.read_lease_note(id).ok().flatten(),
        })?;
    let Some(run) = live_run(store, id)? else { return Ok(TakenOver { lease, recorded: None }) };
    let here = machine_id();
    if run.machine_id != here {
        return Err(TakeoverError::OtherMachine {
            session_id: id,
            run_number: run.number,
            machine_id: run.machine_id,
        });
    }
    let scan = |source| TakeoverError::Scan { session_id: id, source };
    let mut detail = "nobody kept it any more; its processes are proven dead";
    if run.boot_id == boot_id().map_err(scan)? {
        let suspects =
            prove_dead(&remains(id, &run, &options.exe).map_err(scan)?, options.old_tree)
                .map_err(scan)?;
        if !suspects.is_empty() {
            if !is_accepted(&suspects, options.unproven) {
                return Err(TakeoverError::Suspects { session_id: id, suspects });
            }
            detail = "nobody kept it any more; unproven processes were accepted";
        }
        clean_up(&run);
    } else {
        detail = "the machine was started anew since";
    }
    let recorded = record_lost(store, id, run.id, detail)?;
    Ok(TakenOver { lease, recorded })
}

fn is_accepted(suspects: &[Suspect], unproven: Unproven) -> bool {
    use creel_sys::session::Proof;
    unproven == Unproven::Accept && suspects.iter().all(|s| s.proof == Proof::Unreadable)
}

fn live_run(store: &Store, id: SessionId) -> Result<Option<Run>, TakeoverError> {
    let looked = store.transact(id, |session: &Session| {
        Ok::<_, Refusal>(Change::Nothing(session.live_run().cloned()))
    });
    looked
        .map(|committed| committed.value)
        .map_err(|source| TakeoverError::Record { session_id: id, source })
}

fn record_lost(
    store: &Store,
    id: SessionId,
    run_id: RunId,
    detail: &str,
) -> Result<Option<RunEnded>, TakeoverError> {
    let recorded = store.transact(id, |session| {
        let exit = Exit {
            observed: Some(EndReason::Lost),
            detail: Some(detail.to_owned()),
            ..Exit::default()
        };
        Ok::<_, Refusal>(match record_end(session, run_id, exit) {
            Some(ended) => Change::Append(draft(Source::Maintenance, ended.clone()), Some(ended)),
            None => Change::Nothing(None),
        })
    });
    recorded
        .map(|committed| committed.value)
        .map_err(|source| TakeoverError::Record { session_id: id, source })
}

/// Returns what to look for when a run has neither holder nor keeper.
fn remains(id: SessionId, run: &Run, exe: &Path) -> io::Result<SessionQuery> {
    let mut query = SessionQuery::new(id.to_string())?;
    query.holder_exe = exe_identity(exe)?;
    query.leader = run.agent.as_ref().map(identity);
    let group = run.cgroup.as_ref().map(|dir| Cgroup::at(PathBuf::from(dir)));
    query.cgroup = group.filter(|group| group.dir().exists());
    query.since_ticks = Some(match &run.holder {
        Some(holder) => holder.start_ticks,
        None => ticks_at(run),
    });
    Ok(query)
}

/// Works out when a run was started, in clock ticks since boot.
fn ticks_at(run: &Run) -> u64 {
    let started_ms = u64::try_from(run.started.as_millis()).unwrap_or(0);
    let age_ms = wall_time_ms().saturating_sub(started_ms).saturating_add(CLOCK_SLACK_MS);
    boot_time_ms().saturating_sub(age_ms) / TICK_MS
}

fn identity(facts: &ProcessFacts) -> ProcessIdentity {
    ProcessIdentity {
        pid: facts.pid,
        start_ticks: facts.start_ticks,
        boot_id: facts.boot_id.clone(),
    }
}

fn exe_identity(exe: &Path) -> io::Result<ExeIdentity> {
    use std::os::unix::fs::MetadataExt;
    let stat = std::fs::metadata(exe)?;
    let file_id = FileId { device: stat.dev(), inode: stat.ino() };
    Ok(ExeIdentity { file_id, path: std::fs::canonicalize(exe)? })
}

/// Ends what is found, or finds it only; returns who may live.
fn prove_dead(query: &SessionQuery, old_tree: OldTree) -> io::Result<Vec<Suspect>> {
    match old_tree {
        OldTree::List => query.find(),
        OldTree::End { grace } => {
            let limit = grace.saturating_add(KILL_WITHIN);
            let pressure = Pressure { first: Signal::TERM, grace, limit };
            Ok(end_tree(|| query.find(), pressure)?.survivors)
        }
    }
}

/// Removes what the holder would have removed. All of it is replaced when it is needed again.
fn clean_up(run: &Run) {
    let socket =
        RuntimeDir::open().and_then(|dir| dir.socket_path(&socket_name(&run.id.to_string())));
    if let Ok(socket) = socket {
        let _ = std::fs::remove_file(socket);
    }
    if let Some(group) = &run.cgroup {
        let _ = Cgroup::at(PathBuf::from(group)).remove();
    }
}

/// Ends what a holder that never said a word may have started; returns who may live.
pub(crate) fn end_unspawned(id: SessionId, exe: &Path) -> io::Result<Vec<Suspect>> {
    let mut query = SessionQuery::new(id.to_string())?;
    query.holder_exe = exe_identity(exe)?;
    // The caller may be the keeper of the run before, whose holder is of this session too.
    query.exempt.extend(rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get()));
    prove_dead(&query, OldTree::End { grace: Duration::ZERO })
}

/// Records as lost a run that an earlier keeper of `ended` began to launch and never started.
///
/// For the holder of the lease alone. Does nothing when the run has processes: then its own holder
/// has the lease as well.
pub(crate) fn settle_stranded(
    store: &Store,
    id: SessionId,
    ended: RunId,
    exempt: &[i32],
) -> Result<(), TakeoverError> {
    let Some(run) = live_run(store, id)?.filter(|run| run.id != ended) else { return Ok(()) };
    let scan = |source| TakeoverError::Scan { session_id: id, source };
    let mut query = SessionQuery::new(id.to_string()).map_err(scan)?;
    query.exempt.extend(exempt);
    if query.find().map_err(scan)?.is_empty() {
        record_lost(store, id, run.id, "its launcher died before it was started")?;
    }
    Ok(())
}
