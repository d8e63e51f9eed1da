//! Standard output and standard error: data goes to the one, talk to the other.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::codes::Code;
use crate::report::{Report, chain};
use crate::terminal;

/// Where a verb's data goes.
///
/// A reader that closed its end wants no more: the process ends quietly with success at the first
/// write it doesn't take, as `head` and pagers expect.
#[derive(Debug)]
pub(crate) struct Output {
    out: io::BufWriter<io::Stdout>,
    is_terminal: bool,
}

impl Output {
    /// Takes standard output.
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        let is_terminal = out.is_terminal();
        Self { out: io::BufWriter::new(out), is_terminal }
    }

    /// Tells whether a person reads along.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Report> {
        let written = self.out.write_all(bytes);
        settle(written)
    }

    /// Writes a text of a session: to a terminal made harmless and with a newline at its end, to
    /// anything else as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Report> {
        if !self.is_terminal {
            return self.raw(text.as_bytes());
        }
        let shown = terminal::block(text);
        self.raw(shown.as_bytes())?;
        if shown.ends_with('\n') { Ok(()) } else { self.raw(b"\n") }
    }

    /// Writes a short text of a session with a newline behind it, harmless on a terminal.
    pub(crate) fn value(&mut self, text: &str) -> Result<(), Report> {
        if self.is_terminal { self.line(&terminal::block(text)) } else { self.line(text) }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Report> {
        self.raw(text.as_bytes())?;
        self.raw(b"\n")
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Report> {
        let text =
            serde_json::to_string(value).map_err(|error| Report::of(Code::Internal, &error))?;
        self.json_line(&text)
    }

    /// Writes a line of JSON; for a terminal what would command it is escaped as JSON has it.
    pub(crate) fn json_line(&mut self, json: &str) -> Result<(), Report> {
        if self.is_terminal { self.line(&terminal::json(json)) } else { self.line(json) }
    }

    /// Hands everything on to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), Report> {
        let flushed = self.out.flush();
        settle(flushed)
    }
}

fn settle(result: io::Result<()>) -> Result<(), Report> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let message = format!("standard output takes no more: {}", chain(&error));
            Err(Report::new(Code::OutputFailed, message).next("the same command, to another place"))
        }
    }
}

/// Says something to the person, apart from the data. A closed standard error is no failure.
pub(crate) fn say(text: &str) {
    let line = terminal::block(text);
    // Whoever closed standard error wants no talk.
    let _ = writeln!(io::stderr(), "{line}");
}
