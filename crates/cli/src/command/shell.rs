//! `creel shell`.

use std::path::PathBuf;

use creel_record::Cause;

use crate::command::interactive::{self, Showing};
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting::ensure_host;
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::creation::{NewIds, Order, working_directory};
use crate::starting::owed::Asker;

/// Start your own shell on a terminal that outlives this command
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Set the title that the session list shows
    #[arg(long)]
    title: Option<String>,
    /// Set the description that the session list shows
    #[arg(long)]
    description: Option<String>,
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Don't keep the raw output, which can't be searched for secrets soundly
    #[arg(long)]
    no_output_log: bool,
    #[command(flatten)]
    showing: Showing,
}

/// Runs the verb.
///
/// # Errors
/// When there is no terminal to show it on, or nothing could be started.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let size = args.showing.prepare("shell")?;
    let store = context.store_for_new()?;
    context.may_write(&store)?;
    let mut starter = Starter::new(context)?;
    ensure_host(context);
    starter.terminal_size = size.unwrap_or(starter.terminal_size);
    let order = Order {
        cause: Cause::Launch,
        named_target: Some("shell".to_owned()),
        prompt: String::new(),
        title: args.title.clone(),
        description: args.description.clone(),
        account: None,
        continues: None,
        cwd: working_directory(args.cwd.as_deref())?,
        keeps_output: !args.no_output_log,
        is_interactive: true,
    };
    let ids = NewIds::new(context, "", None);
    let asker = Asker { context, store: &store, starter: &starter };
    let id = interactive::start(&asker, &order, &ids)?;
    args.showing.show(context, id)
}
