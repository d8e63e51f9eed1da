//! `creel session note`.

use creel_record::SessionId;
use creel_record::command::keep;
use creel_spool::Store;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::text::TextArguments;

/// Add a note to the record of the session; its lifecycle stays as it is
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    text: TextArguments,
}

/// Runs the verb.
///
/// # Errors
/// When the record refuses, or the event can't be written.
pub(crate) fn run(
    args: &Args,
    own: &(Store, SessionId),
    context: &mut Context,
) -> Result<Exit, Report> {
    let (store, id) = own;
    let text = args.text.required("session note", "a text")?;
    context.record(store, *id, |_| keep::note(&text))?;
    Ok(Exit::Done)
}
