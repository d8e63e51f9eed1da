//! `creel worktree create`.

use std::path::PathBuf;

use creel_api::worktree::CreatedView;
use creel_host::worktree::{Order, create};
use creel_record::SessionId;

use super::{Place, name, view};
use crate::context::Context;
use crate::exit::Exit;
use crate::lookup::find;
use crate::output::say;
use crate::report::Report;
use crate::terminal;

/// Make a worktree, or print the one that an earlier call made
///
/// Prints its path. Never touches a branch or directory that is there, nor anything in the worktree
/// it is called from. No hook of the repository runs. Killed halfway, the same call finishes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to call it: letters, digits, '.', '_' and '-'
    name: String,
    /// Work on this branch (default: a new one of the worktree's name); one that exists is used
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Begin the new branch at this commit (default: the one checked out here)
    #[arg(long, value_name = "REF")]
    from: Option<String>,
    /// Make it here (default: below Creel's data directory, by repository)
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
    /// Record that it is for this session (default: the calling one)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Runs the verb.
///
/// # Errors
/// When something is in the way, or git fails.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let name = name(&args.name)?;
    let session = match &args.session {
        Some(typed) => Some(find(&context.store()?, typed)?),
        None => context.environment.caller()?,
    };
    let repo = args.place.open()?;
    let order = Order {
        name,
        at: args.at.as_deref().map(crate::scope::absolute).transpose()?,
        branch: args.branch.clone(),
        from: args.from.clone(),
        session,
        data: context.environment.data_dir()?,
        here: args.place.here()?,
        now: context.now(),
    };
    let created = create(&repo, &order)?;
    let worktree = view::worktree(&repo, &created.worktree, None);
    if args.json {
        context.output.json(&CreatedView { worktree, already: created.already })?;
        return Ok(Exit::Done);
    }
    context.output.value(&worktree.path)?;
    context.output.flush()?;
    let branch = worktree.branch.as_deref().unwrap_or("no branch");
    let is_new = worktree.provenance.as_ref().is_some_and(|found| found.branch_is_new);
    let state = match (created.already, is_new) {
        (true, _) => "was there, on",
        (false, true) => "is ready, on the new branch",
        (false, false) => "is ready, on",
    };
    let text = format!("creel: worktree {} {state} {branch}", worktree.name);
    say(&terminal::line(&text, usize::MAX));
    Ok(Exit::Done)
}

/// Makes the worktree that a new session of the current repository is to work in, or finds the one
/// that is there; returns its directory.
///
/// # Errors
/// As [`run`].
pub(crate) fn for_session(
    context: &Context,
    typed: &str,
    session: SessionId,
) -> Result<PathBuf, Report> {
    let name = name(typed)?;
    let place = Place { repo: None };
    let order = Order {
        name,
        at: None,
        branch: None,
        from: None,
        session: Some(session),
        data: context.environment.data_dir()?,
        here: place.here()?,
        now: context.now(),
    };
    Ok(create(&place.open()?, &order)?.worktree.path)
}
