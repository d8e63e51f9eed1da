//! `creel close`.

use creel_record::EndReason;

use crate::context::Context;
use crate::ending::{Children, Ending};
use crate::exit::Exit;
use crate::report::Report;

/// Close a session: its work is finished, and it leaves active operation
///
/// Ends its run. A return that is stored stays. Inside a session the id may be left out.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session; the caller's own without it
    id: Option<String>,
    /// Leave children that still work running without it
    #[arg(long)]
    force: bool,
}

/// Runs the verb.
///
/// # Errors
/// When the caller may not, children still work, or the run can't be proven dead.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.own_session(args.id.as_deref())?;
    let children = if args.force { Children::Leave } else { Children::Refuse };
    let ending = Ending { store, id, verb: "close", asked: EndReason::Closed.into(), children };
    ending.run(context)?;
    Ok(Exit::Done)
}
