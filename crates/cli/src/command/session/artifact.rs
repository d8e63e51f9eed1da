//! `creel session artifact`.

use creel_record::SessionId;
use creel_record::command::keep;
use creel_spool::Store;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

/// Name a file that the session produced
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file: absolute, or from the session's working directory
    path: String,
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
    context.record(store, *id, |_| keep::artifact(&args.path))?;
    Ok(Exit::Done)
}
