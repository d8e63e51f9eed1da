//! `creel switch`.

use clap::ValueEnum as _;
use creel_record::command::end::{AskedEnd, request_end};
use creel_record::event::fact::ModeSwitched;
use creel_record::{EndReason, Mode, Session};
use creel_spool::Store;

use crate::codes::Code;
use crate::command::interactive::Showing;
use crate::command::restart::begin_again;
use crate::context::Context;
use crate::ending::{permitted, see_out};
use crate::exit::Exit;
use crate::kinship::Act;
use crate::output::say;
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::follow_up::FollowUp;
use crate::starting::owed::Asker;
use crate::text::TextArguments;

/// What a session is told that goes on alone and was given no words for it.
const GO_ON: &str = "This session goes on without a terminal and without a person. Go on with the \
                     work where it stands, and return the result when it is done.";

/// Let a session go on in the other shape, under the same id
///
/// A live run is ended first. `interactive` goes on at a terminal, `headless` alone with the prompt
/// that is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shape
    #[arg(value_enum)]
    shape: Shape,
    /// The session
    id: String,
    #[command(flatten)]
    prompt: TextArguments,
    #[command(flatten)]
    showing: Showing,
}

/// A shape to switch to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shape {
    /// A person at a terminal
    Interactive,
    /// Alone
    Headless,
}

/// Runs the verb.
///
/// # Errors
/// When the caller may not, the live run can't be ended, or the next one can't be started; the
/// session has its new shape in the last case.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let given = args.prompt.read()?;
    let (store, id) = context.session(&args.id)?;
    context.may_write(&store)?;
    let session = store.read(id)?.snapshot.session;
    let caller = permitted(context, &store, (&session, Act::End))?;
    if caller == Some(id) {
        // Its own end would take this call along, before it could start anything.
        let message = format!("session {id} can't switch itself; nothing was changed");
        let shape = args.shape.to_possible_value().map(|value| value.get_name().to_owned());
        let next = format!("creel switch {} {id}, from outside", shape.unwrap_or_default());
        return Err(Report::new(Code::WrongState, message).next(next));
    }
    let mode = match args.shape {
        Shape::Interactive => Mode::Interactive,
        Shape::Headless if session.parent.is_some() => Mode::Subagent,
        Shape::Headless => Mode::Headless,
    };
    if session.mode == mode {
        say(&format!("Already: {} {id}", session.mode));
        return Ok(Exit::Done);
    }
    let size = match args.shape {
        Shape::Interactive => args.showing.prepare("switch interactive ID")?,
        Shape::Headless => None,
    };
    let mut starter = Starter::new(context)?;
    starter.terminal_size = size.unwrap_or(starter.terminal_size);
    end_live_run((context, &store), &session)?;
    let switched = context
        .append(&store, id, move |_| Ok(ModeSwitched { mode }.into()))
        .map_err(|report| report.next(format!("creel inspect {id}")))?;
    let asker = Asker { context, store: &store, starter: &starter };
    let wish = begin_again(&asker, &switched, false)?;
    let text = match args.shape {
        Shape::Interactive => given.unwrap_or(wish.text),
        Shape::Headless => given.unwrap_or_else(|| GO_ON.to_owned()),
    };
    asker.follow_up(id, FollowUp { text, ..wish })?;
    if args.shape == Shape::Interactive {
        return args.showing.show(context, id);
    }
    context.output.line(&id.to_string())?;
    Ok(Exit::Done)
}

fn end_live_run((context, store): (&Context, &Store), session: &Session) -> Result<(), Report> {
    if session.live_run().is_none() {
        return Ok(());
    }
    let asked = AskedEnd::from(EndReason::Switched);
    let recorded = context.record(store, session.id, |session| request_end(session, &asked))?;
    match recorded.session.live_run() {
        Some(run) => see_out((store, "switch"), &recorded.session, run, false),
        None => Ok(()),
    }
}
