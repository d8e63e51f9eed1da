//! `creel worktree ps`.

use creel_api::worktree::{OccupiedView, SessionInView};
use creel_host::worktree::{join, list};

use super::{Place, inhabitants, list as listing, view};
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::table::Table;
use crate::terminal;

/// Characters of a session's id in a table.
const SHORT_ID_CHARS: usize = 8;

/// Show each worktree of the repository and the sessions that work in it
///
/// A session works where its runs have their working directory. Within a session the output is
/// JSON Lines.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Runs the verb.
///
/// # Errors
/// When git can't tell the worktrees, or the store can't be read.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let repo = args.place.open()?;
    let rows = join(list(&repo)?, inhabitants::of_scope(context)?);
    let mut table = Table::new(["NAME", "BRANCH", "STATE", "LIVE", "SESSIONS"]);
    for row in rows {
        let view = OccupiedView {
            worktree: view::worktree(&repo, &row.worktree, None),
            sessions: row
                .sessions
                .into_iter()
                .map(|session| SessionInView {
                    id: session.id,
                    title: session.title,
                    runtime: session.runtime,
                    work_state: session.work_state,
                    is_live: session.is_live,
                    cwd: session.cwd.display().to_string(),
                })
                .collect(),
        };
        if args.json || context.environment.session_id.is_some() {
            context.output.json(&view)?;
            continue;
        }
        table.push([
            terminal::line(&view.worktree.name, usize::MAX),
            terminal::line(view.worktree.branch.as_deref().unwrap_or("-"), usize::MAX),
            listing::state(&view.worktree),
            view.sessions.iter().filter(|session| session.is_live).count().to_string(),
            sessions(&view.sessions),
        ]);
    }
    context.output.raw(table.render().as_bytes())?;
    Ok(Exit::Done)
}

fn sessions(sessions: &[SessionInView]) -> String {
    let shown: Vec<String> = sessions
        .iter()
        .map(|session| {
            let id: String = session.id.chars().take(SHORT_ID_CHARS).collect();
            format!("{id} {}", session.work_state)
        })
        .collect();
    if shown.is_empty() { "-".to_owned() } else { shown.join(", ") }
}
