//! `creel peek`.

use creel_api::session::SessionRow;
use creel_spool::to_row;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;

/// Print how a session stands, without anything long
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// Print JSON: the session's line of `list --json`
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such session, or it can't be read.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let published = store.read(id)?;
    let session = &published.snapshot.session;
    let row = to_row(session, published.flags());
    if args.json {
        context.output.json(&row)?;
        return Ok(Exit::Done);
    }
    for line in lines(&row, session.live_dispatch_count()) {
        context.output.line(&terminal::line(&line, usize::MAX))?;
    }
    Ok(Exit::Done)
}

fn lines(row: &SessionRow, dispatch_count: usize) -> Vec<String> {
    let profile = row.profile.as_ref().map(|p| format!("/{p}")).unwrap_or_default();
    let mut lines = vec![
        format!("{}  {}", row.id, row.title.as_deref().unwrap_or("(no title)")),
        format!("{} ({}), {}, {}{profile}", row.work_state, row.retention, row.mode, row.runtime),
        format!("runs {}, results {}, waits for {dispatch_count}", row.run_count, row.result_count),
    ];
    if row.stale {
        lines.push("stale: the log holds more than is shown".to_owned());
    }
    if row.damaged {
        lines.push("damaged: creel heal repairs it".to_owned());
    }
    if let Some(run) = &row.current_run {
        let end = run.end_reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
        lines.push(format!("run {}: {} ({}){end}", run.number, run.status, run.cause));
    }
    if let Some(request) = &row.pending_request {
        lines.push(format!("question {} ({}) since {}", request.id, request.kind, request.asked));
    }
    lines.extend(row.interface.iter().map(|(key, value)| format!("{key} = {value}")));
    lines
}
