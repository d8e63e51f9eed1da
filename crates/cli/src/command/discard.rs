//! `creel discard`.

use creel_record::EndReason;

use crate::context::Context;
use crate::ending::{Children, Ending};
use crate::exit::Exit;
use crate::report::Report;

/// Discard a session: it is abandoned and hidden from the list
///
/// Ends its run. Nothing is deleted: `list --all` shows it, and `resume --undiscard` takes it back.
/// Inside a session the id may be left out.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session; the caller's own without it
    id: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// When the caller may not, or the run can't be proven dead.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.own_session(args.id.as_deref())?;
    let asked = EndReason::Discarded.into();
    Ending { store, id, verb: "discard", asked, children: Children::Leave }.run(context)?;
    Ok(Exit::Done)
}
