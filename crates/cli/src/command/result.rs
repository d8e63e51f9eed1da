//! `creel result`.

use creel_record::run::ResultRef;
use creel_record::{Session, SessionId, WorkState};
use creel_spool::{ReadError, Store};

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::lookup::read_telling;
use crate::report::Report;
use crate::view;

/// Runs with results that a refusal names; the newest ones.
const MAX_NAMED_RUNS: usize = 20;

/// Print the newest result of a session, or the last one of a run
///
/// Prints the payload and nothing else.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// The run, counted from 1 over all runs of the session
    #[arg(long, value_name = "N")]
    run: Option<u64>,
    /// Print JSON: the payload with how and when it was returned
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such session or result.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let session = read_telling(&store, id)?;
    let found = match args.run {
        None => session.latest_result.clone(),
        Some(number) => result_of(&store, &session, number)?,
    };
    let Some(result) = found else { return Err(none(&store, &session, args.run)) };
    let text = store.text(id, result.payload)?;
    if args.json {
        context.output.json(&view::result(&result, Some(text)))?;
    } else {
        context.output.text(&text)?;
    }
    Ok(Exit::Done)
}

fn result_of(store: &Store, session: &Session, number: u64) -> Result<Option<ResultRef>, Report> {
    match store.run(session.id, session, number) {
        Ok(run) => Ok(run.result),
        Err(ReadError::NoRun { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn none(store: &Store, session: &Session, run: Option<u64>) -> Report {
    let id: SessionId = session.id;
    let what = match run {
        None => format!("session {id} has returned nothing yet"),
        Some(n) if n == 0 || n > session.run_count => {
            format!("session {id} has no run {n}; its runs are 1 to {}", session.run_count)
        }
        Some(n) => format!("run {n} of session {id} returned nothing"),
    };
    // Only told to help: a run index that can't be read is another verb's matter.
    let runs = store.runs(id, session).unwrap_or_default();
    let mut numbers: Vec<String> =
        runs.iter().filter(|r| r.result.is_some()).map(|r| r.number.to_string()).collect();
    let skipped = numbers.len().saturating_sub(MAX_NAMED_RUNS);
    numbers.drain(..skipped);
    match numbers.last() {
        Some(last) => {
            let next = format!("creel result {id} --run {last}");
            let message = format!("{what}; runs with results: {}", numbers.join(", "));
            Report::new(Code::NoResult, message).next(next)
        }
        None if run.is_none() && is_working(session) => {
            Report::new(Code::NoResult, what).next(format!("creel wait {id}"))
        }
        None => Report::new(Code::NoResult, what).next(format!("creel inspect {id}")),
    }
}

/// Tells whether a result may still come without anybody's doing.
fn is_working(session: &Session) -> bool {
    matches!(session.work_state(), WorkState::Working | WorkState::NeedsInput)
        && (session.live_run().is_some() || session.intent.is_some())
}
