//! `creel interrupt`.

use creel_record::command::create;
use creel_record::command::end::{AskedEnd, request_end};
use creel_record::event::fact::{FollowUp as NextRun, MessageReceived};
use creel_record::words::{Disposition, Mode};
use creel_record::{Cause, EndReason, Refusal, Session, SessionId, WorkState};

use crate::codes::Code;
use crate::context::Context;
use crate::ending::{permitted, see_out};
use crate::exit::Exit;
use crate::kinship::Act;
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::composition::NativeContext;
use crate::starting::follow_up::FollowUp;
use crate::starting::owed::Asker;
use crate::starting::right::{Doubt, Patience};
use crate::text::TextArguments;

/// How many earlier interrupts of one session are waited for: each may take as long as an agent
/// takes to end.
const MAX_EARLIER: u32 = 8;

/// Cut a session's run short and go on with a new instruction
///
/// The conversation up to that point is kept. A session at rest is woken with the instruction; one
/// that has ended is left alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    #[command(flatten)]
    text: TextArguments,
}

/// Runs the verb.
///
/// # Errors
/// When the session has ended or runs at a terminal, the caller may not, or nothing could be
/// started.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let instruction = args.text.required("interrupt", "an instruction")?;
    create::prompt(&instruction)?;
    let (store, id) = context.session(&args.id)?;
    let starter = Starter::new(context)?;
    let session = store.read(id)?.snapshot.session;
    let caller = permitted(context, &store, (&session, Act::End))?;
    let asker = Asker { context, store: &store, starter: &starter };
    interrupt(&asker, session, (&instruction, caller == Some(id)))?;
    context.output.line(&id.to_string())?;
    Ok(Exit::Done)
}

/// Interrupts a session. One that is being interrupted is waited for, so that the earlier
/// instruction is delivered first.
fn interrupt(
    asker: &Asker<'_>,
    mut session: Session,
    (instruction, inside): (&str, bool),
) -> Result<(), Report> {
    let id = session.id;
    let mut earlier = 0;
    loop {
        let refused = match situation(&session)? {
            Situation::Resting => return wake(asker, id, instruction),
            Situation::LeftAlone => return start_over(asker, &session, instruction),
            Situation::Working => match cut(asker, &session, instruction, inside) {
                Err(report) if report.code() == Code::BeingEnded => report,
                done => return done,
            },
        };
        session = asker.store.read(id)?.snapshot.session;
        earlier += 1;
        if inside || earlier > MAX_EARLIER {
            return Err(refused);
        }
        let Some(run) = session.live_run() else { continue };
        match run.end_requested {
            Some(EndReason::Interrupted) => {
                see_out((asker.store, "interrupt"), &session, run, false)?;
                asker.settle(id, (Doubt::Refuse, Patience::Never))?;
                session = asker.store.read(id)?.snapshot.session;
            }
            Some(_) => return Err(refused),
            None => {}
        }
    }
}

/// What there is to interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Situation {
    /// A run that works.
    Working,
    /// A session at rest.
    Resting,
    /// A session whose last run is gone and that nobody went on with.
    LeftAlone,
}

fn situation(session: &Session) -> Result<Situation, Report> {
    let (id, verb) = (session.id, "interrupt");
    if session.mode == Mode::Interactive {
        return Err(Refusal::WrongMode { session: id, mode: session.mode, verb }.into());
    }
    let returned = session.live_run().and_then(creel_record::Run::disposition);
    match (session.work_state(), session.live_run()) {
        (WorkState::Awaiting, _) => Ok(Situation::Resting),
        (WorkState::Working | WorkState::NeedsInput, Some(_)) if returned.is_none() => {
            Ok(Situation::Working)
        }
        (WorkState::Working | WorkState::NeedsInput, _)
            if returned != Some(Disposition::Finish) =>
        {
            Ok(Situation::LeftAlone)
        }
        (state, _) => {
            let message = format!(
                "session {id} is {state}; there is nothing to interrupt, nothing was changed"
            );
            let next = format!("creel resume {id} PROMPT");
            Err(Report::new(Code::WrongState, message).next(next))
        }
    }
}

/// Records the end and the run that follows in one event; whoever records the end starts that run.
fn cut(
    asker: &Asker<'_>,
    session: &Session,
    instruction: &str,
    inside: bool,
) -> Result<(), Report> {
    let Asker { context, store, .. } = *asker;
    let id = session.id;
    let follow_up = NextRun {
        run_id: context.run_id(),
        turn_id: context.turn_id(),
        prompt: text(asker, id, instruction)?,
    };
    let asked =
        AskedEnd { reason: EndReason::Interrupted, result: None, follow_up: Some(follow_up) };
    let recorded = context.record(store, id, |session| request_end(session, &asked))?;
    let Some(run) = recorded.session.live_run() else { return Ok(()) };
    see_out((store, "interrupt"), &recorded.session, run, inside)?;
    if !inside {
        // The keeper starts the next run before it lets the lease go; one that died has not.
        asker.settle(id, (Doubt::Refuse, Patience::Never))?;
    }
    Ok(())
}

fn text(asker: &Asker<'_>, id: SessionId, instruction: &str) -> Result<String, Report> {
    let by = match asker.context.source()? {
        creel_record::Source::Session(session) => format!("session {session}"),
        _ => "the operator".to_owned(),
    };
    Ok(creel_harness::interrupt_text(&id.to_string(), &by, instruction))
}

/// Leaves the instruction as a message, which is what wakes a session at rest.
fn wake(asker: &Asker<'_>, id: SessionId, instruction: &str) -> Result<(), Report> {
    let message = MessageReceived { text: instruction.to_owned() };
    asker.context.append(asker.store, id, |_| Ok(message.clone().into()))?;
    asker.settle(id, (Doubt::Refuse, Patience::WhileLeaving))?;
    Ok(())
}

fn start_over(asker: &Asker<'_>, session: &Session, instruction: &str) -> Result<(), Report> {
    let wish = FollowUp {
        run_id: asker.context.run_id(),
        text: text(asker, session.id, instruction)?,
        cause: Cause::Interrupt,
        native: NativeContext::ContinueOrFresh,
        undiscards: false,
    };
    asker.follow_up(session.id, wish)
}
