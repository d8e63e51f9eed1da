//! `creel terminal send`.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use creel_api::attach::{Frame, FromViewer, MAX_TEXT_BYTES, Stage, ToViewer, take_frame};
use creel_api::terminal::{SendView, ViewerMode};
use creel_keeper::client::{AttachWish, Attached, Client};
use creel_record::SessionId;
use creel_sys::Deadline;
use creel_sys::poll::{Interest, wait_any};

use crate::attaching::not_attached;
use crate::codes::Code;
use crate::command::attach::live_run;
use crate::command::terminal::ANSWER_WITHIN;
use crate::context::Context;
use crate::ending::permitted;
use crate::exit::Exit;
use crate::kinship::Act;
use crate::report::{Report, chain};
use crate::text::TextArguments;

/// Type text on a session's terminal, and wait until it is proven how far it came
///
/// `accepted`: the keeper has it. `written`: all of it is in the agent's terminal. `echoed`: the
/// screen shows its text once more than before.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    #[command(flatten)]
    text: TextArguments,
    /// Press Enter behind the text
    #[arg(short, long)]
    enter: bool,
    /// Send the text as pasted, so that its lines are not taken for commands
    #[arg(long)]
    paste: bool,
    /// Wait for this stage
    #[arg(long, value_name = "STAGE", default_value = "written",
          value_parser = ["accepted", "written", "echoed"])]
    until: String,
    /// Stop waiting after so many seconds; what was sent stays sent
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    timeout: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When the session has no live terminal, the caller may not type for it, or the stage was not
/// reached in time.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let text = args.text.read()?.unwrap_or_default();
    if text.is_empty() && !args.enter {
        let message = "there is nothing to send: no text and no --enter";
        return Err(Report::new(Code::Usage, message).next("creel terminal send --help"));
    }
    let (store, id) = context.session(&args.id)?;
    let session = store.read(id)?.snapshot.session;
    let run = live_run(&session)?;
    permitted(context, &store, (&session, Act::Type))?;
    let wish = AttachWish { mode: ViewerMode::Send, size: None, history_lines: 0 };
    let attached = Client::recall(id, run, ANSWER_WITHIN)
        .and_then(|client| client.attach(&wish, ANSWER_WITHIN))
        .map_err(|error| not_attached(id, &error))?;
    let wanted = Stage::ALL.into_iter().find(|stage| stage.as_str() == args.until);
    let wanted = wanted.unwrap_or(Stage::Written);
    let deadline = Deadline::after(Duration::from_secs(args.timeout));
    let inputs = inputs(&text, args);
    let mut sending = Sending::new(attached, &inputs);
    let reached = sending.until(wanted, deadline).map_err(|error| {
        Report::new(Code::KeeperUnreachable, chain(&error)).next(format!("creel inspect {id}"))
    })?;
    let is_done = reached.is_some_and(|reached| reached >= wanted);
    if args.json {
        context.output.json(&SendView {
            session_id: id.to_string(),
            stage: reached.map(|stage| stage.as_str().to_owned()),
            is_done,
        })?;
    }
    if is_done { Ok(Exit::Done) } else { Err(not_in_time(id, reached, wanted)) }
}

fn not_in_time(id: SessionId, reached: Option<Stage>, wanted: Stage) -> Report {
    let reached = reached.map_or("not even accepted", Stage::as_str);
    let message = format!(
        "what was typed for session {id} is {reached}, not {} in time; it stays sent",
        wanted.as_str()
    );
    Report::new(Code::StillPending, message).next(format!("creel terminal read {id}"))
}

/// Returns what to send; the text first, since it alone can be echoed.
fn inputs(text: &str, args: &Args) -> Vec<Vec<u8>> {
    // What Enter sends is a carriage return.
    let keys = text.replace("\r\n", "\r").replace('\n', "\r");
    let keys = if args.paste { format!("\x1b[200~{keys}\x1b[201~") } else { keys };
    let mut inputs: Vec<Vec<u8>> =
        keys.as_bytes().chunks(MAX_TEXT_BYTES).map(<[u8]>::to_vec).collect();
    if args.enter {
        inputs.push(b"\r".to_vec());
    }
    inputs
}

/// Inputs on their way.
struct Sending {
    attached: Attached,
    unsent: Vec<u8>,
    /// How far each input is.
    stages: Vec<Option<Stage>>,
    /// Inputs that can be echoed.
    text_count: usize,
}

impl Sending {
    fn new(attached: Attached, inputs: &[Vec<u8>]) -> Self {
        let mut unsent = Vec::new();
        for (seq, bytes) in inputs.iter().enumerate() {
            FromViewer::Input { seq: seq as u64, bytes: bytes.clone() }.encode(&mut unsent);
        }
        let is_enter = inputs.last().is_some_and(|last| last == b"\r");
        let text_count = inputs.len() - usize::from(is_enter && inputs.len() > 1);
        Self { attached, unsent, stages: vec![None; inputs.len()], text_count }
    }

    /// Waits until every input is at a stage; returns the earliest at which one is.
    fn until(&mut self, wanted: Stage, deadline: Deadline) -> std::io::Result<Option<Stage>> {
        self.attached.stream.set_nonblocking(true)?;
        while self.reached(wanted) < Some(wanted) {
            self.take_frames()?;
            if self.reached(wanted) >= Some(wanted) || deadline.is_past() {
                break;
            }
            let interest = if self.unsent.is_empty() { Interest::Read } else { Interest::Both };
            let ready =
                wait_any(&[(self.attached.stream.as_fd(), interest)], deadline.remaining())?;
            if ready.iter().any(|ready| ready.can_write) {
                self.send()?;
            }
            if ready.iter().any(|ready| ready.can_read) && !self.receive()? {
                break;
            }
        }
        Ok(self.reached(wanted))
    }

    /// What is written only, as Enter, echoes nothing.
    fn reached(&self, wanted: Stage) -> Option<Stage> {
        let (text, keys) = self.stages.split_at(self.text_count);
        let text = text.iter().copied().min().flatten();
        let keys = keys.iter().copied().min().flatten();
        match (self.stages.len() > self.text_count, wanted) {
            (false, _) => text,
            (true, Stage::Echoed) if keys >= Some(Stage::Written) => text,
            (true, _) => text.min(keys),
        }
    }

    fn send(&mut self) -> std::io::Result<()> {
        match self.attached.stream.write(&self.unsent) {
            Ok(count) => drop(self.unsent.drain(..count)),
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn receive(&mut self) -> std::io::Result<bool> {
        let mut chunk = [0; 4096];
        match self.attached.stream.read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(count) => self.attached.received.extend_from_slice(&chunk[..count]),
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    fn take_frames(&mut self) -> std::io::Result<()> {
        let failed = |error: creel_api::attach::FrameError| std::io::Error::other(error);
        while let Some(frame) = take_frame(&mut self.attached.received).map_err(failed)? {
            let ToViewer::Ack { seq, stage } = frame else { continue };
            let at = usize::try_from(seq).unwrap_or(usize::MAX);
            if let Some(known) = self.stages.get_mut(at) {
                *known = (*known).max(Some(stage));
            }
        }
        Ok(())
    }
}

fn is_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
