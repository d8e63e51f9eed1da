//! `creel worktree show`.

use creel_api::worktree::WorktreeView;
use creel_host::worktree::dirty;

use super::{Place, list, view};
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;

/// Show one worktree, with what is not committed in it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its name or path
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Runs the verb.
///
/// # Errors
/// When there is none, or git can't tell.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let repo = args.place.open()?;
    let worktree = args.place.find(&repo, &args.name)?;
    let view = view::worktree(&repo, &worktree, dirty(&repo, &worktree)?.as_ref());
    if args.json {
        context.output.json(&view)?;
        return Ok(Exit::Done);
    }
    for (key, value) in lines(&view) {
        context.output.line(&format!("{key:<10}  {}", terminal::line(&value, usize::MAX)))?;
    }
    Ok(Exit::Done)
}

fn lines(view: &WorktreeView) -> Vec<(&'static str, String)> {
    let mut lines = vec![("name", view.name.clone()), ("path", view.path.clone())];
    let mut add = |key, value: Option<String>| lines.extend(value.map(|value| (key, value)));
    add("branch", view.branch.clone());
    add("commit", view.head.clone());
    add("state", Some(list::state(view)).filter(|state| state != "-"));
    add("locked", view.lock_reason.clone().filter(|reason| !reason.is_empty()));
    add("prunable", view.prunable.clone());
    if let Some(found) = &view.provenance {
        add("created", Some(found.created.clone()));
        let new = if found.branch_is_new { "new" } else { "there before" };
        add("began on", Some(format!("{} ({new})", found.branch)));
        add("began at", found.base_commit.clone());
        add("session", found.session_id.clone());
    }
    add("changes", view.changes.as_ref().map(view::changes_text));
    lines
}
