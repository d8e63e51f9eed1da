//! One viewer: what it sent, and what waits for it.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use creel_api::attach::{
    Frame, FromViewer, MAX_FRAME_BYTES, MAX_TEXT_BYTES, Stage, ToViewer, take_frame,
};
use creel_api::plan::TerminalSize;
use creel_api::terminal::{ViewerMode, ViewerStatus};
use creel_sys::poll::Interest;

use super::keys::Keys;
use super::size::Sizes;
use crate::screen::Screen;

/// The most output that waits for a viewer, in bytes. A viewer over it gets the screen anew once it
/// has taken what it was sent, and none of what came in between.
const MAX_QUEUED_BYTES: usize = 1 << 20;

/// A viewer that asks to attach.
#[derive(Debug)]
pub(in crate::keep) struct Newcomer {
    pub(in crate::keep) stream: UnixStream,
    pub(in crate::keep) pid: i32,
    pub(in crate::keep) mode: ViewerMode,
    pub(in crate::keep) size: Option<TerminalSize>,
    pub(in crate::keep) history_lines: u32,
}

/// What waits for a viewer, by what becomes of it when the viewer is too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Dropped: a redraw follows.
    Output,
    /// Kept.
    Word,
    /// Kept, and behind every redraw.
    LastWord,
}

/// Something to send.
#[derive(Debug)]
struct Queued {
    bytes: Vec<u8>,
    kind: Kind,
}

/// A viewer.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) id: u64,
    pub(super) mode: ViewerMode,
    pid: i32,
    stream: UnixStream,
    received: Vec<u8>,
    queue: VecDeque<Queued>,
    /// Bytes of the first that are sent.
    sent: usize,
    queued_bytes: usize,
    /// Lines of history above the redraw that is due.
    redraw_due: Option<u32>,
    redraw_count: u64,
    is_closed: bool,
    is_leaving: bool,
}

impl Viewer {
    /// Takes a newcomer in; `first` is the line that answers it.
    pub(super) fn new(id: u64, from: Newcomer, first: Vec<u8>) -> Self {
        let mut viewer = Self {
            id,
            mode: from.mode,
            pid: from.pid,
            stream: from.stream,
            received: Vec::new(),
            queue: VecDeque::new(),
            sent: 0,
            queued_bytes: 0,
            redraw_due: (from.mode != ViewerMode::Send).then_some(from.history_lines),
            redraw_count: 0,
            is_closed: false,
            is_leaving: false,
        };
        viewer.push(first, Kind::Word);
        viewer
    }

    pub(super) fn interest(&self, keys: &Keys) -> (BorrowedFd<'_>, Interest) {
        let wants_out = !self.queue.is_empty() || self.redraw_due.is_some();
        let interest = match (keys.has_room(self.id), wants_out) {
            (true, false) => Interest::Read,
            (true, true) => Interest::Both,
            // What it sent waits until the agent reads.
            (false, true) => Interest::Write,
            (false, false) => Interest::End,
        };
        (self.stream.as_fd(), interest)
    }

    /// Reads what it sent.
    pub(super) fn hear(&mut self) -> Vec<FromViewer> {
        let mut chunk = [0; 16 * 1024];
        // At most a frame and a chunk is held, so that what the agent doesn't take stays with the
        // viewer.
        if self.received.len() <= MAX_FRAME_BYTES {
            match self.stream.read(&mut chunk) {
                Ok(0) => self.is_closed = true,
                Ok(count) => self.received.extend_from_slice(&chunk[..count]),
                Err(error) => {
                    self.is_closed |=
                        !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
                }
            }
        }
        let mut frames = Vec::new();
        loop {
            match take_frame(&mut self.received) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => {
                    self.leave(&format!("this is not understood: {error}"));
                    break;
                }
            }
        }
        frames
    }

    /// Shows output that lies between two positions.
    pub(super) fn show(&mut self, (begin, end): (u64, u64), bytes: &[u8]) {
        if self.mode == ViewerMode::Send || self.redraw_due.is_some() || self.is_leaving {
            return;
        }
        if self.queued_bytes + bytes.len() > MAX_QUEUED_BYTES {
            self.fall_behind();
            return;
        }
        // Where a text is cut in frames, only the last one reaches the position.
        let mut pieces = bytes.chunks(MAX_TEXT_BYTES).peekable();
        if pieces.peek().is_none() && begin != end {
            let frame = ToViewer::Output { offset: begin, end, bytes: Vec::new() };
            self.frame(&frame, Kind::Output);
        }
        while let Some(piece) = pieces.next() {
            let end = if pieces.peek().is_some() { begin } else { end };
            let frame = ToViewer::Output { offset: begin, end, bytes: piece.to_vec() };
            self.frame(&frame, Kind::Output);
        }
    }

    /// Drops what waits for a viewer that is too slow; the screen follows in its place.
    fn fall_behind(&mut self) {
        let mut at = 0;
        let has_begun = self.sent > 0;
        self.queue.retain(|queued| {
            let stays = queued.kind != Kind::Output || (has_begun && at == 0);
            at += 1;
            stays
        });
        let output = self.queue.iter().filter(|queued| queued.kind == Kind::Output);
        self.queued_bytes = output.map(|queued| queued.bytes.len()).sum();
        self.redraw_due = Some(0);
        self.redraw_count += 1;
    }

    /// Asks for the screen anew.
    pub(super) fn redraw(&mut self) {
        if self.mode != ViewerMode::Send && self.redraw_due.is_none() {
            self.fall_behind();
            self.redraw_count -= 1;
        }
    }

    pub(super) fn acknowledge(&mut self, seq: u64, stage: Stage) {
        self.say(&ToViewer::Ack { seq, stage });
    }

    pub(super) fn say(&mut self, frame: &ToViewer) {
        let is_last = matches!(frame, ToViewer::Exit { .. } | ToViewer::Detached(_));
        self.frame(frame, if is_last { Kind::LastWord } else { Kind::Word });
    }

    /// Detaches the viewer, and tells it why.
    pub(super) fn leave(&mut self, why: &str) {
        if !self.is_leaving {
            self.say(&ToViewer::Detached(why.to_owned()));
            self.is_leaving = true;
        }
    }

    fn frame(&mut self, frame: &ToViewer, kind: Kind) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.push(bytes, kind);
    }

    fn push(&mut self, bytes: Vec<u8>, kind: Kind) {
        if kind == Kind::Output {
            self.queued_bytes += bytes.len();
        }
        self.queue.push_back(Queued { bytes, kind });
    }

    /// Sends as much as it takes; false when it is gone.
    pub(super) fn send(&mut self, at: (u64, TerminalSize), screen: &Screen) -> bool {
        if self.is_closed {
            return false;
        }
        loop {
            if self.queue.iter().all(|queued| queued.kind != Kind::Output)
                && let Some(history_lines) = self.redraw_due.take()
            {
                self.push_redraw(at, &screen.redraw(history_lines));
            }
            let Some(first) = self.queue.front() else { return !self.is_leaving };
            match self.stream.write(&first.bytes[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
            if self.sent < first.bytes.len() {
                continue;
            }
            self.sent = 0;
            if let Some(done) = self.queue.pop_front()
                && done.kind == Kind::Output
            {
                self.queued_bytes -= done.bytes.len();
            }
        }
    }

    fn push_redraw(&mut self, (offset, size): (u64, TerminalSize), redraw: &[u8]) {
        let mut last_words = Vec::new();
        while let Some(last) = self.queue.pop_back_if(|queued| queued.kind == Kind::LastWord) {
            last_words.push(last);
        }
        let mut pieces: Vec<&[u8]> = redraw.chunks(MAX_TEXT_BYTES).collect();
        if pieces.is_empty() {
            pieces.push(&[]);
        }
        let count = pieces.len();
        for (at, piece) in pieces.into_iter().enumerate() {
            let (is_first, is_last) = (at == 0, at + 1 == count);
            let bytes = piece.to_vec();
            // A redraw is no output: it is never dropped, or a slow viewer would see none.
            let frame = ToViewer::Redraw { offset, size, is_first, is_last, bytes };
            self.frame(&frame, Kind::Word);
        }
        self.queue.extend(last_words.into_iter().rev());
    }

    pub(super) fn is_told_all(&self) -> bool {
        self.queue.is_empty() && self.redraw_due.is_none()
    }

    pub(super) fn status(&self, sizes: &Sizes) -> ViewerStatus {
        ViewerStatus {
            id: self.id,
            pid: self.pid,
            mode: self.mode,
            size: sizes.of(self.id),
            redraw_count: self.redraw_count,
        }
    }
}
