//! `creel attach`.

use creel_api::terminal::ViewerMode;
use creel_record::{Run, Session, SessionId};
use creel_spool::{RowFilter, Store};

use crate::attaching;
use crate::codes::Code;
use crate::context::Context;
use crate::ending::permitted;
use crate::exit::Exit;
use crate::kinship::Act;
use crate::report::Report;

/// Show the terminal of a session here
///
/// Ctrl-\ detaches; the session runs on. The screen is as the agent drew it, whoever showed it
/// before and whatever was restarted since. Without an id the only live terminal is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session; the only one with a live terminal when left out
    id: Option<String>,
    /// Only look: type nothing, and leave the size alone
    #[arg(long)]
    readonly: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no terminal on either side, or the caller may not type for the session.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = match &args.id {
        Some(typed) => context.session(typed)?,
        None => only_one(context)?,
    };
    let session = store.read(id)?.snapshot.session;
    let run = live_run(&session)?;
    let mode = if args.readonly { ViewerMode::ReadOnly } else { ViewerMode::Full };
    if mode == ViewerMode::Full {
        permitted(context, &store, (&session, Act::Type))?;
    }
    let ended = attaching::attach((id, run), mode)?;
    attaching::tell(id, &ended);
    Ok(Exit::Done)
}

/// Returns the live run of a session.
///
/// # Errors
/// When there is none.
pub(crate) fn live_run(session: &Session) -> Result<&Run, Report> {
    session.live_run().ok_or_else(|| {
        let id = session.id;
        let message = format!("session {id} has no live terminal: no run of it is live");
        Report::new(Code::NoTerminal, message).next(format!("creel restart {id}"))
    })
}

fn only_one(context: &mut Context) -> Result<(Store, SessionId), Report> {
    let store = context.store()?;
    let live = live_interactive(&store)?;
    match live[..] {
        [id] => Ok((store, id)),
        [] => Err(Report::new(Code::NoTerminal, "no session has a live terminal")
            .next("creel interactive")),
        _ => {
            let message = format!("{} sessions have a live terminal; name one", live.len());
            Err(Report::new(Code::Usage, message).next("creel terminal list"))
        }
    }
}

/// Returns the interactive sessions whose newest run is live.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn live_interactive(store: &Store) -> Result<Vec<SessionId>, Report> {
    let rows = store.rows(RowFilter::All)?;
    let mut live = Vec::new();
    for row in rows.iter() {
        let Ok(row) = row.parse() else { continue };
        let is_live = row.current_run.as_ref().is_some_and(|run| run.status == "running");
        if row.mode == "interactive" && is_live {
            live.extend(row.id.parse::<SessionId>().ok());
        }
    }
    Ok(live)
}
