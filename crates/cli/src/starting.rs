//! Starting runs: from what a verb was asked for, or what the record owes, to a process.
//!
//! A start is a saga of small steps, each of which can be the last one that happens: the session is
//! created with the ids of its first run in it, then the lease is won, then the run is recorded and
//! its process started under that lease. Whoever finds the saga cut off goes on with the same ids.

pub(crate) mod arguments;
pub(crate) mod birth;
pub(crate) mod catalog;
pub(crate) mod choice;
pub(crate) mod composition;
pub(crate) mod creation;
mod digest;
mod environment_file;
pub(crate) mod follow_up;
pub(crate) mod owed;
pub(crate) mod parent;
pub(crate) mod program;
pub(crate) mod right;
mod shims;
pub(crate) mod terms;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use creel_api::plan::TerminalSize;
use creel_harness::{Catalog, PlanError, Privilege};
use creel_keeper::LaunchError;
use creel_record::event::fact::NativeIdentified;
use creel_record::{Cause, Session};
use creel_spool::{Lease, Store, TransactError};
use creel_sys::boot;
use creel_sys::runtime_dir::RuntimeDir;
use creel_sys::tree::ExeIdentity;

use crate::codes::Code;
use crate::context::Context;
use crate::output::say;
use crate::report::{Report, chain};
use crate::settings::Settings;
use crate::starting::choice::Chosen;
use crate::starting::composition::{
    Composed, CompositionError, Machine, Role, Surroundings, Wanted, compose,
};
use crate::starting::terms::Terms;

/// What starts need beside the record, found once a call.
#[derive(Debug)]
pub(crate) struct Starter {
    /// The catalog as this user has it.
    pub(crate) catalog: Catalog,
    /// The PATH on which programs are looked up.
    pub(crate) path: OsString,
    /// Where a run's credentials are taken from; never recorded.
    pub(crate) variables: Vec<(String, String)>,
    /// What is done about credentials that are not there.
    pub(crate) credentials: Credentials,
    /// The size of an interactive run's terminal at first.
    pub(crate) terminal_size: TerminalSize,
    shim_dir: PathBuf,
    creel_exe: PathBuf,
}

/// What is done when a session's launch had credentials that a later start lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// The start is refused, and names them.
    Required,
    /// The run starts without them.
    Optional,
}

impl Starter {
    /// Reads the catalog and makes the links that agents call.
    ///
    /// # Errors
    /// When the catalog has a mistake, or the runtime directory can't be used.
    pub(crate) fn new(context: &Context) -> Result<Self, Report> {
        let catalog = catalog::load(&context.environment.config_dir()?)?;
        let runtime = RuntimeDir::open().map_err(|error| {
            Report::of(Code::RuntimeDirUnusable, &error)
                .next("CREEL_RUNTIME_DIR=/absolute/private/dir, then the same command")
        })?;
        let creel_exe = ExeIdentity::own()
            .map_err(|error| {
                let message = format!("can't tell where this program is: {}", chain(&error));
                Report::new(Code::Internal, message).next("ls -l /proc/self/exe")
            })?
            .path;
        let shim_dir = shims::ensure(&runtime, &creel_exe)?;
        Ok(Self {
            catalog,
            path: std::env::var_os("PATH").unwrap_or_default(),
            variables: variables(context)?,
            credentials: Credentials::Required,
            terminal_size: TerminalSize::DEFAULT,
            shim_dir,
            creel_exe,
        })
    }

    /// Finds the target of a session, on the PATH that its launch had, else on the caller's.
    ///
    /// # Errors
    /// When the catalog has it no more, its program is gone, or the creation can't be read.
    pub(crate) fn target_of(&self, store: &Store, session: &Session) -> Result<Chosen, Report> {
        self.target_in(session, &store.environment(session.id, session)?)
    }

    fn target_in(
        &self,
        session: &Session,
        environment: &BTreeMap<String, String>,
    ) -> Result<Chosen, Report> {
        let name = session.target();
        let launch_path = environment.get("PATH").map(OsString::from);
        let first = launch_path.as_ref().map(|path| choice::find(&self.catalog, &name, path));
        match first {
            Some(Ok(chosen)) => Ok(chosen),
            _ => choice::find(&self.catalog, &name, &self.path),
        }
    }

    /// Makes the plan of a run.
    ///
    /// # Errors
    /// When the target is gone, credentials are missing, or the record's rules refuse.
    pub(crate) fn compose(
        &self,
        store: &Store,
        session: &Session,
        wanted: &Wanted,
    ) -> Result<Composed, Report> {
        let environment = store.environment(session.id, session)?;
        let Chosen { target, program } = self.target_in(session, &environment)?;
        let (base, terms) = Terms::split(environment);
        let credentials = target.environment_from(self.variables.iter().cloned()).credentials;
        self.check_credentials(session, &terms.missing(&credentials))?;
        let surroundings = Surroundings {
            program,
            orb_root: store.root().to_owned(),
            run_dir: store.run_dir(session.id, session.run_count + 1),
            shim_dir: self.shim_dir.clone(),
            creel_exe: self.creel_exe.clone(),
            privilege: privilege(),
            base,
            credentials,
            terminal_size: self.terminal_size,
            keeps_output: terms.keeps_output,
            fresh_native_id: uuid::Uuid::new_v4().to_string(),
            machine: Machine {
                machine_id: boot::machine_id(),
                boot_id: boot::boot_id().unwrap_or_default(),
            },
        };
        compose(session, wanted, (&target, role_of(store, session)), &surroundings)
            .map_err(|error| refused(session, &error))
    }

    fn check_credentials(&self, session: &Session, missing: &[String]) -> Result<(), Report> {
        if missing.is_empty() || self.credentials == Credentials::Optional {
            return Ok(());
        }
        let message = format!(
            "session {} was launched with {}, which this environment lacks; nothing was started",
            session.id,
            missing.join(", ")
        );
        Err(Report::new(Code::CredentialsMissing, message).next(format!(
            "set it and run the same command again, or: creel resume {} --without-credentials …",
            session.id
        )))
    }
}

/// Records a planned run and starts its process under `lease`, which passes to the run's holder.
///
/// # Errors
/// When the record refuses it by now, or its process can't be started; its end is then recorded.
pub(crate) fn launch(
    (context, store): (&Context, &Store),
    session: &Session,
    composed: Composed,
    lease: Lease,
) -> Result<(), Report> {
    let Composed { plan, certain_native_id } = composed;
    let run_id = plan.run.run_id.clone();
    creel_keeper::launch(store, plan, lease).map_err(|error| not_started(session, error))?;
    if let (Some(native_session_id), Ok(run_id)) = (certain_native_id, run_id.parse()) {
        let fact = NativeIdentified { run_id, native_session_id };
        // Losing it costs the next run its memory of this one, so that it is told, not failed for.
        if let Err(report) = context.append(store, session.id, |_| Ok(fact.clone().into())) {
            say(&report.to_string());
        }
    }
    Ok(())
}

/// Returns the variables of this process, and those of the user's file that it lacks.
fn variables(context: &Context) -> Result<Vec<(String, String)>, Report> {
    let mut variables = creation::variables();
    let settings = Settings::load(&context.environment.config_dir()?)?;
    if let Some(path) = settings.credentials.environment_file {
        for (name, value) in environment_file::read(&path)? {
            if variables.iter().all(|(have, _)| *have != name) {
                variables.push((name, value));
            }
        }
    }
    Ok(variables)
}

/// Returns whose rights an agent of ours gets: it runs as the user of this process.
fn privilege() -> Privilege {
    use std::os::unix::fs::MetadataExt as _;
    match std::fs::metadata("/proc/self") {
        Ok(own) if own.uid() == 0 => Privilege::Root,
        _ => Privilege::User,
    }
}

/// Returns what a session was made as: the first run tells a peer from a request's session.
fn role_of(store: &Store, session: &Session) -> Role {
    if session.parent.is_some() {
        return Role::Subagent;
    }
    let first = match &session.intent {
        Some(intent) if session.run_count == 0 => Some(intent.cause),
        _ => store.run(session.id, session, 1).ok().map(|run| run.cause),
    };
    match first {
        Some(Cause::Request) => Role::Headless,
        _ => Role::Peer,
    }
}

fn refused(session: &Session, error: &CompositionError) -> Report {
    match error {
        CompositionError::Refused(refusal) => refusal.clone().into(),
        CompositionError::Plan(PlanError::NoNativeId { .. }) => Report::of(Code::NoNativeId, error)
            .next(format!("creel resume {} --fresh PROMPT", session.id)),
        CompositionError::Plan(_) => {
            Report::of(Code::CatalogInvalid, error).next("edit catalog.toml")
        }
    }
}

fn not_started(session: &Session, error: LaunchError) -> Report {
    let code = match error {
        LaunchError::Start(TransactError::Refused(refusal)) => return refusal.into(),
        LaunchError::Start(TransactError::Write(error)) => return error.into(),
        LaunchError::SpawnFailed { .. } => Code::SpawnFailed,
        LaunchError::Unclear { .. } | LaunchError::EndNotRecorded { .. } => Code::MaybeAlive,
        LaunchError::Plan { .. } => Code::Internal,
    };
    Report::of(code, &error).next(format!("creel inspect {}", session.id))
}
