//! Showing the terminal of a run on the person's own, until the person leaves or the run ends.
//!
//! Whatever happens, the person's terminal is left as it was found: when the viewer returns, when
//! it is ended by a signal, when its terminal hangs up, and when it panics. A keeper that is
//! replaced meanwhile is found again.

mod detach_key;
mod own_terminal;

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use creel_api::attach::{Frame, FromViewer, MAX_TEXT_BYTES, ToViewer, take_frame};
use creel_api::terminal::ViewerMode;
use creel_keeper::client::{AttachWish, Attached, Client, ClientError};
use creel_record::{Run, SessionId};
use creel_sys::MAX_WAIT;
use creel_sys::poll::{Interest, Ready, wait_any};
use creel_sys::process::Signal;
use creel_sys::signal::PendingSignals;

use crate::attaching::detach_key::DetachKey;
use crate::attaching::own_terminal::OwnTerminal;
use crate::codes::Code;
use crate::output::say;
use crate::report::{Report, chain};

pub(crate) use own_terminal::own_size;

/// How long a keeper may take to answer, also while it is being replaced.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Lines of history that are printed above the screen, so that the person can scroll back.
const HISTORY_LINES: u32 = 1000;

/// What waits to be shown before more is read from the keeper, in bytes.
const MAX_UNSHOWN_BYTES: usize = 256 * 1024;

/// What waits to be sent before more is read from the person, in bytes.
const MAX_UNSENT_BYTES: usize = 64 * 1024;

/// How a viewing ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The viewer left; the run goes on.
    Detached(String),
    /// The run ended.
    Exited {
        /// The agent's exit code.
        code: Option<i32>,
        /// The signal that killed it.
        signal: Option<i32>,
    },
    /// The run was over when its keeper was looked for again.
    Over,
}

/// Attaches the person's terminal to a run.
///
/// # Errors
/// When there is no terminal on both ends, or the keeper doesn't answer.
pub(crate) fn attach((session, run): (SessionId, &Run), mode: ViewerMode) -> Result<Ended, Report> {
    // Before anything is started or changed: a signal then never finds the terminal raw.
    let signals = [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::WINCH];
    let signals = PendingSignals::block(&signals).map_err(|error| broken(session, &error))?;
    let mut own = OwnTerminal::open()?;
    let mut connection = connect((session, run), mode, &own, HISTORY_LINES)?;
    own.begin().map_err(|error| broken(session, &error))?;
    let mut viewer = Viewer {
        signals,
        own,
        mode,
        detach_key: DetachKey::default(),
        seq: 0,
        unsent: Vec::new(),
        position: None,
        is_redrawing: false,
        ended: None,
    };
    loop {
        match viewer.view(connection) {
            Ok(()) => {}
            Err(error) => return Err(broken(session, &error)),
        }
        if let Some(ended) = viewer.ended.take() {
            return Ok(ended);
        }
        // The keeper is gone; its successor goes on with the same screen.
        match connect((session, run), mode, &viewer.own, 0) {
            Ok(again) => connection = again,
            Err(report) if report.code() == Code::NoTerminal => return Ok(Ended::Over),
            Err(report) => return Err(report),
        }
        viewer.unsent.clear();
        viewer.position = None;
    }
}

fn broken(session: SessionId, error: &std::io::Error) -> Report {
    let message = format!("the terminal can't be shown any more: {error}");
    Report::new(Code::OutputFailed, message).next(format!("creel attach {session}"))
}

fn connect(
    (session, run): (SessionId, &Run),
    mode: ViewerMode,
    own: &OwnTerminal,
    history_lines: u32,
) -> Result<Attached, Report> {
    let size = own.size().filter(|_| mode == ViewerMode::Full);
    let wish = AttachWish { mode, size, history_lines };
    Client::recall(session, run, ANSWER_WITHIN)
        .and_then(|client| client.attach(&wish, ANSWER_WITHIN))
        .map_err(|error| not_attached(session, &error))
}

/// Reports a keeper that doesn't do as it is asked.
pub(crate) fn not_attached(session: SessionId, error: &ClientError) -> Report {
    let next = format!("creel inspect {session}");
    match error {
        ClientError::NotRunning { .. } => {
            let message = format!("session {session} has no live terminal");
            Report::new(Code::NoTerminal, message).next(format!("creel restart {session}"))
        }
        ClientError::Refused { code, message } if code == "no-terminal" => {
            Report::new(Code::NoTerminal, format!("session {session}: {message}"))
                .next(format!("creel peek {session}"))
        }
        ClientError::Refused { code, message } if code == "unsupported-version" => {
            Report::new(Code::UnsupportedVersion, message.clone())
                .next("the same command with the program that started the session")
        }
        ClientError::Refused { message, .. } => {
            Report::new(Code::Usage, message.clone()).next("creel terminal --help")
        }
        error => Report::new(Code::KeeperUnreachable, chain(error)).next(next),
    }
}

/// One viewing, over any number of keepers.
struct Viewer {
    signals: PendingSignals,
    own: OwnTerminal,
    mode: ViewerMode,
    detach_key: DetachKey,
    seq: u64,
    unsent: Vec<u8>,
    /// Position in the agent's output that is shown.
    position: Option<u64>,
    /// True while a redraw is under way or asked for: output before it is of the past.
    is_redrawing: bool,
    ended: Option<Ended>,
}

impl Viewer {
    /// Shows what comes until the connection ends, or the viewing does.
    fn view(&mut self, connection: Attached) -> std::io::Result<()> {
        let Attached { mut stream, mut received, .. } = connection;
        stream.set_nonblocking(true)?;
        self.take_frames(&mut received);
        while self.ended.is_none() {
            let ready = self.wait(&stream)?;
            let at = |place: usize| ready.iter().find(|ready| ready.at == place);
            if at(0).is_some() {
                self.take_signals()?;
            }
            if at(1).is_some_and(|ready| ready.can_read) {
                self.type_on()?;
            }
            if at(2).is_some_and(|ready| ready.can_write) {
                self.own.show()?;
            }
            if at(3).is_some_and(|ready| ready.can_read)
                && !self.read(&mut stream, &mut received)?
            {
                return Ok(());
            }
            if !self.send(&mut stream)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn wait(&self, stream: &UnixStream) -> std::io::Result<Vec<Ready>> {
        let unshown = self.own.unshown_bytes();
        let typed =
            if self.unsent.len() < MAX_UNSENT_BYTES { Interest::Read } else { Interest::End };
        let screen = if unshown > 0 { Interest::Write } else { Interest::End };
        let keeper = match (unshown < MAX_UNSHOWN_BYTES, self.unsent.is_empty()) {
            (true, true) => Interest::Read,
            (true, false) => Interest::Both,
            (false, true) => Interest::End,
            (false, false) => Interest::Write,
        };
        let fds = [
            (self.signals.as_fd(), Interest::Read),
            (self.own.input(), typed),
            (self.own.output(), screen),
            (stream.as_fd(), keeper),
        ];
        wait_any(&fds, MAX_WAIT)
    }

    fn take_signals(&mut self) -> std::io::Result<()> {
        for signal in self.signals.drain()? {
            if signal != Signal::WINCH {
                self.ended = Some(Ended::Detached(format!("signal {}", signal.as_raw())));
            } else if let Some(size) = self.own.size().filter(|_| self.mode == ViewerMode::Full) {
                FromViewer::Resize(size).encode(&mut self.unsent);
            }
        }
        Ok(())
    }

    /// Reads what the person types.
    fn type_on(&mut self) -> std::io::Result<()> {
        let mut keys = [0; 4096];
        let count = match self.own.read(&mut keys) {
            Ok(0) => {
                self.ended = Some(Ended::Detached("your terminal is gone".to_owned()));
                return Ok(());
            }
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => {
                self.ended = Some(Ended::Detached(format!("your terminal is gone: {error}")));
                return Ok(());
            }
        };
        let typed = self.detach_key.look(&keys[..count]);
        if self.mode == ViewerMode::Full {
            for piece in typed.keys.chunks(MAX_TEXT_BYTES) {
                self.seq += 1;
                let bytes = piece.to_vec();
                FromViewer::Input { seq: self.seq, bytes }.encode(&mut self.unsent);
            }
        }
        if typed.is_detached {
            FromViewer::Detach.encode(&mut self.unsent);
            self.ended = Some(Ended::Detached("as asked".to_owned()));
        }
        Ok(())
    }

    /// Reads what the keeper sent; false when it is gone.
    fn read(&mut self, stream: &mut UnixStream, received: &mut Vec<u8>) -> std::io::Result<bool> {
        let mut chunk = [0; 16 * 1024];
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(count) => received.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        self.take_frames(received);
        Ok(true)
    }

    fn take_frames(&mut self, received: &mut Vec<u8>) {
        loop {
            match take_frame(received) {
                Ok(Some(frame)) => self.take(frame),
                Ok(None) => return,
                Err(error) => {
                    let why = format!("the keeper is not understood: {error}");
                    self.ended = Some(Ended::Detached(why));
                    return;
                }
            }
        }
    }

    fn take(&mut self, frame: ToViewer) {
        match frame {
            ToViewer::Redraw { offset, is_first, is_last, bytes, size } => {
                if is_first {
                    self.own.resize(size);
                }
                self.own.add(&bytes);
                self.position = Some(offset);
                self.is_redrawing = !is_last;
            }
            ToViewer::Output { offset, end, bytes } => {
                if self.position == Some(offset) && !self.is_redrawing {
                    self.own.add(&bytes);
                    self.position = Some(end);
                } else if !self.is_redrawing {
                    // Never shown with a hole: the whole screen is.
                    self.is_redrawing = true;
                    FromViewer::Redraw.encode(&mut self.unsent);
                }
            }
            ToViewer::Size(size) => self.own.resize(size),
            ToViewer::Exit { code, signal } => self.ended = Some(Ended::Exited { code, signal }),
            ToViewer::Detached(why) => self.ended = Some(Ended::Detached(why)),
            ToViewer::Notice(text) => self.own.farewell(&text),
            ToViewer::Ack { .. } | ToViewer::Unknown(_) => {}
        }
    }

    /// Sends as much as the keeper takes; false when it is gone.
    fn send(&mut self, stream: &mut UnixStream) -> std::io::Result<bool> {
        while !self.unsent.is_empty() {
            match stream.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
                    ) =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

fn is_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Tells the person how a viewing ended.
pub(crate) fn tell(session: SessionId, ended: &Ended) {
    match ended {
        Ended::Detached(why) => {
            say(&format!("Detached ({why}); the session runs on.\nNext: creel attach {session}"));
        }
        Ended::Exited { code, signal } => {
            let how = match (code, signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "unknown".to_owned(),
            };
            say(&format!("The run ended ({how}).\nNext: creel restart {session}"));
        }
        Ended::Over => say(&format!("The run ended.\nNext: creel inspect {session}")),
    }
}
