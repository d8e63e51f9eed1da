//! What waits to be written to the agent's terminal, in the order it came, and what is proven of
//! each input.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};

use creel_api::attach::Stage;

use super::viewer::Viewer;
use crate::say::say;
use crate::screen::Screen;

/// The most input of one viewer that waits, in bytes. A viewer over it is not read from until the
/// agent has taken something.
pub(super) const MAX_WAITING_BYTES: usize = 64 * 1024;

/// The most that waits of what the terminal answers. A program that asks and never reads is
/// answered no more.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The fewest characters that count as an echo: a single one may be there by chance.
const MIN_ECHO_CHARS: usize = 3;

/// The most characters of an input's end that are looked for on the screen.
const MAX_ECHO_CHARS: usize = 60;

/// The most inputs whose echo is awaited.
const MAX_AWAITED: usize = 64;

/// One input.
#[derive(Debug)]
struct Input {
    /// None for an answer of the terminal's own.
    from: Option<(u64, u64)>,
    bytes: Vec<u8>,
    written: usize,
    wants_echo: bool,
}

/// An input whose echo is looked for.
#[derive(Debug)]
struct Awaited {
    viewer: u64,
    seq: u64,
    text: String,
    count_before: usize,
}

/// What was written at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Something of a viewer.
    pub(super) is_input: bool,
    /// A line was ended by it.
    pub(super) has_line_end: bool,
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Keys {
    inputs: VecDeque<Input>,
    awaited: Vec<Awaited>,
}

impl Keys {
    pub(super) fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    pub(super) fn len_bytes(&self) -> u64 {
        self.inputs.iter().map(|input| (input.bytes.len() - input.written) as u64).sum()
    }

    /// Tells whether a viewer may send more.
    pub(super) fn has_room(&self, viewer: u64) -> bool {
        let of_viewer =
            self.inputs.iter().filter(|input| input.from.is_some_and(|f| f.0 == viewer));
        of_viewer.map(|input| input.bytes.len()).sum::<usize>() < MAX_WAITING_BYTES
    }

    /// Adds what a viewer typed.
    pub(super) fn add(&mut self, (viewer, seq): (u64, u64), bytes: Vec<u8>, wants_echo: bool) {
        self.inputs.push_back(Input { from: Some((viewer, seq)), bytes, written: 0, wants_echo });
    }

    /// Adds what the terminal answers to its program.
    pub(super) fn answer(&mut self, bytes: &[u8]) {
        let waiting: usize =
            self.inputs.iter().filter(|i| i.from.is_none()).map(|i| i.bytes.len()).sum();
        if !bytes.is_empty() && waiting + bytes.len() <= MAX_ANSWER_BYTES {
            let bytes = bytes.to_vec();
            self.inputs.push_back(Input { from: None, bytes, written: 0, wants_echo: false });
        }
    }

    /// Forgets what viewers that left still wanted to know; what they typed is written.
    pub(super) fn forget(&mut self, is_gone: impl Fn(u64) -> bool) {
        self.awaited.retain(|awaited| !is_gone(awaited.viewer));
    }

    /// Writes as much as the agent takes.
    pub(super) fn write(
        &mut self,
        master: &mut File,
        screen: &Screen,
        viewers: &mut [Viewer],
    ) -> Sent {
        let mut sent = Sent::default();
        while let Some(input) = self.inputs.front_mut() {
            if input.written == 0 && input.wants_echo {
                input.wants_echo = false;
                let from = input.from.unwrap_or_default();
                let awaited = awaited(from, &input.bytes, screen);
                self.awaited.extend(awaited.filter(|_| self.awaited.len() < MAX_AWAITED));
            }
            match master.write(&input.bytes[input.written..]) {
                Ok(count) => {
                    let now = &input.bytes[input.written..input.written + count];
                    sent.is_input |= input.from.is_some();
                    sent.has_line_end |= input.from.is_some() && now.contains(&b'\r');
                    input.written += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    // Nobody reads any more; the end of the agent follows.
                    say!("creel keep: can't write to the terminal: {error}");
                    self.inputs.clear();
                    break;
                }
            }
            if input.written < input.bytes.len() {
                continue;
            }
            let from = input.from;
            self.inputs.pop_front();
            if let Some((viewer, seq)) = from {
                acknowledge(viewers, (viewer, seq), Stage::Written);
            }
        }
        sent
    }

    /// Acknowledges inputs whose text the screen shows once more than before.
    pub(super) fn look_for_echoes(&mut self, screen: &Screen, viewers: &mut [Viewer]) {
        if self.awaited.is_empty() {
            return;
        }
        let shown = squeezed(&screen.text());
        self.awaited.retain(|awaited| {
            let is_echoed = shown.matches(&awaited.text).count() > awaited.count_before;
            if is_echoed {
                acknowledge(viewers, (awaited.viewer, awaited.seq), Stage::Echoed);
            }
            !is_echoed
        });
    }
}

fn awaited((viewer, seq): (u64, u64), bytes: &[u8], screen: &Screen) -> Option<Awaited> {
    let text = squeezed(&String::from_utf8_lossy(bytes));
    let skipped = text.chars().count().saturating_sub(MAX_ECHO_CHARS);
    let text: String = text.chars().skip(skipped).collect();
    if text.chars().count() < MIN_ECHO_CHARS {
        return None;
    }
    let count_before = squeezed(&screen.text()).matches(&text).count();
    Some(Awaited { viewer, seq, text, count_before })
}

/// Returns text without anything that a program may lay out anew.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect()
}

fn acknowledge(viewers: &mut [Viewer], (viewer, seq): (u64, u64), stage: Stage) {
    if let Some(viewer) = viewers.iter_mut().find(|found| found.id == viewer) {
        viewer.acknowledge(seq, stage);
    }
}
