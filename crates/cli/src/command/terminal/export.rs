//! `creel terminal export`.

use creel_keeper::output::Piece;
use creel_keeper::output_dir;
use creel_keeper::screen::marks::Mark;
use creel_keeper::screen::restore::times;
use serde_json::json;

use crate::codes::Code;
use crate::command::terminal::read::no_terminal;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::{Report, chain};

/// Print a recording of a session's terminal, to be played by asciinema and others
///
/// An asciicast of version 3, from what is kept of the output. Where output is lost, a marker says
/// how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// The run; the newest when left out
    #[arg(long, value_name = "NUMBER")]
    run: Option<u64>,
}

/// Runs the verb.
///
/// # Errors
/// When the run kept no output of a terminal.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    let session = store.read(id)?.snapshot.session;
    let number = args.run.unwrap_or(session.run_count);
    let run = store.run(id, &session, number)?;
    let dir = store.run_dir(id, number);
    let marks = times(&dir);
    let Some(first) = marks.first() else { return Err(no_terminal(&session)) };
    let pieces = creel_keeper::output::since(&output_dir(&dir), 0).map_err(|error| {
        let message = format!("the output of run {number} can't be read: {}", chain(&error));
        Report::new(Code::StoreUnusable, message).next(format!("ls {}", dir.display()))
    })?;
    let mut header = json!({
        "version": 3,
        "term": { "cols": first.size.columns, "rows": first.size.lines, "type": "xterm-256color" },
        "timestamp": run.started.as_millis() / 1000,
        "command": session.target(),
    });
    if let Some(title) = &session.title {
        header["title"] = json!(title);
    }
    context.output.line(&header.to_string())?;
    let mut cast = Cast { last_ms: first.at_ms, partial: Vec::new() };
    let mut reached = 0;
    for piece in &pieces {
        let lost = piece.offset.saturating_sub(reached);
        if lost > 0 || piece.follows_unknown_loss {
            let text = match piece.follows_unknown_loss {
                true => "output is lost here".to_owned(),
                false => format!("{lost} bytes of output are lost here"),
            };
            context.output.line(&json!([0.0, "m", text]).to_string())?;
        }
        for event in cast.events(piece, &marks) {
            context.output.line(&event.to_string())?;
        }
        reached = piece.offset + piece.bytes.len() as u64;
    }
    if let (Some(code), true) = (run.exit_code, run.ended.is_some()) {
        context.output.line(&json!([0.0, "x", code.to_string()]).to_string())?;
    }
    if pieces.is_empty() {
        say("none of the output is kept");
    }
    Ok(Exit::Done)
}

/// A recording in the making.
struct Cast {
    last_ms: u64,
    /// The beginning of a character whose rest comes later.
    partial: Vec<u8>,
}

impl Cast {
    /// Returns the events of a piece of output.
    fn events(&mut self, piece: &Piece, marks: &[Mark]) -> Vec<serde_json::Value> {
        let mut events = Vec::new();
        let end = piece.offset + piece.bytes.len() as u64;
        let first = marks.partition_point(|mark| mark.offset <= piece.offset).saturating_sub(1);
        for (at, mark) in marks.iter().enumerate().skip(first) {
            if mark.offset >= end && mark.offset > piece.offset {
                break;
            }
            let until = marks.get(at + 1).map_or(end, |next| next.offset.min(end));
            let from = mark.offset.max(piece.offset);
            let interval = mark.at_ms.saturating_sub(self.last_ms);
            let mut seconds = std::time::Duration::from_millis(interval).as_secs_f64();
            if at > 0 && marks[at - 1].size != mark.size {
                let size = format!("{}x{}", mark.size.columns, mark.size.lines);
                events.push(json!([seconds, "r", size]));
                seconds = 0.0;
                self.last_ms = mark.at_ms;
            }
            let range = usize::try_from(from - piece.offset).unwrap_or(usize::MAX)
                ..usize::try_from(until.saturating_sub(piece.offset)).unwrap_or(usize::MAX);
            let text = self.text(piece.bytes.get(range).unwrap_or_default());
            if !text.is_empty() {
                events.push(json!([seconds, "o", text]));
                self.last_ms = mark.at_ms;
            }
        }
        events
    }

    /// Returns whole characters.
    fn text(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        if let Err(error) = std::str::from_utf8(&all)
            && error.error_len().is_none()
        {
            self.partial = all.split_off(error.valid_up_to());
        }
        String::from_utf8_lossy(&all).into_owned()
    }
}
