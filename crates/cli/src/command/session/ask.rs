//! `creel session ask`.

use creel_record::command::question;
use creel_record::{RequestId, SessionId};
use creel_spool::Store;

use crate::codes::Code;
use crate::context::{Context, seconds};
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;
use crate::text::TextArguments;
use crate::waiting::Waiter;

/// Ask a person, and wait for the answer
///
/// The run is held and the session needs input until somebody answers. When the time is up, or the
/// waiting is interrupted, the question stays open: its answer then starts the next run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    text: TextArguments,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    timeout: u64,
}

/// Runs the verb.
///
/// # Errors
/// When the record refuses, the event can't be written, or the question is taken back.
pub(crate) fn run(
    args: &Args,
    own: &(Store, SessionId),
    context: &mut Context,
) -> Result<Exit, Report> {
    let (store, id) = own;
    let text = args.text.required("session ask", "a question")?;
    let request = context.request_id();
    let run = context.speaking_run(*id)?;
    // Watched before it is asked, so that no answer comes unseen.
    let mut waiter = Waiter::new(store)?;
    context.append(store, *id, |session| {
        question::ask(session, run, request, &text).map(Into::into)
    })?;
    let within = seconds(Some(args.timeout));
    let answer = waiter.until(within, &[*id], || look(store, *id, request))?;
    let Some(answer) = answer else {
        say(&format!("creel: question {request} of session {id} is pending"));
        return Ok(Exit::TimedOut);
    };
    context.output.value(&answer)?;
    context.output.flush()?;
    // Only now: an answer that nobody read is carried by the next wake.
    context.record(store, *id, |session| Ok(question::take(session, request)))?;
    Ok(Exit::Done)
}

/// Returns the answer of a question, when there is one.
///
/// # Errors
/// When the question was taken back, or the session can't be read.
pub(crate) fn look(
    store: &Store,
    id: SessionId,
    request: RequestId,
) -> Result<Option<String>, Report> {
    let session = store.read(id)?.snapshot.session;
    let Some(question) = session.questions.iter().find(|q| q.id == request) else {
        let message = format!("question {request} was taken back before it was answered");
        return Err(Report::new(Code::QuestionGone, message).next(format!("creel inspect {id}")));
    };
    match question.answer {
        Some(answer) => Ok(Some(store.text(id, answer)?)),
        None => Ok(None),
    }
}
