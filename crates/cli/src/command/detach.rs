//! `creel detach`.

use creel_keeper::client::Client;

use crate::attaching::not_attached;
use crate::command::attach::live_run;
use crate::command::terminal::ANSWER_WITHIN;
use crate::context::Context;
use crate::ending::permitted;
use crate::exit::Exit;
use crate::kinship::Act;
use crate::output::say;
use crate::report::Report;

/// Detach every viewer of a session's terminal; the session runs on
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
}

/// Runs the verb.
///
/// # Errors
/// When the session has no live terminal, or the caller may not type for it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let session = store.read(id)?.snapshot.session;
    let run = live_run(&session)?;
    permitted(context, &store, (&session, Act::Type))?;
    let count = Client::recall(id, run, ANSWER_WITHIN)
        .and_then(|mut client| client.detach_all(ANSWER_WITHIN))
        .map_err(|error| not_attached(id, &error))?;
    say(&format!("Detached: {count} viewers of {id}"));
    Ok(Exit::Done)
}
