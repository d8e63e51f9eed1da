//! `creel events`.

use creel_api::event::EventView;
use creel_record::SessionId;
use creel_record::line::SEQUENCE_DIGITS;
use creel_spool::{EventsFrom, Store, StoredEvent};
use creel_sys::{Deadline, MAX_WAIT};

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;
use crate::waiting::{Waiter, Woken};

/// Characters of an event's data in a line for a person.
const MAX_DATA_CHARS: usize = 160;

/// Print the events of a session, the oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// Go on with what is written from now on, until interrupted
    #[arg(short, long)]
    follow: bool,
    /// Only events after this sequence
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
    after: u64,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such session, its log is damaged, or it can't be watched.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let from = if args.after == 0 { EventsFrom::Start } else { EventsFrom::After(args.after) };
    if !args.follow {
        print(&store, (id, from), args.json, context)?;
        return Ok(Exit::Done);
    }
    // Watched before the first look, so that no event comes unseen.
    let mut waiter = Waiter::new(&store)?;
    let mut from = from;
    loop {
        from = print(&store, (id, from), args.json, context)?;
        context.output.flush()?;
        match waiter.followed(Deadline::after(MAX_WAIT), &[id], &[])? {
            Woken::Changed => {}
            // A reader that closed its end wants no more.
            Woken::Unread => return Ok(Exit::Done),
            Woken::Late => return Ok(Exit::TimedOut),
        }
    }
}

/// Prints what is published, and returns where to go on.
fn print(
    store: &Store,
    (id, from): (SessionId, EventsFrom),
    json: bool,
    context: &mut Context,
) -> Result<EventsFrom, Report> {
    let mut next = from;
    for stored in store.events(id, from)? {
        let stored = match stored {
            Ok(stored) => stored,
            Err(error) => {
                // What is sound comes first, then what is wrong.
                context.output.flush()?;
                return Err(error.into());
            }
        };
        next = EventsFrom::Position(stored.position);
        one(&stored, json, context)?;
    }
    Ok(next)
}

fn one(stored: &StoredEvent, json: bool, context: &mut Context) -> Result<(), Report> {
    let event = &stored.event;
    let internal = |error: serde_json::Error| Report::of(Code::Internal, &error);
    let data = event.fact.to_data().map_err(internal)?;
    if json {
        return context.output.json(&EventView {
            specversion: "1.0".to_owned(),
            id: event.id.to_string(),
            source: event.source.to_string(),
            r#type: event.fact.type_name().to_owned(),
            time: event.time.to_string(),
            subject: event.subject.to_string(),
            sequence: format!("{:0SEQUENCE_DIGITS$}", event.sequence),
            data: serde_json::from_str(data.get()).map_err(internal)?,
        });
    }
    let line = format!(
        "{:>6}  {}  {:<30} {}  {}",
        event.sequence,
        event.time,
        event.fact.type_name(),
        event.source,
        terminal::line(data.get(), MAX_DATA_CHARS)
    );
    context.output.line(&terminal::line(&line, usize::MAX))
}
