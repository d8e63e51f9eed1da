//! `creel terminal search`.

use creel_keeper::client::{Client, ClientError};
use creel_keeper::screen::restore::last_screen;
use creel_record::Session;
use creel_spool::Store;

use crate::attaching::not_attached;
use crate::codes::Code;
use crate::command::terminal::ANSWER_WITHIN;
use crate::command::terminal::read::no_terminal;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;
use crate::terminal;

/// Find text on a session's terminal and in its history
///
/// Prints line, column and the line's text; line 1 is the first of the screen, those before it are
/// history. Exit code 3 when nothing is found.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// What to look for
    pattern: String,
    /// Take the pattern for a regular expression
    #[arg(short = 'E', long)]
    regex: bool,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When the session never had a terminal, its keeper doesn't answer, or the pattern is none.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let session = store.read(id)?.snapshot.session;
    let (matches, is_cut) = search(&store, &session, (&args.pattern, args.regex))?;
    for found in &matches {
        if args.json {
            context.output.json(found)?;
        } else {
            let line = format!("{}:{}: {}", found.line, found.column, found.text);
            context.output.line(&terminal::line(&line, usize::MAX))?;
        }
    }
    if is_cut {
        say("there is more; these are the first");
    }
    Ok(if matches.is_empty() { Exit::NothingMatched } else { Exit::Done })
}

type Matches = (Vec<creel_api::terminal::Match>, bool);

fn search(store: &Store, session: &Session, what: (&str, bool)) -> Result<Matches, Report> {
    let id = session.id;
    let Some(run) = session.current_run() else { return Err(no_terminal(session)) };
    if session.live_run().is_some() {
        let asked = Client::recall(id, run, ANSWER_WITHIN)
            .and_then(|mut client| client.search(what, ANSWER_WITHIN));
        match asked {
            Err(ClientError::NotRunning { .. }) => {}
            other => return other.map_err(|error| not_attached(id, &error)),
        }
    }
    let last = last_screen(&store.run_dir(id, run.number)).ok_or_else(|| no_terminal(session))?;
    last.screen
        .search(what.0, what.1)
        .map_err(|message| Report::new(Code::Usage, message).next("creel terminal search --help"))
}
