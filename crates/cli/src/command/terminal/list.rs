//! `creel terminal list`.

use std::time::Duration;

use creel_api::terminal::TerminalRow;
use creel_keeper::client::Client;

use crate::command::attach::live_interactive;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;

/// How long one keeper may take; the list goes on without what it would say.
const ONE_WITHIN: Duration = Duration::from_secs(2);

/// List the sessions that have a live terminal
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let Some(store) = context.store_if_any()? else { return Ok(Exit::Done) };
    for id in live_interactive(&store)? {
        let Ok(published) = store.read(id) else { continue };
        let session = published.snapshot.session;
        let Some(run) = session.live_run() else { continue };
        let status = Client::connect(id, run.id, ONE_WITHIN)
            .and_then(|mut client| client.status(ONE_WITHIN));
        let row = TerminalRow {
            session_id: id.to_string(),
            run_number: run.number,
            runtime: session.target(),
            title: session.title.clone(),
            terminal: status.ok().and_then(|status| status.terminal),
        };
        if args.json {
            context.output.json(&row)?;
        } else {
            context.output.line(&terminal::line(&line(&row), usize::MAX))?;
        }
    }
    Ok(Exit::Done)
}

fn line(row: &TerminalRow) -> String {
    let title = row.title.as_deref();
    let Some(found) = &row.terminal else {
        return format!("{}  {}  (no answer)", row.session_id, row.runtime);
    };
    let title = title.or(found.title.as_deref()).unwrap_or("(no title)");
    let doubt = if found.doubt.is_some() { ", in doubt" } else { "" };
    format!(
        "{}  {}  {}x{}, {} viewers{doubt}  {title}",
        row.session_id,
        row.runtime,
        found.size.columns,
        found.size.lines,
        found.viewers.len()
    )
}
