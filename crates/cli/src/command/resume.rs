//! `creel resume`.

use creel_record::Cause;

use crate::context::Context;
use crate::exit::Exit;
use crate::hosting::ensure_host;
use crate::report::Report;
use crate::starting::composition::NativeContext;
use crate::starting::follow_up::FollowUp;
use crate::starting::owed::Asker;
use crate::starting::{Credentials, Starter};
use crate::text::TextArguments;

/// Continue a session with a new prompt
///
/// Adds one run to the session, which keeps its id, title, keys and results, and prints the id.
/// Parked, finished, failed and lost sessions all resume the same way.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    #[command(flatten)]
    prompt: TextArguments,
    /// Take a discarded session back first
    #[arg(long)]
    undiscard: bool,
    /// Start over in the harness when its own session can't be continued
    #[arg(long)]
    fresh: bool,
    /// Start although credentials are missing that the launch had
    #[arg(long)]
    without_credentials: bool,
}

/// Runs the verb.
///
/// # Errors
/// When a run is live, the session is discarded, or its harness's own session can't be continued.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let text = args.prompt.required("resume", "a prompt")?;
    let (store, id) = context.session(&args.id)?;
    context.may_write(&store)?;
    let mut starter = Starter::new(context)?;
    ensure_host(context);
    if args.without_credentials {
        starter.credentials = Credentials::Optional;
    }
    let asker = Asker { context, store: &store, starter: &starter };
    let wish = FollowUp {
        run_id: context.run_id(),
        text,
        cause: Cause::Resume,
        native: if args.fresh { NativeContext::Fresh } else { NativeContext::Continue },
        undiscards: args.undiscard,
    };
    asker.follow_up(id, wish)?;
    context.output.line(&id.to_string())?;
    Ok(Exit::Done)
}
