//! `creel worktree rescue`: what removed worktrees held.

use std::path::PathBuf;

use clap::Subcommand;
use creel_api::worktree::{DroppedView, RescueContentsView, RescuedFileView, RestoredView};
use creel_host::worktree::{
    Name, Order, contents, drop_rescue, find_rescue, list_rescues, restore,
};

use super::{Place, name, view};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;
use crate::table::Table;
use crate::terminal;

/// List what removed worktrees held, show it, and get it back
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the rescues of the repository
    ///
    /// Within a session the output is JSON Lines.
    List {
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Show one rescue and its files
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// Make a worktree with everything that a rescue holds
    ///
    /// Files and index are as they were, byte by byte; a merge or rebase that was under way is not
    /// resumed. The rescue stays. Prints the worktree's path.
    Restore {
        #[command(flatten)]
        which: Which,
        /// What to call the worktree (default: as it was called, or like it)
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Make it here (default: below Creel's data directory, by repository)
        #[arg(long, value_name = "DIR")]
        at: Option<PathBuf>,
    },
    /// Forget a rescue
    ///
    /// Git keeps its objects until it collects what nothing refers to; until then the printed
    /// command brings it back.
    Drop {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Its id, or the worktree's name when it has one rescue only
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such rescue, or git fails.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    match &args.verb {
        Verb::List { json, place } => list(*json, place, context),
        Verb::Show { which } => show(which, context),
        Verb::Restore { which, name, at } => give_back(which, (name.as_deref(), at), context),
        Verb::Drop { which } => forget(which, context),
    }
}

fn list(json: bool, place: &Place, context: &mut Context) -> Result<Exit, Report> {
    let repo = place.open()?;
    let mut table = Table::new(["ID", "BRANCH", "HOLDS"]);
    for rescue in list_rescues(&repo)? {
        let view = view::rescue(&repo, &rescue);
        if json || context.environment.session_id.is_some() {
            context.output.json(&view)?;
            continue;
        }
        let description = view.description.as_ref();
        let branch = description.and_then(|found| found.branch.as_deref());
        table.push([
            terminal::line(&view.id, usize::MAX),
            terminal::line(branch.unwrap_or("-"), usize::MAX),
            description.map_or("(made by another version)".to_owned(), view::rescue_text),
        ]);
    }
    context.output.raw(table.render().as_bytes())?;
    Ok(Exit::Done)
}

fn show(which: &Which, context: &mut Context) -> Result<Exit, Report> {
    let repo = which.place.open()?;
    let found = find_rescue(&repo, &which.id)?;
    let files = contents(&repo, &found)?;
    let view = RescueContentsView {
        rescue: view::rescue(&repo, &found),
        files: files
            .iter()
            .map(|file| RescuedFileView {
                status: file.status.to_string(),
                path: String::from_utf8_lossy(&file.path).into_owned(),
            })
            .collect(),
    };
    if which.json {
        context.output.json(&view)?;
        return Ok(Exit::Done);
    }
    let mut lines = vec![format!("ref: {}", view.rescue.reference)];
    if let Some(found) = &view.rescue.description {
        lines.push(format!("worktree: {} ({})", found.worktree, found.path));
        lines.push(format!("saved: {}", found.at));
        lines.extend(found.branch.as_ref().map(|branch| format!("branch: {branch}")));
        lines.extend(found.head.as_ref().map(|head| format!("commit: {head}")));
        lines.push(format!("holds: {}", view::rescue_text(found)));
        lines.extend(
            found.left_out.iter().map(|left| format!("not saved: {} ({})", left.path, left.reason)),
        );
    }
    lines.extend(view.files.iter().map(|file| format!("{}  {}", file.status, file.path)));
    lines.push(format!("To get it back: {}", view.rescue.restore));
    for line in lines {
        context.output.line(&terminal::line(&line, usize::MAX))?;
    }
    Ok(Exit::Done)
}

fn give_back(
    which: &Which,
    (wanted, at): (Option<&str>, &Option<PathBuf>),
    context: &mut Context,
) -> Result<Exit, Report> {
    let repo = which.place.open()?;
    let found = find_rescue(&repo, &which.id)?;
    let like = found.id.rsplit_once('/').map_or(found.id.as_str(), |(name, _)| name);
    let order = Order {
        name: match wanted {
            Some(typed) => name(typed)?,
            None => Name::like(like).map_or_else(|| name(like), Ok)?,
        },
        at: at.as_deref().map(crate::scope::absolute).transpose()?,
        branch: None,
        from: None,
        session: context.environment.caller()?,
        data: context.environment.data_dir()?,
        here: which.place.here()?,
        now: context.now(),
    };
    let restored = restore(&repo, &found, (order, wanted.is_some()))?;
    let view = RestoredView {
        rescue: found.id.clone(),
        worktree: view::worktree(&repo, &restored.worktree, None),
        file_count: restored.file_count,
        left_out: view::left_out(&restored.left_out),
    };
    if which.json {
        context.output.json(&view)?;
        return Ok(Exit::Done);
    }
    context.output.value(&view.worktree.path)?;
    context.output.flush()?;
    let branch = view.worktree.branch.as_deref().unwrap_or("no branch");
    let text = format!(
        "creel: {} files are back in worktree {}, on {branch}; the rescue stays",
        view.file_count, view.worktree.name
    );
    say(&terminal::line(&text, usize::MAX));
    for left in &view.left_out {
        let text = format!("creel: not given back: {} ({})", left.path, left.reason);
        say(&terminal::line(&text, usize::MAX));
    }
    Ok(Exit::Done)
}

fn forget(which: &Which, context: &mut Context) -> Result<Exit, Report> {
    let repo = which.place.open()?;
    let found = find_rescue(&repo, &which.id)?;
    drop_rescue(&repo, &found)?;
    if which.json {
        context.output.json(&DroppedView {
            rescue: found.id,
            reference: found.reference,
            commit: found.commit,
        })?;
        return Ok(Exit::Done);
    }
    let dir = view::shell_word(&repo.common().display().to_string());
    context.output.line(&format!("Dropped {}", found.id))?;
    context.output.line(&format!(
        "To bring it back, as long as git has it: git -C {dir} update-ref {} {}",
        found.reference, found.commit
    ))?;
    Ok(Exit::Done)
}
