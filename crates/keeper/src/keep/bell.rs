//! How the keeper's threads tell the first one what happened, while it polls.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use creel_api::keeper::Reply;
use creel_record::EndReason;
use creel_sys::session::Suspect;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::recorder::Verdict;

/// What happened.
#[derive(Debug)]
pub(super) enum Note {
    /// The agent's output named its own session.
    Native(String),
    /// The agent's output told of a failure of its provider.
    ProviderError(String),
    /// Both pipes are at their end; the last bytes that came.
    PipesEnded(Vec<u8>),
    /// Output and transcript stopped or go on growing.
    Disk(Option<String>),
    /// Everything is written and synced.
    DiskDone,
    /// An event can't be recorded yet, or could be at last.
    Record(Option<String>),
    /// What the record says before the end of the run is written to it.
    Judged(Verdict),
    /// The end of the run is recorded; none when there was nothing to record it in.
    Ended(Option<EndReason>),
    /// What follows the run was started, or there is nothing.
    Followed,
    /// The terminal's answer to a client of the socket, and bytes that follow it.
    Answer { by: u64, reply: Box<Reply>, body: Vec<u8> },
    /// The terminal can't be read any more.
    TerminalFailed,
    /// Every viewer was told of the end, or took too long.
    TerminalDone,
    /// Everything is on disk for the next keeper.
    HandoverReady,
    /// Without a holder: these outlived an attempt to end the tree; none is the proof of its death.
    Orphans(Vec<Suspect>),
}

/// One end for every thread.
#[derive(Clone, Debug)]
pub(super) struct Bell {
    notes: Sender<Note>,
    wake: Arc<PipeWriter>,
}

impl Bell {
    pub(super) fn ring(&self, note: Note) {
        // The other end lives as long as the process.
        let _ = self.notes.send(note);
        // A full pipe wakes as well.
        let _ = (&*self.wake).write(&[0]);
    }
}

/// The end of the thread that polls.
#[derive(Debug)]
pub(super) struct Hearing {
    notes: Receiver<Note>,
    wake: PipeReader,
}

impl Hearing {
    /// Takes what was rung. Never waits.
    pub(super) fn take(&mut self) -> Vec<Note> {
        let mut bytes = [0; 256];
        while self.wake.read(&mut bytes).is_ok_and(|count| count == bytes.len()) {}
        self.notes.try_iter().collect()
    }
}

/// Readable while there are notes.
impl AsFd for Hearing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

pub(super) fn bell() -> io::Result<(Bell, Hearing)> {
    let (reader, writer) = io::pipe()?;
    fcntl_setfl(&reader, fcntl_getfl(&reader)? | OFlags::NONBLOCK)?;
    fcntl_setfl(&writer, fcntl_getfl(&writer)? | OFlags::NONBLOCK)?;
    let (sender, notes) = channel();
    Ok((Bell { notes: sender, wake: Arc::new(writer) }, Hearing { notes, wake: reader }))
}
