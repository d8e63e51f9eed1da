//! The keeper: writes down what comes of a run, and may die at any time.
//!
//! It reads the agent's pipes, writes the output log, the transcript and the run's events, serves
//! the run's socket, and asks the holder to end the agent when the record says so. All that it
//! must not forget is on disk or with the holder, so that the next keeper goes on where it stopped.

mod bell;
mod disk;
mod ending;
mod follow;
mod leaving;
mod orphans;
mod pump;
mod queue;
mod recorder;
mod return_dir;
mod scan;
mod server;
mod setup;
mod terminal;
mod transcript;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use creel_api::attach::ATTACH_VERSION;
use creel_api::keeper::{Phase, Reply, Request, Status, Survivor, survivors_text};
use creel_api::plan::TerminalSize;
use creel_record::{EndReason, RunId, SessionId};
use creel_sys::passing::FdReader;
use creel_sys::poll::{Interest, wait_any};
use creel_sys::process::Signal;
use creel_sys::{Deadline, MAX_WAIT};

use crate::control::{Ask, State, Tree};
use crate::keep::bell::{Bell, Hearing, Note};
use crate::keep::leaving::Leaving;
use crate::keep::pump::{Counts, StopPump};
use crate::keep::queue::Queue;
use crate::keep::recorder::Job;
use crate::keep::return_dir::ReturnDir;
use crate::keep::server::{Asked, Server};
use crate::keep::terminal::{Newcomer, TerminalAsk, TerminalHandle};
use crate::lines::{Filled, Lines};
use crate::order::Order;
use crate::say::say;
use crate::word::chain;

/// Runs `creel keep`. Does nothing but complain unless a holder started it.
pub fn keep() -> ExitCode {
    match setup::start() {
        Ok(Some(keeper)) => keeper.run(),
        Ok(None) => {
            say!("creel keep is started by creel hold only");
            ExitCode::from(2)
        }
        Err(error) => {
            say!("creel keep: can't start: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A running keeper.
struct Keeper {
    order: Order,
    session_id: SessionId,
    run_id: RunId,
    /// None once the holder is dead.
    control: Option<UnixStream>,
    lines: Lines,
    state: State,
    server: Server,
    hearing: Hearing,
    bell: Bell,
    queue: Queue,
    counts: Arc<Counts>,
    /// Dropped to end the reading.
    pump: Option<StopPump>,
    /// The agent's terminal, in the place of the pump.
    terminal: Option<TerminalHandle>,
    is_terminal_done: bool,
    is_followed: bool,
    recorder: Sender<Job>,
    /// Ends the tries to start what follows.
    leaving: Leaving,
    return_dir: Option<ReturnDir>,
    phase: Phase,
    /// When a run that returned, and goes on living, is ended.
    return_due: Option<Deadline>,
    /// When what waits for the current phase is given up.
    phase_due: Option<Deadline>,
    /// Since when nobody but unproven processes are left of a dead holder's run.
    unproven_until: Option<Deadline>,
    provider_error: Option<String>,
    disk_error: Option<String>,
    record_error: Option<String>,
    survivors: Vec<Survivor>,
    tail: Option<Vec<u8>>,
    leave: Option<ExitCode>,
}

impl Keeper {
    fn run(mut self) -> ExitCode {
        self.look_at_record();
        // One that came before the directory was watched.
        self.collect_return();
        loop {
            self.advance();
            if let Some(code) = self.leave.take() {
                return code;
            }
            if let Err(error) = self.wait() {
                // The holder starts another one.
                say!("creel keep: can't wait: {error}");
                return ExitCode::FAILURE;
            }
            self.hear_holder();
            self.take_notes();
            self.collect_return();
            self.serve();
            self.take_due();
        }
    }

    fn wait(&self) -> io::Result<()> {
        let mut own = vec![self.hearing.as_fd()];
        own.extend(self.control.as_ref().map(AsFd::as_fd));
        own.extend(self.return_dir.as_ref().and_then(ReturnDir::fd));
        let mut fds: Vec<_> = own.into_iter().map(|fd| (fd, Interest::Read)).collect();
        fds.extend(self.server.fds());
        let due = [self.return_due, self.phase_due, self.unproven_until];
        let within = due.into_iter().flatten().map(Deadline::remaining).min().unwrap_or(MAX_WAIT);
        wait_any(&fds, within).map(|_| ())
    }

    fn hear_holder(&mut self) {
        let Some(control) = &self.control else { return };
        let mut newest = None;
        let mut reader = FdReader::new(control);
        let filled =
            self.lines.fill(&mut reader, |line| newest = Some(serde_json::from_slice(line)));
        if let Some(listener) = reader.fds.pop() {
            self.server.listen(listener.into());
        }
        match newest {
            Some(Ok(state)) => self.state = state,
            Some(Err(error)) => say!("creel keep: the holder can't be understood: {error}"),
            None => {}
        }
        if self.phase == Phase::Deciding && self.state.is_leaving {
            self.leaving.begin();
        }
        if filled == Filled::Closed {
            self.lose_holder();
        }
    }

    /// Without a holder, nobody is the parent of the agent any more: it is ended.
    fn lose_holder(&mut self) {
        self.control = None;
        if self.state.tree == Tree::Dead {
            return;
        }
        say!("creel keep: the holder died; ending what it held");
        self.state.tree = Tree::Ending { survivors: Vec::new() };
        let grace = Duration::from_millis(self.order.plan.watch.end_grace_ms);
        let ended =
            orphans::end(self.order.session_id(), Some(&self.state), grace, self.bell.clone());
        if let Err(error) = ended {
            say!("creel keep: can't end what the holder held: {error}");
            self.leave = Some(ExitCode::FAILURE);
        }
    }

    fn take_notes(&mut self) {
        for note in self.hearing.take() {
            match note {
                Note::Native(id) => self.record(Job::Native(id)),
                Note::ProviderError(line) => self.provider_error = Some(line),
                Note::PipesEnded(tail) => self.tail = Some(tail),
                Note::Disk(error) => self.disk_error = error,
                Note::Record(error) => self.record_error = error,
                Note::Judged(verdict) => self.judged(verdict),
                Note::DiskDone => self.disk_done(),
                Note::Ended(reason) => self.ended(reason),
                Note::Followed => self.followed(),
                Note::Orphans(survivors) => self.take_orphans(&survivors),
                Note::Answer { by, reply, body } => self.server.reply_with(by, &reply, &body),
                Note::TerminalFailed | Note::HandoverReady => self.leave = Some(ExitCode::FAILURE),
                Note::TerminalDone => self.terminal_done(),
            }
        }
    }

    fn serve(&mut self) {
        for asked in self.server.serve() {
            let by = asked.by;
            let Some(asked) = self.serve_terminal(asked) else { continue };
            let reply = match asked.request {
                Request::Ping => Reply::Pong,
                Request::Status => Reply::Status(Box::new(self.status())),
                Request::Returned => {
                    self.returned();
                    Reply::Accepted
                }
                Request::End { reason } => {
                    self.end_for(reason.parse().ok());
                    Reply::Accepted
                }
                Request::Handover => {
                    self.hand_over();
                    Reply::Accepted
                }
                Request::Attach { .. }
                | Request::Screen { .. }
                | Request::Search { .. }
                | Request::Resize { .. }
                | Request::DetachAll => Reply::Error {
                    code: "no-terminal".to_owned(),
                    message: "the run has no terminal".to_owned(),
                },
                Request::Unknown => Reply::Error {
                    code: "unknown-op".to_owned(),
                    message: "this keeper doesn't know the request".to_owned(),
                },
            };
            self.server.reply(by, &reply);
        }
    }

    /// Hands a request about the terminal to its thread; returns any other.
    fn serve_terminal(&mut self, asked: Asked) -> Option<Asked> {
        let Some(terminal) = &self.terminal else { return Some(asked) };
        let by = asked.by;
        let ask = match asked.request {
            Request::Attach { version, mode, size, history_lines } => {
                if version != ATTACH_VERSION {
                    let message = format!(
                        "this keeper speaks version {ATTACH_VERSION} of the attach protocol, the \
                         client version {version}"
                    );
                    let code = "unsupported-version".to_owned();
                    self.server.reply(by, &Reply::Error { code, message });
                    return None;
                }
                let size = size.filter(|size| {
                    TerminalSize::checked(size.columns.into(), size.lines.into()).is_ok()
                });
                let (stream, pid) = self.server.take(by)?;
                TerminalAsk::Attach(Newcomer { stream, pid, mode, size, history_lines })
            }
            Request::Screen { format, history_lines } => {
                TerminalAsk::Screen { by, format, history_lines }
            }
            Request::Search { pattern, is_regex } => TerminalAsk::Search { by, pattern, is_regex },
            Request::Resize { size } => {
                if let Err(error) = TerminalSize::checked(size.columns.into(), size.lines.into()) {
                    let (code, message) = ("bad-size".to_owned(), error.to_string());
                    self.server.reply(by, &Reply::Error { code, message });
                    return None;
                }
                TerminalAsk::Resize { by, size }
            }
            Request::DetachAll => TerminalAsk::DetachAll { by },
            _ => return Some(asked),
        };
        terminal.ask(ask);
        None
    }

    /// Leaves the run to another keeper, once what was read is kept. While the run ends, the next
    /// keeper would only take the same way.
    fn hand_over(&mut self) {
        if self.phase != Phase::Running {
            return;
        }
        match &self.terminal {
            Some(terminal) => terminal.ask(TerminalAsk::Handover),
            None => self.leave = Some(ExitCode::FAILURE),
        }
    }

    fn status(&self) -> Status {
        let survivors = match &self.state.tree {
            Tree::Ending { survivors } if self.survivors.is_empty() => survivors.clone(),
            _ => self.survivors.clone(),
        };
        let (exit_code, signal) = ending::code_and_signal(self.state.exit);
        Status {
            phase: self.phase,
            agent_pid: self.state.agent.pid,
            exit_code,
            signal,
            keeper_starts: self.state.keeper_starts,
            output_bytes: self.counts.offset.load(Ordering::Relaxed),
            dropped_bytes: self.counts.dropped.load(Ordering::Relaxed),
            disk_error: self.disk_error.clone(),
            record_error: self.record_error.clone(),
            survivors,
            terminal: self.terminal.as_ref().map(TerminalHandle::status),
        }
    }

    /// Acts on what was recorded while no keeper listened.
    fn look_at_record(&mut self) {
        self.record(Job::Spawned(self.spawned()));
        match setup::look(&self.order, (self.session_id, self.run_id)) {
            Ok(seen) if seen.end_requested.is_some() => self.end_for(seen.end_requested),
            Ok(seen) if seen.is_returned => self.returned(),
            Ok(_) => {}
            Err(error) => say!("creel keep: can't look at the record: {}", chain(&error)),
        }
    }

    /// The turn has its return: the agent may go on for a while, and is ended then.
    fn returned(&mut self) {
        if self.phase == Phase::Running && self.return_due.is_none() {
            let grace = Duration::from_millis(self.order.plan.watch.return_grace_ms);
            self.return_due = Some(Deadline::after(grace));
        }
    }

    /// Ends the agent for a recorded reason: what is to be gone at once is killed.
    fn end_for(&mut self, reason: Option<EndReason>) {
        let grace_ms = self.order.plan.watch.end_grace_ms;
        let ask = match reason {
            Some(EndReason::Killed | EndReason::Discarded) => {
                Ask::End { signal: Signal::KILL, grace_ms: 0 }
            }
            _ => Ask::End { signal: Signal::TERM, grace_ms },
        };
        self.ask_holder(ask);
    }

    fn ask_holder(&mut self, ask: Ask) {
        use std::io::Write;
        let Some(control) = &mut self.control else { return };
        // A holder that is gone is noticed when it is heard.
        if let Err(error) = control.write_all(&ask.encode()) {
            say!("creel keep: the holder doesn't listen: {error}");
        }
    }

    fn record(&self, job: Job) {
        // The recorder lives as long as the process.
        if self.recorder.send(job).is_err() {
            say!("creel keep: the recorder is gone");
        }
    }

    fn collect_return(&mut self) {
        let Some(dir) = &mut self.return_dir else { return };
        if let Some((disposition, payload)) = dir.collect() {
            self.return_dir = None;
            self.record(Job::Returned(disposition, payload));
            self.returned();
        }
    }

    fn take_due(&mut self) {
        if self.return_due.is_some_and(Deadline::is_past) {
            self.return_due = None;
            self.end_for(None);
        }
        if self.unproven_until.is_some_and(Deadline::is_past) {
            let survivors = survivors_text(&self.survivors);
            say!("creel keep: left the run unrecorded, since these may belong to it: {survivors}");
            self.leave = Some(ExitCode::FAILURE);
        }
    }
}
