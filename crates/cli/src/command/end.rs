//! `creel end`.

use std::path::PathBuf;

use creel_record::EndReason;
use creel_record::command::end::AskedEnd;

use crate::context::Context;
use crate::ending::{Children, Ending};
use crate::exit::Exit;
use crate::report::Report;
use crate::text::{from_file, from_stdin};

/// End a session, with a last result if it has one to give
///
/// Stores the result on the current run, finishes and closes the session and ends its run. Inside a
/// session the id may be left out.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session; the caller's own without it
    id: Option<String>,
    /// Store this text as the last result; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "file")]
    result: Option<String>,
    /// Read the last result from this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// When the caller may not, the turn has another result, or the run can't be proven dead.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let result = match (&args.result, &args.file) {
        (_, Some(path)) => Some(from_file(path)?),
        (Some(text), None) if text == "-" => Some(from_stdin()?),
        (text, None) => text.clone(),
    };
    let (store, id) = context.own_session(args.id.as_deref())?;
    let asked = AskedEnd { reason: EndReason::Ended, result, follow_up: None };
    Ending { store, id, verb: "end", asked, children: Children::Leave }.run(context)?;
    Ok(Exit::Done)
}
