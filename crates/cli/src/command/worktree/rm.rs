//! `creel worktree rm`.

use clap::ValueEnum;
use creel_api::worktree::{BranchView, RemovedView};
use creel_host::worktree::{Ignored, Name, RemoveOrder, Removed, Repo, abandon, remove};

use super::refusal::removal;
use super::{Place, inhabitants, view};
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;

/// Remove a worktree; what is in it and nowhere else is saved first, whatever flags are given
///
/// Saved under a ref of the repository: staged, unstaged and untracked files, commits that no
/// remote and no other branch has, and the state of a merge or rebase. What was saved is read back
/// before anything is removed, and how to get it back is printed. The branch stays, unless its
/// deletion is asked for and it is proven merged. Refused: the main worktree, a locked one, one
/// with a live session, a store, or a repository with work of its own in it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its name or path
    name: String,
    /// Remove it although processes stand in it; none is ended
    #[arg(long)]
    force: bool,
    /// Delete its branch too, if it was made for the worktree and is proven merged
    #[arg(long)]
    delete_branch: bool,
    /// Save ignored files too: `own` for those that no tool is known to make again, or `all`
    #[arg(long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "own", conflicts_with = "drop_ignored")]
    with_ignored: Option<WithIgnored>,
    /// Lose the ignored files that no tool is known to make again
    #[arg(long)]
    drop_ignored: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Which ignored files are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WithIgnored {
    /// Those that no tool is known to make again.
    Own,
    /// All of them.
    All,
}

/// Runs the verb.
///
/// # Errors
/// When it must not be removed, or its work can't be saved.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let repo = args.place.open()?;
    if let Some(name) = half_made(args, &repo)? {
        return forgot(args, &name, context);
    }
    let worktree = args.place.find(&repo, &args.name)?;
    let order = RemoveOrder {
        path: worktree.path.clone(),
        force: args.force,
        delete_branch: args.delete_branch,
        ignored: match (args.with_ignored, args.drop_ignored) {
            (Some(WithIgnored::Own), _) => Ignored::Save,
            (Some(WithIgnored::All), _) => Ignored::SaveAll,
            (None, true) => Ignored::Drop,
            (None, false) => Ignored::Refuse,
        },
        stores: inhabitants::registered(context)?.into_iter().collect(),
        live: inhabitants::live(context)?,
        now: context.now(),
    };
    let removed = remove(&repo, &order).map_err(|error| removal(error, &args.name))?;
    let view = removed_view(&repo, removed);
    if args.json {
        context.output.json(&view)?;
        return Ok(Exit::Done);
    }
    for line in lines(&view) {
        context.output.line(&terminal::line(&line, usize::MAX))?;
    }
    Ok(Exit::Done)
}

/// Forgets what a killed creation left, when that is what the name stands for.
fn half_made(args: &Args, repo: &Repo) -> Result<Option<Name>, Report> {
    // A path can't stand for it, and is no file name of ours.
    let Ok(name) = args.name.parse::<Name>() else { return Ok(None) };
    let is_forgotten = abandon(repo, name.as_str()).map_err(|error| removal(error, &args.name))?;
    Ok(is_forgotten.then_some(name))
}

fn forgot(args: &Args, name: &Name, context: &mut Context) -> Result<Exit, Report> {
    if !args.json {
        context.output.line(&format!("Forgot {name}, which was never finished."))?;
        return Ok(Exit::Done);
    }
    context.output.json(&RemovedView {
        name: name.to_string(),
        path: String::new(),
        rescue: None,
        branch: None,
        ignored_left_count: 0,
        ignored_left: Vec::new(),
    })?;
    Ok(Exit::Done)
}

fn removed_view(repo: &Repo, removed: Removed) -> RemovedView {
    RemovedView {
        name: removed.worktree.name(),
        path: removed.worktree.path.display().to_string(),
        rescue: removed.rescue.as_ref().map(|rescue| view::rescue(repo, rescue)),
        branch: view::branch(removed.branch),
        ignored_left_count: removed.ignored_left_count,
        ignored_left: removed.ignored_left,
    }
}

fn lines(view: &RemovedView) -> Vec<String> {
    let mut lines = vec![format!("Removed {}: {}", view.name, view.path)];
    match &view.rescue {
        Some(rescue) => {
            let what = rescue.description.as_ref().map(view::rescue_text).unwrap_or_default();
            lines.push(format!("Saved under {}: {what}", rescue.reference));
            let left_out = rescue.description.iter().flat_map(|found| &found.left_out);
            lines
                .extend(left_out.map(|left| format!("Not saved: {} ({})", left.path, left.reason)));
            lines.push(format!("To get it back: {}", rescue.restore));
        }
        None => {
            lines.push("Nothing to save: all of it was committed, and is elsewhere.".to_owned());
        }
    }
    if view.ignored_left_count > 0 {
        let more = match view.ignored_left_count - view.ignored_left.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        lines.push(format!("Not saved, since ignored: {}{more}", view.ignored_left.join(", ")));
    }
    lines.extend(view.branch.as_ref().map(branch_line));
    lines
}

fn branch_line(branch: &BranchView) -> String {
    let name = &branch.name;
    match (&branch.tip, &branch.reason) {
        (Some(tip), Some(reason)) => format!("Deleted branch {name} (was {tip}): {reason}"),
        (_, Some(reason)) => format!("Kept branch {name}: {reason}"),
        _ => format!("Kept branch {name}"),
    }
}
