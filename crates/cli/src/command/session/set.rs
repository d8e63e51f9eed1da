//! `creel session set`.

use creel_record::SessionId;
use creel_record::command::keep;
use creel_spool::Store;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::text::joined;

/// Set a key that anybody may read, such as `phase`, `progress` or `blockers`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key; those under `core:` are reserved
    #[arg(allow_hyphen_values = true)]
    key: String,
    /// The value
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// More words of the value
    #[arg(hide = true)]
    words: Vec<String>,
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
    let value = joined(&args.value, &args.words);
    context.record(store, *id, |session| keep::set(session, &args.key, &value))?;
    Ok(Exit::Done)
}
