//! What the first thread asks of the terminal, and what viewers send.

use std::io::Write;
use std::time::Duration;

use creel_api::attach::{ATTACH_VERSION, FromViewer, Stage, ToViewer};
use creel_api::keeper::{Reply, encode_line};
use creel_api::plan::TerminalSize;
use creel_api::terminal::{MAX_VIEWERS, ScreenFormat, ViewerMode};
use creel_sys::Deadline;
use creel_sys::exit::Exit;
use creel_sys::poll::Ready;
use creel_sys::pty;

use super::viewer::{Newcomer, Viewer};
use super::{Ending, LAST_WORDS_WITHIN, Terminal};
use crate::keep::bell::Note;
use crate::say::say;

/// How long the last writes before a handover may take.
const HANDOVER_WITHIN: Duration = Duration::from_secs(5);

/// What is asked.
#[derive(Debug)]
pub(in crate::keep) enum TerminalAsk {
    /// Somebody wants to see or to type.
    Attach(Newcomer),
    /// The screen, for a client of the socket.
    Screen { by: u64, format: ScreenFormat, history_lines: u32 },
    /// A search, for a client of the socket.
    Search { by: u64, pattern: String, is_regex: bool },
    /// A size by name.
    Resize { by: u64, size: TerminalSize },
    /// Every viewer is to leave.
    DetachAll { by: u64 },
    /// The agent shall draw its screen anew.
    Repaint,
    /// This keeper is about to leave: everything is to be on disk.
    Handover,
    /// Every process of the agent is dead.
    Finish { exit: Option<Exit> },
}

impl Terminal {
    pub(super) fn take_asks(&mut self) {
        use std::io::Read;
        let mut bytes = [0; 64];
        while self.wake.read(&mut bytes).is_ok_and(|count| count == bytes.len()) {}
        while let Ok(ask) = self.asks.try_recv() {
            self.take_ask(ask);
        }
    }

    fn take_ask(&mut self, ask: TerminalAsk) {
        match ask {
            TerminalAsk::Attach(newcomer) => self.attach(newcomer),
            TerminalAsk::Screen { by, format, history_lines } => {
                let text = self.screen.read(format, history_lines);
                let (len_bytes, size) = (text.len() as u64, self.sizes.current());
                let reply = Reply::Screen { len_bytes, size, doubt: self.doubt.clone() };
                self.answer(by, reply, text);
            }
            TerminalAsk::Search { by, pattern, is_regex } => {
                let reply = match self.screen.search(&pattern, is_regex) {
                    Ok((matches, is_cut)) => Reply::Found { matches, is_cut },
                    Err(message) => Reply::Error { code: "bad-pattern".to_owned(), message },
                };
                self.answer(by, reply, Vec::new());
            }
            TerminalAsk::Resize { by, size } => {
                self.sizes.request(size);
                self.apply_size();
                self.answer(by, Reply::Accepted, Vec::new());
            }
            TerminalAsk::DetachAll { by } => {
                let seeing = self.viewers.iter_mut().filter(|v| v.mode != ViewerMode::Send);
                let mut viewer_count = 0;
                for viewer in seeing {
                    viewer.leave("somebody detached all viewers");
                    viewer_count += 1;
                }
                self.answer(by, Reply::Detached { viewer_count }, Vec::new());
            }
            TerminalAsk::Repaint => self.repaint(),
            TerminalAsk::Handover => {
                self.save();
                self.queue.wait_empty(HANDOVER_WITHIN);
                self.bell.ring(Note::HandoverReady);
            }
            TerminalAsk::Finish { exit } => {
                let until = Deadline::after(LAST_WORDS_WITHIN);
                self.end.get_or_insert(Ending { exit, is_drained: false, until });
            }
        }
    }

    fn answer(&self, by: u64, reply: Reply, body: Vec<u8>) {
        self.bell.ring(Note::Answer { by, reply: Box::new(reply), body });
    }

    fn attach(&mut self, newcomer: Newcomer) {
        if self.viewers.len() >= MAX_VIEWERS {
            let message = format!("{MAX_VIEWERS} viewers are attached already");
            let code = "too-many-viewers".to_owned();
            let mut stream = newcomer.stream;
            // A peer that doesn't take one line of a fresh connection is gone.
            let _ = encode_line(&Reply::Error { code, message }).map(|line| stream.write(&line));
            return;
        }
        let id = self.next_viewer;
        self.next_viewer += 1;
        if newcomer.mode == ViewerMode::Full
            && let Some(size) = newcomer.size
        {
            self.sizes.say(id, size);
            self.apply_size();
        }
        let size = self.sizes.current();
        let reply = Reply::Attached { version: ATTACH_VERSION, viewer: id, size };
        match encode_line(&reply) {
            Ok(line) => self.viewers.push(Viewer::new(id, newcomer, line)),
            Err(error) => say!("creel keep: can't answer a viewer: {error}"),
        }
    }

    pub(super) fn hear_viewers(&mut self, ready: &[Ready]) {
        // Those that came since the wait stand behind the ones that were waited for.
        let readable: Vec<u64> = ready
            .iter()
            .filter(|ready| ready.can_read)
            .filter_map(|ready| Some(self.viewers.get(ready.at.checked_sub(2)?)?.id))
            .collect();
        for id in readable {
            let Some(viewer) = self.viewers.iter_mut().find(|viewer| viewer.id == id) else {
                continue;
            };
            for frame in viewer.hear() {
                self.take_frame(id, frame);
            }
        }
    }

    fn take_frame(&mut self, id: u64, frame: FromViewer) {
        let Some(viewer) = self.viewers.iter_mut().find(|viewer| viewer.id == id) else { return };
        let mode = viewer.mode;
        match frame {
            FromViewer::Input { seq, bytes } if mode != ViewerMode::ReadOnly => {
                viewer.acknowledge(seq, Stage::Accepted);
                self.keys.add((id, seq), bytes, mode == ViewerMode::Send);
                if mode == ViewerMode::Full {
                    self.sizes.act(id);
                    self.apply_size();
                }
            }
            FromViewer::Resize(size) if mode == ViewerMode::Full => {
                self.sizes.say(id, size);
                self.apply_size();
            }
            FromViewer::Detach => viewer.leave("as asked"),
            FromViewer::Redraw => viewer.redraw(),
            // What a viewer may not do, or a newer one can, changes nothing.
            FromViewer::Input { .. } | FromViewer::Resize(_) | FromViewer::Unknown(_) => {}
        }
    }

    /// Makes the terminal as large as the policy says.
    pub(super) fn apply_size(&mut self) {
        let size = self.sizes.current();
        if self.screen.size() == size {
            return;
        }
        self.set_size(size);
        self.screen.resize(size);
        self.mark();
        for viewer in &mut self.viewers {
            viewer.say(&ToViewer::Size(size));
            // Terminals lay text out anew in ways of their own.
            viewer.redraw();
        }
        self.saving.output(0);
    }

    fn set_size(&self, size: TerminalSize) {
        let wanted = pty::Size { columns: size.columns, lines: size.lines };
        if let Err(error) = pty::resize(&self.master, wanted) {
            say!("creel keep: can't resize the terminal: {error}");
        }
    }

    /// Has the agent draw everything anew: programs do when they learn of a new size.
    fn repaint(&self) {
        let size = self.sizes.current();
        let lines = if size.lines > 1 { size.lines - 1 } else { size.lines + 1 };
        self.set_size(TerminalSize { lines, ..size });
        self.set_size(size);
    }
}
