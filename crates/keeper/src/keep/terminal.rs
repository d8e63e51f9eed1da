//! The agent's terminal: one thread reads it, feeds the emulated screen, writes the keys of all
//! viewers and what the screen answers, and serves the viewers. It waits for none of them.

mod asks;
mod keys;
mod saving;
mod size;
mod viewer;

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use creel_api::attach::ToViewer;
use creel_api::plan::{TerminalPlan, TerminalSize};
use creel_api::terminal::TerminalStatus;
use creel_sys::boot::boot_time_ms;
use creel_sys::exit::Exit;
use creel_sys::poll::{Interest, Ready, wait_any};
use creel_sys::{Deadline, MAX_WAIT};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::bell::{Bell, Note};
use super::pump::{Counts, MAX_TAIL_BYTES};
use super::queue::{Pushed, Queue, Stream};
use crate::progress::Progress;
use crate::say::say;
use crate::screen::Screen;
use crate::screen::marks::Mark;
use crate::screen::restore::Restored;
use crate::screen::sieve::Sieve;
use keys::Keys;
use saving::Saving;
use size::Sizes;
use viewer::Viewer;

pub(super) use asks::TerminalAsk;
pub(super) use viewer::Newcomer;

/// The most that is read at once: what the kernel keeps of a terminal is less.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long a read waits for the chunk before it to be written, as that of pipes does.
const WRITE_WITHIN: Duration = Duration::from_millis(50);

/// How much is still read once the agent's processes are dead: what a terminal holds, many times.
const MAX_LAST_BYTES: usize = 1 << 20;

/// How long viewers may take to take in the last screen of a run that ended.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// Output that comes within so many milliseconds shares a mark of its time.
const MARK_EVERY_MS: u64 = 10;

/// The first thread's end.
#[derive(Clone, Debug)]
pub(super) struct TerminalHandle {
    asks: Sender<TerminalAsk>,
    wake: Arc<PipeWriter>,
    status: Arc<Mutex<TerminalStatus>>,
}

impl TerminalHandle {
    pub(super) fn ask(&self, ask: TerminalAsk) {
        // The thread lives as long as the process.
        let _ = self.asks.send(ask);
        // A full pipe wakes as well.
        let _ = (&*self.wake).write(&[0]);
    }

    pub(super) fn status(&self) -> TerminalStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a terminal is made of.
pub(super) struct Parts {
    pub(super) master: OwnedFd,
    pub(super) progress: Progress,
    pub(super) plan: TerminalPlan,
    pub(super) restored: Restored,
    pub(super) queue: Queue,
    pub(super) counts: Arc<Counts>,
    pub(super) bell: Bell,
    /// False where nothing of the output may reach the disk.
    pub(super) keeps_output: bool,
}

/// The thread.
struct Terminal {
    master: File,
    /// None once nothing more can come.
    is_open: bool,
    progress: Progress,
    is_settled: bool,
    screen: Screen,
    sieve: Sieve,
    offset: u64,
    tail: Vec<u8>,
    keys: Keys,
    viewers: Vec<Viewer>,
    next_viewer: u64,
    sizes: Sizes,
    saving: Saving,
    plan: TerminalPlan,
    doubt: Option<String>,
    output_at_ms: Option<u64>,
    last_mark: Option<Mark>,
    asks: Receiver<TerminalAsk>,
    wake: PipeReader,
    status: Arc<Mutex<TerminalStatus>>,
    queue: Queue,
    counts: Arc<Counts>,
    bell: Bell,
    end: Option<Ending>,
}

/// A run that ended.
struct Ending {
    exit: Option<Exit>,
    is_drained: bool,
    until: Deadline,
}

/// Starts the thread.
pub(super) fn start(parts: Parts) -> io::Result<TerminalHandle> {
    let Parts { master, progress, plan, restored, queue, counts, bell, keeps_output } = parts;
    fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
    let (wake_end, wake) = io::pipe()?;
    for end in [wake_end.as_fd(), wake.as_fd()] {
        fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
    }
    let (sender, asks) = channel();
    let found = creel_sys::pty::size_of(&master)?;
    let size = TerminalSize::checked(found.columns.into(), found.lines.into())
        .unwrap_or_else(|_| restored.screen.size());
    let sizes = Sizes::new(size);
    let mut terminal = Terminal {
        master: File::from(master),
        is_open: true,
        progress,
        is_settled: true,
        screen: restored.screen,
        sieve: restored.sieve,
        offset: restored.offset,
        tail: Vec::new(),
        keys: Keys::default(),
        viewers: Vec::new(),
        next_viewer: 1,
        saving: Saving::new(keeps_output),
        status: Arc::new(Mutex::new(sizes.first_status())),
        sizes,
        plan,
        doubt: restored.doubt,
        output_at_ms: None,
        last_mark: None,
        asks,
        wake: wake_end,
        queue,
        counts,
        bell,
        end: None,
    };
    if terminal.screen.size() != size {
        terminal.screen.resize(size);
    }
    if terminal.plan.has_first_input {
        terminal.tell_native_id();
    }
    terminal.mark();
    terminal.publish();
    let handle =
        TerminalHandle { asks: sender, wake: Arc::new(wake), status: Arc::clone(&terminal.status) };
    thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        if let Err(error) = terminal.run() {
            say!("creel keep: can't go on with the terminal: {error}");
            // A keeper without its terminal is of no use; the holder starts another one.
            terminal.bell.ring(Note::TerminalFailed);
        }
    })?;
    Ok(handle)
}

impl Terminal {
    fn run(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let ready = self.wait()?;
            let is_woken = ready.iter().any(|ready| ready.at == 0);
            let master = ready.iter().find(|ready| ready.at == 1);
            let can_read = master.is_some_and(|ready| ready.can_read);
            if is_woken {
                self.take_asks();
            }
            self.hear_viewers(&ready);
            self.write_keys();
            if can_read && self.is_open {
                self.read(&mut buffer)?;
            }
            self.settle()?;
            self.feed_viewers();
            self.save_if_due();
            self.publish();
            if self.is_over(&mut buffer)? {
                return Ok(());
            }
        }
    }

    fn wait(&self) -> io::Result<Vec<Ready>> {
        let mut fds = vec![(self.wake.as_fd(), Interest::Read)];
        // A terminal at its end would wake for ever; its place in the list is kept.
        let interest = match (self.is_open, self.keys.is_empty()) {
            (true, true) => Some(Interest::Read),
            (true, false) => Some(Interest::Both),
            (false, _) => None,
        };
        let master = interest.map_or((self.wake.as_fd(), Interest::Read), |interest| {
            (self.master.as_fd(), interest)
        });
        fds.push(master);
        fds.extend(self.viewers.iter().map(|viewer| viewer.interest(&self.keys)));
        let due = [self.saving.due(), self.end.as_ref().map(|end| end.until)];
        let within = due.into_iter().flatten().map(Deadline::remaining).min().unwrap_or(MAX_WAIT);
        wait_any(&fds, within)
    }

    /// Reads once, and passes on what came.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_settled {
            self.progress.begin()?;
            self.is_settled = false;
        }
        match self.master.read(buffer) {
            Ok(0) => {
                self.is_open = false;
                Ok(0)
            }
            Ok(count) => {
                self.take(&buffer[..count]);
                Ok(count)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                // Every slave is closed.
                _ if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                    self.is_open = false;
                    Ok(0)
                }
                _ => Err(error),
            },
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.output_at_ms = Some(boot_time_ms());
        self.mark();
        if let Pushed::Dropped = self.queue.push(Stream::Stdout, self.offset, bytes) {
            self.counts.drop_bytes(bytes.len() as u64);
        }
        let begin = self.offset - self.sieve.pending_bytes();
        self.offset += bytes.len() as u64;
        self.counts.reach(self.offset);
        let passed = self.sieve.pass(bytes);
        let replies = self.screen.feed(&passed.whole);
        self.keys.answer(&replies);
        let end = self.offset - self.sieve.pending_bytes();
        for viewer in &mut self.viewers {
            viewer.show((begin, end), &passed.shown);
        }
        self.keys.look_for_echoes(&self.screen, &mut self.viewers);
        self.saving.output(bytes.len() as u64);
        self.keep_tail(bytes);
        // What waits for the viewers and the agent goes out before the disk is waited for.
        self.write_keys();
        self.feed_viewers();
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(MAX_TAIL_BYTES)..];
        let excess = (self.tail.len() + new.len()).saturating_sub(MAX_TAIL_BYTES);
        self.tail.drain(..excess);
        self.tail.extend_from_slice(new);
    }

    /// Says how far everything is kept, once it is: a slow disk is waited for a moment, so that a
    /// keeper that dies loses one chunk at most.
    fn settle(&mut self) -> io::Result<()> {
        if !self.is_settled && self.queue.wait_written(WRITE_WITHIN) {
            self.progress.settle(self.offset)?;
            self.is_settled = true;
        }
        Ok(())
    }

    /// Writes down the time and size that the next output belongs to.
    fn mark(&mut self) {
        let mark = Mark { offset: self.offset, at_ms: boot_time_ms(), size: self.sizes.current() };
        let is_new = self
            .last_mark
            .is_none_or(|last| last.size != mark.size || mark.at_ms >= last.at_ms + MARK_EVERY_MS);
        if is_new {
            self.queue.mark(mark);
            self.last_mark = Some(mark);
        }
    }

    fn write_keys(&mut self) {
        let sent = self.keys.write(&mut self.master, &self.screen, &mut self.viewers);
        if sent.is_input && self.plan.native_id.is_some() && sent.has_line_end {
            self.tell_native_id();
        }
    }

    /// Tells the harness's own session id once: by now it exists.
    fn tell_native_id(&mut self) {
        if let Some(id) = self.plan.native_id.take() {
            self.bell.ring(Note::Native(id));
        }
    }

    fn feed_viewers(&mut self) {
        let at = self.offset - self.sieve.pending_bytes();
        let before = self.viewers.len();
        let size = self.sizes.current();
        self.viewers.retain_mut(|viewer| viewer.send((at, size), &self.screen));
        if self.viewers.len() != before {
            self.viewers_left();
        }
    }

    fn viewers_left(&mut self) {
        let viewers = &self.viewers;
        self.keys.forget(|id| viewers.iter().all(|viewer| viewer.id != id));
        self.sizes.keep(|id| viewers.iter().any(|viewer| viewer.id == id));
        self.apply_size();
    }

    fn is_over(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(end) = &self.end else { return Ok(false) };
        let (exit, is_drained) = (end.exit, end.is_drained);
        if !is_drained {
            self.drain(buffer)?;
            self.save();
            let (code, signal) = super::ending::code_and_signal(exit);
            for viewer in &mut self.viewers {
                viewer.say(&ToViewer::Exit { code, signal });
            }
            self.feed_viewers();
            self.publish();
            self.bell.ring(Note::PipesEnded(std::mem::take(&mut self.tail)));
            if let Some(end) = &mut self.end {
                end.is_drained = true;
            }
        }
        let is_late = self.end.as_ref().is_some_and(|end| end.until.is_past());
        self.viewers.retain(|viewer| !viewer.is_told_all());
        if self.viewers.is_empty() || is_late {
            self.viewers.clear();
            self.bell.ring(Note::TerminalDone);
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads what is left; nobody who matters writes any more.
    fn drain(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut left = MAX_LAST_BYTES;
        while self.is_open && left > 0 {
            let count = self.read(buffer)?;
            self.settle()?;
            if count == 0 {
                break;
            }
            left = left.saturating_sub(count);
        }
        Ok(())
    }

    fn publish(&self) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.size = self.sizes.current();
        status.size_from = self.sizes.from();
        status.title = self.screen.title().map(str::to_owned);
        status.offset = self.offset;
        status.output_at_ms = self.output_at_ms;
        status.doubt.clone_from(&self.doubt);
        status.waiting_input_bytes = self.keys.len_bytes();
        status.viewers = self.viewers.iter().map(|viewer| viewer.status(&self.sizes)).collect();
    }
}
