//! `creel session register`.

use creel_record::SessionId;
use creel_record::command::keep;
use creel_spool::Store;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;

/// Set the title and the description of the session
///
/// The same ones again change nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What lists show; one line
    #[arg(allow_hyphen_values = true)]
    title: String,
    /// What the work is about
    #[arg(allow_hyphen_values = true)]
    description: String,
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
    context
        .record(store, *id, |session| keep::register(session, &args.title, &args.description))?;
    let said = format!("Registered: {} — {}", args.title, args.description);
    context.output.line(&terminal::line(&said, usize::MAX))?;
    Ok(Exit::Done)
}
