//! `creel plan`: what a keeper asks at the end of its run.

use std::path::PathBuf;

use creel_api::keeper::Owed;
use creel_api::plan::Plan;
use creel_record::{Session, SessionId, Source, decide};
use creel_spool::Store;

use crate::codes::Code;
use crate::context::Context;
use crate::dispatching::{Collectors, settle_left_behind};
use crate::exit::Exit;
use crate::output::say;
use crate::report::{Report, chain};
use crate::starting::owed::{Asker, session_now};
use crate::starting::parent::wake_parent;
use crate::starting::{Credentials, Starter};

/// Decide what a session is owed and print the plan for it
///
/// For keepers alone, which have the session's lease: a wake is recorded on the way.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The root of the store
    orb_root: PathBuf,
    /// The session
    id: String,
}

/// Runs the verb.
///
/// # Errors
/// When no keeper calls. What stands in the way of a plan is an answer.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let ended = creel_keeper::ended_plan().map_err(|error| {
        let message = format!("plan is called by keepers alone: {}", chain(&error));
        Report::new(Code::Usage, message).next(format!("creel reconcile {}", args.id))
    })?;
    let id = args.id.parse().map_err(|error| {
        Report::of(Code::MalformedId, &error).next(format!("creel inspect {}", args.id))
    })?;
    context.act_as(Source::Keeper);
    // The keeper tries again, and tells those who ask what it waits for.
    let owed = plan((args, id), ended, context)
        .unwrap_or_else(|report| Owed::Blocked { why: report.line() });
    context.output.json(&owed)?;
    Ok(Exit::Done)
}

fn plan((args, id): (&Args, SessionId), ended: Plan, context: &Context) -> Result<Owed, Report> {
    let store = context.store_at(&args.orb_root)?;
    // Whoever waited for a child did so inside the run that is over.
    settle_left_behind((context, &store), id, Collectors::Gone)?;
    let session = session_now(&store, id)?;
    let variables = ended.command.env;
    let owed = match decide(&session, context.now()) {
        // A mistake in the catalog is in nobody's way while nothing is owed.
        creel_record::Owed::Nothing => Owed::Nothing,
        _ => next((context, &store), &session, variables.clone())?,
    };
    if let Err(report) = wake_parent((context, &store), &session, variables) {
        say(&format!("creel: the parent of {id} was not woken\n{report}"));
    }
    Ok(owed)
}

fn next(
    (context, store): (&Context, &Store),
    session: &Session,
    variables: Vec<(String, String)>,
) -> Result<Owed, Report> {
    let mut starter = Starter::new(context)?;
    // What the ended run had is what there is: nothing else knows its credentials.
    starter.variables = variables;
    starter.credentials = Credentials::Optional;
    let asker = Asker { context, store, starter: &starter };
    Ok(match asker.owed(session.clone())? {
        None => Owed::Nothing,
        Some((session, wanted)) => {
            let composed = starter.compose(store, &session, &wanted)?;
            Owed::Run { plan: Box::new(composed.plan) }
        }
    })
}
