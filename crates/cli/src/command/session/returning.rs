//! `creel session return`.

use std::time::Duration;

use creel_keeper::client::Client;
use creel_record::command::returning::{Return, return_turn};
use creel_record::{Disposition, RunId, SessionId};
use creel_spool::Store;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::text::TextArguments;

/// How long the keeper is waited for. It learns of the return from the record too: this only
/// saves it time.
const NOTICE_DEADLINE: Duration = Duration::from_millis(500);

/// End the turn with its result
///
/// What is returned is what is delivered; output on a terminal is not. The same return again
/// answers as the first did; another one for the same turn is refused.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The work is over; what is meant without a flag
    #[arg(long, conflicts_with = "awaiting")]
    finish: bool,
    /// The session rests and can be woken
    #[arg(long = "await")]
    awaiting: bool,
    #[command(flatten)]
    text: TextArguments,
}

/// Runs the verb. Prints nothing: the agent reads its own return, and nobody else listens.
///
/// # Errors
/// When the record refuses, or the event can't be written.
pub(crate) fn run(
    args: &Args,
    own: &(Store, SessionId),
    context: &mut Context,
) -> Result<Exit, Report> {
    let (store, id) = own;
    let payload = args.text.required("session return", "a result")?;
    let request = Return {
        run_id: context.speaking_run(*id)?,
        disposition: if args.awaiting { Disposition::Await } else { Disposition::Finish },
        payload: &payload,
    };
    let recorded = context.record(store, *id, |session| return_turn(session, &request))?;
    let run = request.run_id.or_else(|| recorded.session.live_run().map(|run| run.id));
    if let Some(run) = run {
        notify(*id, run);
    }
    Ok(Exit::Done)
}

/// Tells the run's keeper, so that it doesn't have to find out.
pub(crate) fn notify(session: SessionId, run: RunId) {
    if let Ok(mut keeper) = Client::connect(session, run, NOTICE_DEADLINE) {
        // The record holds the return; a keeper that doesn't hear of it reads it there.
        let _ = keeper.returned(NOTICE_DEADLINE);
    }
}
