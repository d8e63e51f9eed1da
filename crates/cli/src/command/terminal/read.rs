//! `creel terminal read`.

use creel_api::plan::TerminalSize;
use creel_api::terminal::{ScreenFormat, ScreenView};
use creel_keeper::client::Client;
use creel_keeper::screen::restore::last_screen;
use creel_record::Session;
use creel_spool::Store;

use crate::attaching::not_attached;
use crate::codes::Code;
use crate::command::terminal::ANSWER_WITHIN;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;

/// Print the screen of a session's terminal; of one that ended, the last one
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// Print text without colours; the default
    #[arg(long, conflicts_with = "ansi")]
    text: bool,
    /// Print colours and styles too
    #[arg(long)]
    ansi: bool,
    /// Print so many lines of history above the screen
    #[arg(long, value_name = "LINES", default_value_t = 0)]
    history: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When the session never had a terminal, or its keeper doesn't answer.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let session = store.read(id)?.snapshot.session;
    let format = if args.ansi { ScreenFormat::Ansi } else { ScreenFormat::Text };
    let read = read(&store, &session, (format, args.history))?;
    if let Some(doubt) = &read.doubt {
        say(&format!("The screen may not be what the agent drew: {doubt}"));
    }
    let text = String::from_utf8_lossy(&read.bytes);
    if args.json {
        context.output.json(&ScreenView {
            session_id: id.to_string(),
            run_number: read.run_number,
            is_live: read.is_live,
            size: read.size,
            doubt: read.doubt,
            screen: text.into_owned(),
        })?;
    } else if args.ansi {
        // Made by the emulator: colours, styles and links, and nothing else that commands.
        context.output.raw(text.trim_end_matches('\n').as_bytes())?;
        context.output.raw(b"\x1b[0m\n")?;
    } else {
        let shown = text.trim_end_matches('\n');
        context.output.text(&format!("{shown}\n"))?;
    }
    Ok(Exit::Done)
}

struct Read {
    bytes: Vec<u8>,
    size: TerminalSize,
    doubt: Option<String>,
    run_number: u64,
    is_live: bool,
}

fn read(store: &Store, session: &Session, wish: (ScreenFormat, u32)) -> Result<Read, Report> {
    let id = session.id;
    let Some(run) = session.current_run() else { return Err(no_terminal(session)) };
    if session.live_run().is_some() {
        let asked = Client::recall(id, run, ANSWER_WITHIN)
            .and_then(|mut client| client.screen(wish, ANSWER_WITHIN));
        match asked {
            Ok(found) => {
                let (bytes, size, doubt) = (found.bytes, found.size, found.doubt);
                return Ok(Read { bytes, size, doubt, run_number: run.number, is_live: true });
            }
            // It ended a moment ago, or with the machine.
            Err(creel_keeper::client::ClientError::NotRunning { .. }) => {}
            Err(error) => return Err(not_attached(id, &error)),
        }
    }
    let last = last_screen(&store.run_dir(id, run.number)).ok_or_else(|| no_terminal(session))?;
    Ok(Read {
        bytes: last.screen.read(wish.0, wish.1),
        size: last.screen.size(),
        doubt: last.doubt,
        run_number: run.number,
        is_live: false,
    })
}

pub(super) fn no_terminal(session: &Session) -> Report {
    let message = format!("the newest run of session {} left no screen", session.id);
    Report::new(Code::NoTerminal, message).next(format!("creel peek {}", session.id))
}
