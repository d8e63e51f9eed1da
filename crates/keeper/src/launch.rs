//! Starting a run: the record first, then the holder.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::plan::{Plan, PlanFile};
use creel_record::command::end::{Exit, record_end};
use creel_record::command::start::{Start, start};
use creel_record::{
    Cause, EndReason, Owed, Refusal, RunId, SessionId, Source, ThreadId, TurnId, WorkState, decide,
};
use creel_spool::{Change, Lease, Store, TransactError};
use creel_sys::Deadline;
use creel_sys::boot::{boot_id, machine_id};
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::session::SESSION_VARIABLE;
use creel_sys::spawn::{InheritedFd, SessionChild, SessionCommand, spawn_session};
use creel_sys::tree::ExeIdentity;
use thiserror::Error;

use crate::inherited::{self, duplicate};
use crate::mint::{draft, now};
use crate::order::{Grouping, Order, log_path};
use crate::say::say;
use crate::takeover::end_unspawned;
use crate::word::{Word, chain};

/// How long a holder may take to start the agent: a fork, an exec and a few files.
const WORD_WITHIN: Duration = Duration::from_secs(30);

/// Long enough to free a disk or to mend a file.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The prompt of a run that was never planned.
const UNPLANNED: &str = "(no prompt was made: the run could not be planned)";

/// What a holder, its keepers and the planner see of the launcher's environment, beside every
/// variable that begins with `XDG_`.
const HOLDER_VARIABLES: [&str; 3] = ["PATH", "HOME", "CREEL_RUNTIME_DIR"];

/// The running program, by the kernel's own link to it.
pub(crate) const OWN_EXE: &str = "/proc/self/exe";

/// How to launch.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The program that answers to `hold`, `keep` and `plan`.
    pub exe: PathBuf,
    /// Where the agent's processes are grouped.
    pub grouping: Grouping,
    /// How long a keeper asks again for a run that is owed and can't be planned. After that it is
    /// recorded as one that could not start, for a person to decide.
    pub patience: Duration,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        // The running program itself, also when it was replaced on disk since.
        let exe = PathBuf::from(OWN_EXE);
        Self { exe, grouping: Grouping::default(), patience: PATIENCE }
    }
}

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Its number.
    pub run_number: u64,
    /// The agent.
    pub agent: ProcessIdentity,
    /// Its holder.
    pub holder: ProcessIdentity,
}

/// Why a run was not started.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The plan's text is none; nothing was changed.
    #[error("the plan's {what} is not one: '{text}'")]
    Plan {
        /// Which member.
        what: &'static str,
        /// What stands there.
        text: String,
    },
    /// The record refuses the run, or can't be written; nothing was changed but as the source says.
    #[error("the start of the run was not recorded")]
    Start(#[source] TransactError<Refusal>),
    /// The agent was not started, and the record says so.
    #[error("run {run_number} did not start: {reason}")]
    SpawnFailed {
        /// The run, ended as `spawn-failed`.
        run_number: u64,
        /// What failed, with program or path.
        reason: String,
    },
    /// The agent was not started, and the record could not be told: it shows a live run until
    /// somebody takes the session over.
    #[error("run {run_number} did not start ({reason}), and its end was not recorded")]
    EndNotRecorded {
        /// The run.
        run_number: u64,
        /// What failed.
        reason: String,
        /// Why the record could not be told.
        source: TransactError<Refusal>,
    },
    /// It is not known whether the agent runs.
    #[error("run {run_number} may or may not run: {reason}; processes left: {suspects}")]
    Unclear {
        /// The run, still marked live.
        run_number: u64,
        /// What failed.
        reason: String,
        /// Those that may belong to it.
        suspects: String,
    },
}

/// Records the start of a run and starts it; the lease moves into the run.
///
/// When this returns, the agent runs or its end is recorded. `run.spawned` follows shortly.
///
/// # Errors
/// [`LaunchError`] says in each case what is recorded.
pub fn launch(store: &Store, plan: Plan, lease: Lease) -> Result<Launched, LaunchError> {
    launch_with(store, plan, lease, &LaunchOptions::default())
}

/// Launches as [`launch`] does, with another program or grouping.
///
/// # Errors
/// As [`launch`].
pub fn launch_with(
    store: &Store,
    plan: Plan,
    lease: Lease,
    options: &LaunchOptions,
) -> Result<Launched, LaunchError> {
    let ids = Ids::parse(&plan)?;
    let run_number = record_start(store, &plan, &ids)?;
    let order = Order {
        run_number,
        exe: options.exe.clone(),
        installed: installed(&options.exe),
        grouping: options.grouping,
        patience_ms: u64::try_from(options.patience.as_millis()).unwrap_or(u64::MAX),
        run_dir: store.run_dir(ids.session, run_number),
        thread_path: store.thread_path(ids.session, ids.thread),
        plan,
    };
    let holding = match start_holder(&order, &lease) {
        Ok(holding) => holding,
        Err(error) => return Err(failed(store, &ids, run_number, chain(&error))),
    };
    let reason = match holding.wait() {
        Ok(Some(Word::Spawned { agent, holder })) => {
            let note = format!("run {run_number}, holder {}", holder.pid);
            if let Err(error) = lease.note(&note) {
                say!("can't note who holds the lease: {error}");
            }
            // The holder has its own descriptor of the same lock.
            drop(lease);
            return Ok(Launched { run_number, agent, holder });
        }
        Ok(Some(Word::Failed { reason })) => {
            // It has the lease as long as it lives.
            holding.see_out();
            return Err(failed(store, &ids, run_number, reason));
        }
        Ok(None) => "its holder ended or hung before it said how the start went".to_owned(),
        Err(error) => format!("its holder can't be heard: {error}"),
    };
    holding.end();
    match end_unspawned(ids.session, &options.exe) {
        Ok(suspects) if suspects.is_empty() => Err(failed(store, &ids, run_number, reason)),
        Ok(suspects) => {
            let suspects: Vec<_> =
                suspects.iter().map(|s| format!("{} ({})", s.identity.pid, s.comm)).collect();
            let suspects = suspects.join(", ");
            Err(LaunchError::Unclear { run_number, reason, suspects })
        }
        Err(error) => Err(LaunchError::Unclear { run_number, reason, suspects: error.to_string() }),
    }
}

/// Returns the path of a program; the running one may have been replaced there since.
fn installed(exe: &Path) -> Option<PathBuf> {
    if exe == Path::new(OWN_EXE) {
        return ExeIdentity::own().ok().map(|own| own.path);
    }
    exe.is_absolute().then(|| exe.to_owned())
}

/// The plan's ids, read.
struct Ids {
    session: SessionId,
    thread: ThreadId,
    run: RunId,
    turn: TurnId,
    cause: Cause,
}

impl Ids {
    fn parse(plan: &Plan) -> Result<Self, LaunchError> {
        fn one<T: std::str::FromStr>(what: &'static str, text: &str) -> Result<T, LaunchError> {
            text.parse().map_err(|_| LaunchError::Plan { what, text: text.to_owned() })
        }
        Ok(Self {
            session: one("session id", &plan.record.session_id)?,
            thread: one("thread id", &plan.record.thread_id)?,
            run: one("run id", &plan.run.run_id)?,
            turn: one("turn id", &plan.run.turn_id)?,
            cause: one("cause", &plan.run.cause)?,
        })
    }
}

fn record_start(store: &Store, plan: &Plan, ids: &Ids) -> Result<u64, LaunchError> {
    let boot_id = boot_id().unwrap_or_default();
    let committed = store.transact(ids.session, |session| {
        let is_intended = session.intent.as_ref().is_some_and(|intent| intent.run_id == ids.run);
        let wanted = Start {
            run_id: ids.run,
            turn_id: ids.turn,
            cause: ids.cause,
            prompt: (!is_intended).then(|| plan.run.prompt.clone()),
            machine_id: machine_id(),
            boot_id,
        };
        let started = start(session, wanted)?;
        let number = started.number;
        let source = Source::from(plan.run.source.as_str());
        Ok(Change::Append(draft(source, started), number))
    });
    committed.map(|committed| committed.value).map_err(LaunchError::Start)
}

/// Records that the agent was not started.
fn failed(store: &Store, ids: &Ids, run_number: u64, reason: String) -> LaunchError {
    let recorded = store.transact(ids.session, |session| {
        let exit = Exit {
            observed: Some(EndReason::SpawnFailed),
            detail: Some(reason.clone()),
            ..Exit::default()
        };
        Ok::<_, Refusal>(match record_end(session, ids.run, exit) {
            Some(ended) => Change::Append(draft(Source::Keeper, ended), ()),
            None => Change::Nothing(()),
        })
    });
    match recorded {
        Ok(_) => LaunchError::SpawnFailed { run_number, reason },
        Err(source) => LaunchError::EndNotRecorded { run_number, reason, source },
    }
}

/// Records the run that a session is owed, under `ids` where it has none yet, as one that could not
/// start. False when no run is owed.
///
/// # Errors
/// When the record can't be written.
pub(crate) fn refuse_owed(
    store: &Store,
    session: SessionId,
    ids: (RunId, TurnId),
    why: &str,
) -> Result<bool, TransactError<Refusal>> {
    let boot_id = boot_id().unwrap_or_default();
    let started = store.transact(session, |session| {
        let works = session.work_state() == WorkState::Working;
        let unplanned = || Some(UNPLANNED.to_owned());
        let (cause, (run_id, turn_id), prompt) = match (&session.intent, decide(session, now())) {
            // What a wake carries stays owed to a session at rest.
            (Some(intent), Owed::StartIntended) if works || intent.cause != Cause::Wake => {
                (intent.cause, (intent.run_id, intent.turn_id), None)
            }
            (_, Owed::Reprompt { .. }) => (Cause::Reprompt, ids, unplanned()),
            (_, Owed::Wake { .. }) if works => (Cause::Wake, ids, unplanned()),
            _ => return Ok(Change::Nothing(None)),
        };
        let machine_id = machine_id();
        let wanted = Start { run_id, turn_id, cause, prompt, machine_id, boot_id };
        Ok(Change::Append(draft(Source::Keeper, start(session, wanted)?), Some(run_id)))
    })?;
    let Some(run_id) = started.value else { return Ok(false) };
    store.transact(session, |session| {
        let detail = Some(why.to_owned());
        let exit = Exit { observed: Some(EndReason::SpawnFailed), detail, ..Exit::default() };
        Ok(match record_end(session, run_id, exit) {
            Some(ended) => Change::Append(draft(Source::Keeper, ended), ()),
            None => Change::Nothing(()),
        })
    })?;
    Ok(true)
}

/// Why the holder was not started.
#[derive(Debug, Error)]
enum PrepareError {
    #[error("can't make the directory {}", path.display())]
    Dir { path: PathBuf, source: io::Error },
    #[error("can't write {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("can't prepare the run's descriptors")]
    Descriptors(#[source] io::Error),
    #[error("can't start the holder {}", exe.display())]
    Holder { exe: PathBuf, source: io::Error },
}

/// A holder whose word is awaited.
struct Holding {
    child: SessionChild,
    word: File,
}

impl Holding {
    fn wait(&self) -> io::Result<Option<Word>> {
        Word::read(&self.word, Deadline::after(WORD_WITHIN))
    }

    /// Waits for a holder that said its last word.
    fn see_out(&self) {
        if !matches!(self.child.wait(Duration::from_secs(5)), Ok(Some(_))) {
            self.end();
        }
    }

    /// Ends a holder that said nothing in time.
    fn end(&self) {
        let ended = self.child.signal(Signal::KILL);
        if let Err(error) = ended.and_then(|_| self.child.wait(Duration::from_secs(5))) {
            say!("can't end the holder: {error}");
        }
    }
}

fn start_holder(order: &Order, lease: &Lease) -> Result<Holding, PrepareError> {
    make_dir(&order.run_dir)?;
    if let Some(dir) = &order.plan.watch.return_dir {
        make_dir(dir)?;
    }
    for file in &order.plan.command.files {
        write_file(file)?;
    }
    let (word, command) = holder_command(order, lease).map_err(PrepareError::Descriptors)?;
    let exe = &order.exe;
    let child = spawn_session(command)
        .map_err(|source| PrepareError::Holder { exe: exe.clone(), source })?;
    Ok(Holding { child, word })
}

fn holder_command(order: &Order, lease: &Lease) -> io::Result<(File, SessionCommand)> {
    let log = log_of(&order.run_dir)?;
    let (word, word_end) = io::pipe()?;
    let command = SessionCommand {
        program: order.exe.clone(),
        args: vec![OsString::from("hold")],
        env: holder_env(order.session_id()),
        cwd: PathBuf::from("/"),
        stdin: File::open("/dev/null")?.into(),
        stdout: duplicate(&log)?,
        stderr: log,
        inherited: vec![
            InheritedFd { fd: order.seal()?, number: inherited::ORDER },
            InheritedFd { fd: duplicate(lease)?, number: inherited::LEASE },
            InheritedFd { fd: word_end.into(), number: inherited::WORD },
        ],
        cgroup: None,
    };
    Ok((File::from(OwnedFd::from(word)), command))
}

fn holder_env(session_id: &str) -> Vec<(OsString, OsString)> {
    let is_wanted = |name: &OsString| {
        name.to_str()
            .is_some_and(|name| HOLDER_VARIABLES.contains(&name) || name.starts_with("XDG_"))
    };
    let mut env: Vec<_> = std::env::vars_os().filter(|(name, _)| is_wanted(name)).collect();
    env.push((SESSION_VARIABLE.into(), session_id.into()));
    env
}

fn make_dir(path: &Path) -> Result<(), PrepareError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| PrepareError::Dir { path: path.to_owned(), source })
}

/// Writes a file of the recipe. One that is there is replaced, never written through: it may be a
/// link by now.
fn write_file(file: &PlanFile) -> Result<(), PrepareError> {
    let failed = |source| PrepareError::File { path: file.path.clone(), source };
    if let Some(dir) = file.path.parent() {
        make_dir(dir)?;
    }
    match fs::remove_file(&file.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut open = options.open(&file.path).map_err(failed)?;
    open.write_all(file.text.as_bytes()).map_err(failed)
}

/// Opens the run's log of messages.
fn log_of(run_dir: &Path) -> io::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    Ok(options.open(log_path(run_dir))?.into())
}
