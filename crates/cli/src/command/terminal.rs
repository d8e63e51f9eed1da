//! `creel terminal VERB`: terminals without showing them.

use std::time::Duration;

use clap::Subcommand;
use creel_api::plan::TerminalSize;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

mod export;
mod list;
mod read;
mod resize;
mod search;
mod send;

/// How long a keeper may take to answer, also while it is being replaced.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// List, read, search, type on, resize or export the terminals of sessions
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub(crate) enum Verb {
    List(list::Args),
    Read(read::Args),
    Send(send::Args),
    Resize(resize::Args),
    Search(search::Args),
    Export(export::Args),
}

/// Runs the verb.
///
/// # Errors
/// What the verb reports.
pub(crate) fn run(verb: &Verb, context: &mut Context) -> Result<Exit, Report> {
    match verb {
        Verb::List(args) => list::run(args, context),
        Verb::Read(args) => read::run(args, context),
        Verb::Send(args) => send::run(args, context),
        Verb::Resize(args) => resize::run(args, context),
        Verb::Search(args) => search::run(args, context),
        Verb::Export(args) => export::run(args, context),
    }
}

/// Reads a size such as `120x40`.
///
/// # Errors
/// When it is none that a terminal can have.
pub(crate) fn size(text: &str) -> Result<TerminalSize, Report> {
    let next = "the same command with a size such as 120x40";
    let numbers = text.split_once(['x', 'X']);
    let parsed =
        numbers.and_then(|(columns, lines)| Some((columns.parse().ok()?, lines.parse().ok()?)));
    let Some((columns, lines)) = parsed else {
        let message = format!("'{text}' is no size: COLUMNSxLINES; nothing was changed");
        return Err(Report::new(Code::TerminalSize, message).next(next));
    };
    TerminalSize::checked(columns, lines).map_err(|error| {
        Report::new(Code::TerminalSize, format!("{error}; nothing was changed")).next(next)
    })
}
