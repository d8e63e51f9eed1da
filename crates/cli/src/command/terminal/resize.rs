//! `creel terminal resize`.

use creel_keeper::client::Client;

use crate::attaching::not_attached;
use crate::command::attach::live_run;
use crate::command::terminal::{ANSWER_WITHIN, size};
use crate::context::Context;
use crate::ending::permitted;
use crate::exit::Exit;
use crate::kinship::Act;
use crate::report::Report;

/// Give a session's terminal a size; it holds until a viewer types, resizes or comes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// The size, such as 120x40
    #[arg(value_name = "COLUMNSxLINES")]
    size: String,
}

/// Runs the verb.
///
/// # Errors
/// When the size is none, the session has no live terminal, or the caller may not type for it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let size = size(&args.size)?;
    let (store, id) = context.session(&args.id)?;
    let session = store.read(id)?.snapshot.session;
    let run = live_run(&session)?;
    permitted(context, &store, (&session, Act::Type))?;
    Client::recall(id, run, ANSWER_WITHIN)
        .and_then(|mut client| client.resize(size, ANSWER_WITHIN))
        .map_err(|error| not_attached(id, &error))?;
    Ok(Exit::Done)
}
