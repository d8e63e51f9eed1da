//! `creel session get`.

use creel_record::SessionId;
use creel_spool::Store;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::lookup::read_telling;
use crate::report::Report;

/// Print the value of a key
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key
    #[arg(allow_hyphen_values = true)]
    key: String,
    /// Print JSON: the value as a string
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When the key was never set, or the session can't be read.
pub(crate) fn run(
    args: &Args,
    own: &(Store, SessionId),
    context: &mut Context,
) -> Result<Exit, Report> {
    let (store, id) = own;
    let session = read_telling(store, *id)?;
    let Some(value) = session.interface.get(&args.key) else {
        let message = format!("session {id} has no key '{}'", args.key);
        return Err(Report::new(Code::UnknownKey, message).next(format!("creel inspect {id}")));
    };
    if args.json {
        context.output.json(value)?;
    } else {
        context.output.value(value)?;
    }
    Ok(Exit::Done)
}
