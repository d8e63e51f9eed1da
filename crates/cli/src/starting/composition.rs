//! The plan of one run, made from the record, the target and where things are. Pure.

use std::path::PathBuf;

use creel_api::plan::{PLAN_VERSION, Plan, RecordTarget, RunFacts, TerminalSize};
use creel_harness::{
    Cause as HarnessCause, Environment, Invocation, Mode as HarnessMode, Places, PlanError,
    Privilege, Shape,
};
use creel_harness::{Start as HarnessStart, Target};
use creel_record::command::start::Start;
use creel_record::{Cause, Mode, Refusal, RunId, Session, Source, TurnId};

/// The run to compose.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Its id.
    pub(crate) run_id: RunId,
    /// Its turn.
    pub(crate) turn_id: TurnId,
    /// Why.
    pub(crate) cause: Cause,
    /// Its prompt, as recorded.
    pub(crate) prompt: String,
    /// The last prompt given to launch, request or resume; the same text for those.
    pub(crate) operator_prompt: String,
    /// Whether it may continue a native session.
    pub(crate) context: NativeContext,
    /// Who asked for it.
    pub(crate) source: Source,
}

/// What a run does about the harness's own session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NativeContext {
    /// Continues the one that is known; without one the run is refused.
    Continue,
    /// Continues the one that is known; without one it starts over, and is told the task again.
    ContinueOrFresh,
    /// Starts over.
    Fresh,
}

/// What kind of session the contract is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Made by `launch`: nobody waits for it.
    Peer,
    /// Made by `request` outside of any session.
    Headless,
    /// Made by `request` inside of one.
    Subagent,
}

/// The machine and its boot, which a run is bound to.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The machine.
    pub(crate) machine_id: String,
    /// The boot.
    pub(crate) boot_id: String,
}

/// Where things are on this machine, now.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// The harness's program.
    pub(crate) program: PathBuf,
    /// The root of the session's store.
    pub(crate) orb_root: PathBuf,
    /// The run's own directory.
    pub(crate) run_dir: PathBuf,
    /// Where `creel` and `flint` are linked.
    pub(crate) shim_dir: PathBuf,
    /// This program.
    pub(crate) creel_exe: PathBuf,
    /// Whose rights the agent gets.
    pub(crate) privilege: Privilege,
    /// The variables that the launch kept for all runs.
    pub(crate) base: Vec<(String, String)>,
    /// The size of an interactive run's terminal at first.
    pub(crate) terminal_size: TerminalSize,
    /// False when the raw output of runs must not reach the disk.
    pub(crate) keeps_output: bool,
    /// The harness's credentials, by name; in memory only.
    pub(crate) credentials: Vec<(String, String)>,
    /// A UUID that was never used, for a harness that takes its id from us.
    pub(crate) fresh_native_id: String,
    /// The machine.
    pub(crate) machine: Machine,
}

/// A composed run.
#[derive(Clone, Debug)]
pub(crate) struct Composed {
    /// What the holder and the keeper get.
    pub(crate) plan: Plan,
    /// The native id to record once the run has started, since its process may never report it.
    pub(crate) certain_native_id: Option<String>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompositionError {
    /// The record starts no such run.
    #[error("the record starts no run")]
    Refused(#[from] Refusal),
    /// The recipe can't be filled in.
    #[error("the run can't be planned")]
    Plan(#[from] PlanError),
}

/// Composes the plan of a run of `session`.
///
/// # Errors
/// When the record's rules refuse the run, or the recipe lacks something.
pub(crate) fn compose(
    session: &Session,
    wanted: &Wanted,
    (target, role): (&Target, Role),
    surroundings: &Surroundings,
) -> Result<Composed, CompositionError> {
    let started = creel_record::command::start::start(
        session,
        Start {
            run_id: wanted.run_id,
            turn_id: wanted.turn_id,
            cause: wanted.cause,
            prompt: Some(wanted.prompt.clone()),
            machine_id: surroundings.machine.machine_id.clone(),
            boot_id: surroundings.machine.boot_id.clone(),
        },
    )?;
    let environment = Environment {
        base: surroundings.base.clone(),
        credentials: surroundings.credentials.clone(),
    };
    let ids = (session.id.to_string(), wanted.run_id.to_string());
    let parent = session.parent.map(|parent| parent.session_id.to_string());
    let prepared = target.plan(&Invocation {
        shape: shape(role, parent.as_deref()),
        mode: match session.mode {
            Mode::Interactive => HarnessMode::Interactive { size: surroundings.terminal_size },
            Mode::Headless | Mode::Subagent => HarnessMode::Headless,
        },
        cause: harness_cause(wanted.cause),
        start: native_start(session, target, wanted.context, &surroundings.fresh_native_id),
        session_id: &ids.0,
        run_id: &ids.1,
        prompt: &wanted.prompt,
        operator_prompt: &wanted.operator_prompt,
        privilege: surroundings.privilege,
        environment: &environment,
        places: Places {
            program: &surroundings.program,
            cwd: std::path::Path::new(&session.cwd),
            run_dir: &surroundings.run_dir,
            orb_root: &surroundings.orb_root,
            shim_dir: &surroundings.shim_dir,
            creel_exe: &surroundings.creel_exe,
        },
    })?;
    let mut watch = prepared.watch;
    if !surroundings.keeps_output {
        watch.output_bytes = 0;
    }
    let certain_native_id = prepared.native_id.filter(|id| {
        prepared.is_native_id_certain && session.native_session_id.as_ref() != Some(id)
    });
    Ok(Composed {
        plan: Plan {
            version: PLAN_VERSION,
            record: RecordTarget {
                orb_root: surroundings.orb_root.clone(),
                session_id: ids.0,
                thread_id: session.root_thread_id.to_string(),
            },
            run: RunFacts {
                run_id: ids.1,
                turn_id: wanted.turn_id.to_string(),
                cause: wanted.cause.as_str().to_owned(),
                attempt: started.attempt,
                continues_run_id: started.continues_run_id.map(|id| id.to_string()),
                prompt: wanted.prompt.clone(),
                source: wanted.source.to_string(),
            },
            command: prepared.command,
            watch,
            terminal: prepared.terminal,
        },
        certain_native_id,
    })
}

fn shape(role: Role, parent_id: Option<&str>) -> Shape<'_> {
    match (role, parent_id) {
        (_, Some(parent_id)) => Shape::Subagent { parent_id },
        (Role::Peer, None) => Shape::Peer,
        (Role::Headless | Role::Subagent, None) => Shape::Headless,
    }
}

/// A follow-up request is to the harness what a resume is: a later operator prompt.
fn harness_cause(cause: Cause) -> HarnessCause {
    match cause {
        Cause::Launch => HarnessCause::Launch,
        Cause::Request | Cause::Resume => HarnessCause::Resume,
        Cause::Reprompt => HarnessCause::Reprompt,
        Cause::Wake => HarnessCause::Wake,
        Cause::Interrupt => HarnessCause::Interrupt,
    }
}

fn native_start<'a>(
    session: &'a Session,
    target: &Target,
    context: NativeContext,
    fresh_native_id: &'a str,
) -> HarnessStart<'a> {
    let known = session.native_session_id.as_deref();
    let is_first = session.run_count == 0;
    let is_fresh = is_first
        || !target.can_resume()
        || context == NativeContext::Fresh
        || (context == NativeContext::ContinueOrFresh && known.is_none());
    if is_fresh {
        HarnessStart::Fresh { native_id: fresh_native_id }
    } else {
        HarnessStart::Continue { native_id: known }
    }
}
