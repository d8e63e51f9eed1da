//! `creel respond`.

use creel_record::command::question::answer;
use creel_record::{RequestId, Session, WorkState};

use crate::codes::Code;
use crate::collecting::holder_lives;
use crate::context::Context;
use crate::ending::permitted;
use crate::exit::Exit;
use crate::kinship::Act;
use crate::output::say;
use crate::report::Report;
use crate::starting::birth::Settled;
use crate::starting::owed::Asker;
use crate::starting::right::{Doubt, Patience};
use crate::starting::{Credentials, Starter};
use crate::text::TextArguments;

/// Answer a session's question
///
/// A waiting agent gets the answer in place; one that no longer waits is woken with it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    #[command(flatten)]
    text: TextArguments,
    /// Answer this question, when several are open
    #[arg(long, value_name = "REQUEST")]
    request: Option<String>,
    /// Start although credentials are missing that the launch had
    #[arg(long)]
    without_credentials: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such question, it has its answer, the caller may not, or the session can't be
/// woken; the answer is recorded in the last case.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let text = args.text.required("respond", "an answer")?;
    let named: Option<RequestId> = args
        .request
        .as_deref()
        .map(|typed| {
            typed.parse().map_err(|error| {
                Report::of(Code::Usage, &error).next(format!("creel inspect {} --json", args.id))
            })
        })
        .transpose()?;
    let (store, id) = context.session(&args.id)?;
    let session = store.read(id)?.snapshot.session;
    permitted(context, &store, (&session, Act::Answer))?;
    let recorded =
        context.append(&store, id, |session| answer(session, named, &text).map(Into::into))?;
    say(&format!("Answered: {id}"));
    if is_taken_in_place(&recorded) {
        return Ok(Exit::Done);
    }
    let mut starter = Starter::new(context)?;
    if args.without_credentials {
        starter.credentials = Credentials::Optional;
    }
    let asker = Asker { context, store: &store, starter: &starter };
    let patience = match recorded.live_run() {
        Some(_) if !holder_lives(&recorded) => Patience::AfterDeath,
        _ => Patience::WhileLeaving,
    };
    let settled = asker.settle(id, (Doubt::Refuse, patience))?;
    match settled {
        Settled::Started { number, .. } => say(&format!("Woken: run {number}")),
        Settled::Held => {}
        Settled::Nothing => tell_what_became(&store.read(id)?.snapshot.session),
    }
    Ok(Exit::Done)
}

/// A run that works takes the answer itself, or its keeper decides at its end.
fn is_taken_in_place(session: &Session) -> bool {
    session.live_run().is_some_and(|run| !run.is_returned()) && holder_lives(session)
}

/// The answer is stored, and nobody will be woken with it.
fn tell_what_became(session: &Session) {
    let state = session.work_state();
    if matches!(state, WorkState::Finished | WorkState::Abandoned) {
        let id = session.id;
        say(&format!("creel: session {id} is {state}\nNext: creel resume {id} PROMPT"));
    }
}
