//! Reading the agent's pipes, without ever waiting for a disk for long.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use creel_sys::MAX_WAIT;
use creel_sys::poll::wait_readable;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::bell::{Bell, Note};
use super::queue::{Pushed, Queue, Stream};
use super::scan::{Found, Scanner};
use crate::say::say;

/// The most that is read at once: what a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long a read waits for the chunk before it to be written, so that a keeper that dies loses
/// one chunk at most. A disk that takes longer is slow: reading goes on, up to the queue's bound.
const WRITE_WITHIN: Duration = Duration::from_millis(50);

/// How much is still read once nobody who matters can write any more: what the pipes hold, many
/// times over.
const MAX_LAST_BYTES: usize = 1 << 20;

/// Bytes kept of the end of the output.
pub(super) const MAX_TAIL_BYTES: usize = 16 * 1024;

/// What others see of the reading.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Position in the agent's output.
    pub(super) offset: AtomicU64,
    pub(super) dropped: AtomicU64,
}

impl Counts {
    /// Says how far the output is read.
    pub(super) fn reach(&self, offset: u64) {
        self.offset.store(offset, Ordering::Relaxed);
    }

    /// Says that output was dropped.
    pub(super) fn drop_bytes(&self, len_bytes: u64) {
        self.dropped.fetch_add(len_bytes, Ordering::Relaxed);
    }
}

/// Reads both pipes on a thread of its own.
pub(super) struct Pump {
    pub(super) pipes: Vec<(Stream, File)>,
    pub(super) scanner: Scanner,
    pub(super) queue: Queue,
    pub(super) counts: Arc<Counts>,
    pub(super) bell: Bell,
    /// The end of the output so far.
    pub(super) tail: Vec<u8>,
}

/// Ends the reading of pipes that somebody holds open for no good reason; dropping it does.
#[derive(Debug)]
pub(super) struct StopPump {
    _hold: PipeWriter,
}

impl Pump {
    pub(super) fn pipe(stream: Stream, fd: OwnedFd) -> io::Result<(Stream, File)> {
        fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        Ok((stream, File::from(fd)))
    }

    pub(super) fn start(mut self) -> io::Result<StopPump> {
        let (stop, hold) = io::pipe()?;
        thread::Builder::new().name("pump".to_owned()).spawn(move || {
            if let Err(error) = self.run(&stop) {
                say!("creel keep: can't read the agent's output: {error}");
            }
            for found in self.scanner.finish() {
                self.report(found);
            }
            self.bell.ring(Note::PipesEnded(std::mem::take(&mut self.tail)));
        })?;
        Ok(StopPump { _hold: hold })
    }

    fn run(&mut self, stop: &PipeReader) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut left = usize::MAX;
        while !self.pipes.is_empty() {
            let pipe_count = self.pipes.len();
            let mut fds: Vec<_> = self.pipes.iter().map(|(_, pipe)| pipe.as_fd()).collect();
            let is_last = left != usize::MAX;
            if !is_last {
                fds.push(stop.as_fd());
            }
            let ready = wait_readable(&fds, if is_last { Duration::ZERO } else { MAX_WAIT })?;
            if is_last && (ready.is_empty() || left == 0) {
                return Ok(());
            }
            if !is_last && ready.last() == Some(&pipe_count) {
                left = MAX_LAST_BYTES;
            }
            // From behind, so that the positions before stay right when one is closed.
            for at in ready.into_iter().rev().filter(|at| *at < pipe_count) {
                let count = self.read(at, &mut buffer)?;
                left = if left == usize::MAX { left } else { left.saturating_sub(count) };
            }
        }
        Ok(())
    }

    /// Reads once from a pipe, and forgets it at its end.
    fn read(&mut self, at: usize, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((stream, pipe)) = self.pipes.get_mut(at) else { return Ok(0) };
        let stream = *stream;
        match pipe.read(buffer) {
            Ok(0) => {
                self.pipes.remove(at);
                Ok(0)
            }
            Ok(count) => {
                self.take(stream, &buffer[..count]);
                Ok(count)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let len = bytes.len() as u64;
        let offset = self.counts.offset.fetch_add(len, Ordering::Relaxed);
        match self.queue.push(stream, offset, bytes) {
            Pushed::Queued => {
                self.queue.wait_written(WRITE_WITHIN);
            }
            Pushed::Dropped => {
                self.counts.dropped.fetch_add(len, Ordering::Relaxed);
            }
        }
        self.keep_tail(bytes);
        for found in self.scanner.read(stream, bytes) {
            self.report(found);
        }
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(MAX_TAIL_BYTES)..];
        let excess = (self.tail.len() + new.len()).saturating_sub(MAX_TAIL_BYTES);
        self.tail.drain(..excess);
        self.tail.extend_from_slice(new);
    }

    fn report(&self, found: Found) {
        self.bell.ring(match found {
            Found::Native(id) => Note::Native(id),
            Found::ProviderError(line) => Note::ProviderError(line),
        });
    }
}
