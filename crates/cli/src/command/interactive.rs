//! `creel interactive`.

use std::io;

use creel_api::terminal::ViewerMode;
use creel_record::SessionId;
use creel_sys::tty::is_terminal;

use crate::attaching::{self, own_size};
use crate::codes::Code;
use crate::command::worktree;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting::ensure_host;
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::arguments::StartArguments;
use crate::starting::creation::{NewIds, Order, working_directory};
use crate::starting::owed::Asker;

/// Start a session on a terminal of its own and show it here
///
/// The terminal outlives this command: Ctrl-\ detaches, `creel attach` shows it again. With
/// --detached nothing is shown, and the session's id is printed.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "i")]
pub(crate) struct Args {
    #[command(flatten)]
    start: StartArguments,
    /// Work in this worktree of the current repository, made if there is none of the name
    #[arg(long, value_name = "NAME", conflicts_with = "cwd")]
    worktree: Option<String>,
    #[command(flatten)]
    showing: Showing,
}

/// Whether a new terminal is shown at once, and how large it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Showing {
    /// Start it without showing it, and print the id
    #[arg(short, long)]
    pub(crate) detached: bool,
    /// Give the terminal this size at first, such as 120x40
    #[arg(long, value_name = "COLUMNSxLINES")]
    pub(crate) size: Option<String>,
}

impl Showing {
    /// Prepares a start, once it is seen that what is asked for can be shown.
    ///
    /// # Errors
    /// When it is to be shown and there is no terminal to show it on, or the size is none.
    pub(crate) fn prepare(
        &self,
        verb: &str,
    ) -> Result<Option<creel_api::plan::TerminalSize>, Report> {
        let can_show = is_terminal(io::stdin()) && is_terminal(io::stdout());
        if !(self.detached || can_show) {
            let message = "there is no terminal here to show the session on; nothing was started";
            return Err(
                Report::new(Code::NotATerminal, message).next(format!("creel {verb} --detached …"))
            );
        }
        match &self.size {
            Some(text) => super::terminal::size(text).map(Some),
            None => Ok(own_size()),
        }
    }

    /// Shows a session that was started, or prints its id.
    ///
    /// # Errors
    /// As [`attaching::attach`].
    pub(crate) fn show(&self, context: &mut Context, id: SessionId) -> Result<Exit, Report> {
        if self.detached {
            context.output.line(&id.to_string())?;
            return Ok(Exit::Done);
        }
        let run_id = context.session(&id.to_string())?.0.read(id)?.snapshot.session;
        let Some(run) = run_id.live_run() else {
            attaching::tell(id, &attaching::Ended::Over);
            return Ok(Exit::Done);
        };
        let ended = attaching::attach((id, run), ViewerMode::Full)?;
        attaching::tell(id, &ended);
        Ok(Exit::Done)
    }
}

/// Runs the verb.
///
/// # Errors
/// When there is no terminal to show it on, no target is available, or nothing could be started.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let size = args.showing.prepare("interactive")?;
    let store = context.store_for_new()?;
    context.may_write(&store)?;
    let mut starter = Starter::new(context)?;
    ensure_host(context);
    starter.terminal_size = size.unwrap_or(starter.terminal_size);
    let continues = args.start.continued(&store)?;
    let ids = NewIds::new(context, "", None);
    // Everything that can be refused is, before a worktree is made.
    let mut order = args.start.interactive_order(&starter.catalog, continues)?;
    if let Some(name) = &args.worktree {
        let dir = worktree::create::for_session(context, name, ids.session)?;
        order.cwd = working_directory(Some(&dir))?;
    }
    let id = start(&Asker { context, store: &store, starter: &starter }, &order, &ids)?;
    args.showing.show(context, id)
}

/// Creates a person's session and starts its first run.
///
/// # Errors
/// As the steps of it.
pub(crate) fn start(asker: &Asker<'_>, order: &Order, ids: &NewIds) -> Result<SessionId, Report> {
    let session = asker.create(order, ids, None)?;
    let id = session.id;
    asker.start_first(session)?;
    Ok(id)
}
