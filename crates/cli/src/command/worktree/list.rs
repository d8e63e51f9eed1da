//! `creel worktree list`.

use creel_api::worktree::WorktreeView;
use creel_host::worktree::{dirty, list};

use super::{Place, view};
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::table::Table;
use crate::terminal;

/// Digits of a commit in a table.
const SHORT_COMMIT_CHARS: usize = 10;

/// List all worktrees of the repository, whoever made them, the main one first
///
/// Within a session the output is JSON Lines.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
    /// Look for uncommitted changes too, with a git process for each
    #[arg(long)]
    dirty: bool,
    #[command(flatten)]
    place: Place,
}

/// Runs the verb.
///
/// # Errors
/// When git can't tell them.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let repo = args.place.open()?;
    let mut table = Table::new(["NAME", "BRANCH", "COMMIT", "STATE", "PATH"]);
    for worktree in list(&repo)? {
        let changes = if args.dirty { dirty(&repo, &worktree)? } else { None };
        let view = view::worktree(&repo, &worktree, changes.as_ref());
        if args.json || context.environment.session_id.is_some() {
            context.output.json(&view)?;
            continue;
        }
        table.push([
            terminal::line(&view.name, usize::MAX),
            terminal::line(view.branch.as_deref().unwrap_or("-"), usize::MAX),
            view.head.as_deref().unwrap_or("-").chars().take(SHORT_COMMIT_CHARS).collect(),
            state(&view),
            terminal::line(&view.path, usize::MAX),
        ]);
    }
    context.output.raw(table.render().as_bytes())?;
    Ok(Exit::Done)
}

/// Returns what is special about a worktree, in words.
pub(super) fn state(view: &WorktreeView) -> String {
    let is_dirty = view.changes.as_ref().is_some_and(|changes| !changes.is_clean);
    let words = [
        (view.is_main && !view.is_bare, "main"),
        (view.is_bare, "bare"),
        (view.is_detached, "detached"),
        (view.is_locked, "locked"),
        (view.is_missing, "missing"),
        (is_dirty, "dirty"),
        (!view.is_main && view.provenance.is_none(), "external"),
    ];
    let words: Vec<&str> = words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(",") }
}
