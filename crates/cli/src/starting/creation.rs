//! The first event of a session, and the id that a key stands for.

use std::path::{Path, PathBuf};

use creel_record::event::fact::{FirstRun, LaunchKey, Parent, SessionCreated};
use creel_record::{Authority, Cause, Mode, RunId, Session, SessionId};
use sha2::{Digest as _, Sha256};

use crate::codes::Code;
use crate::context::Context;
use crate::report::{Report, chain};
use crate::scope::absolute;
use crate::starting::choice::Chosen;
use crate::starting::terms::Terms;

/// What a start verb was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// `launch` or `request`.
    pub(crate) cause: Cause,
    /// The target as it was named; none for the default list.
    pub(crate) named_target: Option<String>,
    /// The prompt.
    pub(crate) prompt: String,
    /// The title.
    pub(crate) title: Option<String>,
    /// The description.
    pub(crate) description: Option<String>,
    /// The account, stored only.
    pub(crate) account: Option<String>,
    /// The session that this one follows.
    pub(crate) continues: Option<SessionId>,
    /// The working directory, absolute.
    pub(crate) cwd: String,
    /// False when raw output must not be kept.
    pub(crate) keeps_output: bool,
    /// True for a session of a person at a terminal.
    pub(crate) is_interactive: bool,
}

/// Whose child a session is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lineage<'a> {
    /// The parent.
    pub(crate) parent: &'a Session,
    /// The run that dispatches, when one is live.
    pub(crate) run_id: Option<RunId>,
}

/// The ids of a session that is about to be.
#[derive(Clone, Debug)]
pub(crate) struct NewIds {
    /// The session.
    pub(crate) session: SessionId,
    /// Its first run and turn.
    pub(crate) first_run: FirstRun,
    /// The key that it is derived from.
    pub(crate) key: Option<LaunchKey>,
}

impl NewIds {
    /// Makes the ids of a session; from its key when it has one.
    pub(crate) fn new(context: &Context, orb_root: &str, key: Option<LaunchKey>) -> Self {
        let session = match &key {
            Some(key) => SessionId::from_key(orb_root, &key.key),
            None => context.session_id(),
        };
        let first_run = FirstRun { run_id: context.run_id(), turn_id: context.turn_id() };
        Self { session, first_run, key }
    }
}

/// Returns the key of a launch together with the hash of everything else it was asked for.
pub(crate) fn launch_key(key: &str, order: &Order) -> LaunchKey {
    let arguments = serde_json::json!([
        order.named_target,
        order.prompt,
        order.title,
        order.description,
        order.cwd,
        order.continues,
        order.account,
        order.keeps_output,
    ]);
    let digest = Sha256::digest(arguments.to_string().as_bytes());
    let arguments_hash = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    LaunchKey { key: key.to_owned(), arguments_hash }
}

/// Returns the first event of a session; `variables` holds the credentials, of which only the names
/// are in it. Checked by the record before it is appended.
pub(crate) fn created(
    order: &Order,
    ids: &NewIds,
    (context, chosen, variables): (&Context, &Chosen, &[(String, String)]),
    lineage: Option<Lineage<'_>>,
) -> SessionCreated {
    let environment = chosen.target.environment_from(self::variables());
    let credentials = chosen.target.environment_from(variables.iter().cloned()).credentials;
    let terms = Terms {
        keeps_output: order.keeps_output,
        credential_names: credentials.into_iter().map(|(name, _)| name).collect(),
    };
    SessionCreated {
        kind: "session".to_owned(),
        runtime: chosen.target.runtime().to_owned(),
        profile: chosen.target.profile().map(str::to_owned),
        account: order.account.clone(),
        mode: match lineage {
            Some(_) => Mode::Subagent,
            None if order.is_interactive => Mode::Interactive,
            None => Mode::Headless,
        },
        authority: Authority::Record,
        prompt: order.prompt.clone(),
        cwd: order.cwd.clone(),
        root_thread_id: context.thread_id(),
        title: order.title.clone(),
        description: order.description.clone(),
        key: ids.key.clone(),
        parent: lineage.map(|l| Parent { session_id: l.parent.id, run_id: l.run_id }),
        continues: order.continues,
        root_session_id: lineage.map_or(ids.session, |l| l.parent.root_session_id),
        depth: lineage.map_or(0, |l| l.parent.depth.saturating_add(1)),
        first_run: ids.first_run,
        cause: order.cause,
        environment: terms.joined(environment.base),
    }
}

/// Returns the variables of this process that are text; no harness takes others.
pub(crate) fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns the working directory of a new session: the given one, else the current one.
///
/// # Errors
/// When there is no such directory, or its path is not text.
pub(crate) fn working_directory(given: Option<&Path>) -> Result<String, Report> {
    let dir = absolute(given.unwrap_or(Path::new(".")))?;
    // Agents compare it with what their tools print, which has no link and no dot in it.
    let dir = dir.canonicalize().map_err(|error| {
        let message =
            format!("'{}' can't be the working directory: {}", dir.display(), chain(&error));
        Report::new(Code::Usage, message).next("the same command with --cwd DIR of a directory")
    })?;
    if !dir.is_dir() {
        let message = format!("'{}' is no directory", dir.display());
        return Err(Report::new(Code::Usage, message)
            .next("the same command with --cwd DIR of a directory"));
    }
    text_of(dir)
}

fn text_of(dir: PathBuf) -> Result<String, Report> {
    dir.into_os_string().into_string().map_err(|dir| {
        let message = format!("the path '{}' is not UTF-8", dir.display());
        Report::new(Code::NonUtf8, message).next("the same command with --cwd DIR of a directory")
    })
}
