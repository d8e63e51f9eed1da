//! From inherited descriptors to a running keeper.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use creel_api::attach::ATTACH_VERSION;
use creel_api::keeper::{Hello, KEEPER_VERSION, Phase, socket_name};
use creel_api::plan::TerminalPlan;
use creel_record::{EndReason, RunId, SessionId};
use creel_spool::Store;
use creel_sys::Deadline;
use creel_sys::boot::boot_id;
use creel_sys::fs::Fs;
use creel_sys::os_fs::OsFs;
use creel_sys::poll::wait_readable;
use creel_sys::runtime_dir::RuntimeDir;
use thiserror::Error;

use super::Keeper;
use super::bell::{Bell, bell};
use super::disk::{Disk, earlier_tail};
use super::pump::{Counts, MAX_TAIL_BYTES, Pump, StopPump};
use super::queue::{Queue, Stream};
use super::recorder::Recorder;
use super::return_dir::ReturnDir;
use super::scan::Scanner;
use super::server::Server;
use super::terminal::{self, Parts, TerminalHandle};
use crate::control::{Ask, HOLDER_VERSION, MAX_STATE_BYTES, State};
use crate::inherited;
use crate::lines::{Filled, Lines};
use crate::order::Order;
use crate::progress::{Left, Progress};
use crate::screen::restore::{Planned, Restored, restore};

/// How long a holder may take to say how it stands: it does so right after the start.
const STATE_WITHIN: Duration = Duration::from_secs(30);

/// Starts a keeper; none when this process was not started by a holder.
pub(super) fn start() -> io::Result<Option<Keeper>> {
    let Ok(order_fd) = inherited::take(inherited::ORDER) else { return Ok(None) };
    let Ok(control) = inherited::take(inherited::CONTROL) else { return Ok(None) };
    let lease = inherited::take(inherited::LEASE)?;
    let listener = UnixListener::from(inherited::take(inherited::LISTENER)?);
    let order = Order::read(&order_fd)?;
    let source = Source::inherited(&order)?;
    let run_id: RunId = order.run_id().parse().map_err(io::Error::other)?;
    let session_id: SessionId = order.session_id().parse().map_err(io::Error::other)?;

    let mut control = UnixStream::from(control);
    let mut lines = Lines::new(MAX_STATE_BYTES);
    let state = first_state(&mut control, &mut lines)?;
    if state.version > HOLDER_VERSION {
        let (theirs, ours) = (state.version, HOLDER_VERSION);
        return Err(io::Error::other(format!(
            "the holder speaks version {theirs} of its protocol, this keeper {ours}"
        )));
    }

    let (bell, hearing) = bell()?;
    let queue = Queue::default();
    let fs: Arc<dyn Fs> = Arc::new(OsFs);
    let left = source.left()?;
    let (disk, offset) = Disk::open(&fs, &order, (queue.clone(), bell.clone()), left);
    let counts = Arc::new(Counts::default());
    counts.reach(offset);
    let streams =
        Streams { fs, queue: queue.clone(), counts: Arc::clone(&counts), bell: bell.clone() };
    let (pump, terminal) = match source {
        Source::Pipes(pipes) => (Some(streams.pump(&order, pipes, offset)?), None),
        Source::Terminal { master, progress, plan } => {
            let restored = streams.restore(&order, &plan, (left, offset));
            (None, Some(streams.terminal(&order, (master, progress, plan), restored)?))
        }
    };
    disk.start()?;
    let hello = Hello {
        version: KEEPER_VERSION,
        session_id: order.session_id().to_owned(),
        run_id: order.run_id().to_owned(),
        run_number: order.run_number,
        attach_version: terminal.is_some().then_some(ATTACH_VERSION),
    };
    let (recorder, leaving) =
        Recorder::start(&order, (session_id, run_id), (order_fd, lease), bell.clone())?;
    control.write_all(&Ask::Here.encode())?;
    Ok(Some(Keeper {
        recorder,
        leaving,
        server: Server::new(listener, &hello)?,
        return_dir: order.plan.watch.return_dir.clone().map(ReturnDir::new),
        order,
        session_id,
        run_id,
        control: Some(control),
        lines,
        state,
        hearing,
        bell,
        queue,
        counts,
        pump,
        terminal,
        is_terminal_done: false,
        is_followed: false,
        phase: Phase::Running,
        return_due: None,
        phase_due: None,
        unproven_until: None,
        provider_error: None,
        disk_error: None,
        record_error: None,
        survivors: Vec::new(),
        tail: None,
        leave: None,
    }))
}

/// Where the agent's output comes from.
enum Source {
    Pipes(Vec<(Stream, File)>),
    Terminal { master: OwnedFd, progress: Progress, plan: TerminalPlan },
}

impl Source {
    fn inherited(order: &Order) -> io::Result<Self> {
        let Some(plan) = order.plan.terminal.clone() else {
            let stdout = Pump::pipe(Stream::Stdout, inherited::take(inherited::STDOUT)?)?;
            let stderr = Pump::pipe(Stream::Stderr, inherited::take(inherited::STDERR)?)?;
            return Ok(Self::Pipes(vec![stdout, stderr]));
        };
        let master = inherited::take(inherited::TERMINAL)?;
        let progress = Progress::inherited(inherited::take(inherited::PROGRESS)?);
        Ok(Self::Terminal { master, progress, plan })
    }

    fn left(&self) -> io::Result<Option<Left>> {
        match self {
            Self::Pipes(_) => Ok(None),
            Self::Terminal { progress, .. } => progress.read().map(Some),
        }
    }
}

/// What reading the agent takes.
struct Streams {
    fs: Arc<dyn Fs>,
    queue: Queue,
    counts: Arc<Counts>,
    bell: Bell,
}

impl Streams {
    fn pump(self, order: &Order, pipes: Vec<(Stream, File)>, offset: u64) -> io::Result<StopPump> {
        let max_bytes = MAX_TAIL_BYTES as u64;
        let tail = if offset > 0 { earlier_tail(&order.run_dir, max_bytes) } else { Vec::new() };
        let Self { queue, counts, bell, .. } = self;
        let scanner = Scanner::new(&order.plan.watch);
        Pump { pipes, scanner, queue, counts, bell, tail }.start()
    }

    /// Makes the screen again that the keeper before had.
    fn restore(
        &self,
        order: &Order,
        plan: &TerminalPlan,
        (left, offset): (Option<Left>, u64),
    ) -> Restored {
        let history = (plan.history_lines, plan.history_bytes);
        let planned = Planned { size: plan.size, history };
        let mut restored = restore(self.fs.as_ref(), &order.run_dir, planned);
        match left {
            Some(Left::Unknown) => {
                restored.doubt("a keeper died with output in its hands".to_owned());
            }
            Some(Left::At(at)) if restored.offset < at && order.plan.watch.output_bytes > 0 => {
                let lost = at - restored.offset;
                restored.doubt(format!("{lost} bytes of output before byte {at} are lost"));
            }
            _ => {}
        }
        if order.plan.watch.output_bytes == 0 && !matches!(left, None | Some(Left::Fresh)) {
            restored.doubt(
                "its keeper was replaced while no output is kept; the agent was asked to draw \
                 anew"
                    .to_owned(),
            );
        }
        restored.offset = restored.offset.max(offset);
        restored
    }

    fn terminal(
        self,
        order: &Order,
        (master, progress, plan): (OwnedFd, Progress, TerminalPlan),
        restored: Restored,
    ) -> io::Result<TerminalHandle> {
        let keeps_output = order.plan.watch.output_bytes > 0;
        let must_repaint = !keeps_output && restored.doubt.is_some();
        let Self { queue, counts, bell, .. } = self;
        let parts = Parts { master, progress, plan, restored, queue, counts, bell, keeps_output };
        let handle = terminal::start(parts)?;
        if must_repaint {
            handle.ask(terminal::TerminalAsk::Repaint);
        }
        Ok(handle)
    }
}

fn first_state(control: &mut UnixStream, lines: &mut Lines) -> io::Result<State> {
    let deadline = Deadline::after(STATE_WITHIN);
    loop {
        if wait_readable(&[control.as_fd()], deadline.remaining())?.is_empty() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut newest = None;
        let filled = lines.fill(control, |line| newest = Some(serde_json::from_slice(line)));
        match newest {
            Some(state) => return Ok(state?),
            None if filled == Filled::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
            None => {}
        }
    }
}

/// What the record says of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) end_requested: Option<EndReason>,
    pub(super) is_returned: bool,
}

/// Why the record can't be looked at.
#[derive(Debug, Error)]
pub(super) enum LookError {
    #[error("can't tell the boot")]
    Boot(#[source] io::Error),
    #[error(transparent)]
    Open(#[from] creel_spool::OpenError),
    #[error(transparent)]
    Read(#[from] creel_spool::ReadError),
}

/// Reads what the record says of the run.
pub(super) fn look(order: &Order, ids: (SessionId, RunId)) -> Result<Seen, LookError> {
    let boot_id = boot_id().map_err(LookError::Boot)?;
    let store = Store::open(&order.plan.record.orb_root, Arc::new(OsFs), &boot_id)?;
    let session = store.read(ids.0)?.snapshot.session;
    let run = session.run(ids.1);
    Ok(Seen {
        end_requested: run.and_then(|run| run.end_requested),
        is_returned: run.is_some_and(creel_record::Run::is_returned),
    })
}

/// Removes the run's socket.
pub(super) fn remove_socket(run_id: &str) -> io::Result<()> {
    let path = RuntimeDir::open()
        .and_then(|dir| dir.socket_path(&socket_name(run_id)))
        .map_err(io::Error::other)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
