//! Writing output and transcript, on a thread that nothing waits for long.

use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use creel_api::transcript::Content;
use creel_sys::fs::Fs;
use creel_sys::{Deadline, MAX_WAIT};

use super::bell::{Bell, Note};
use super::queue::{Item, Queue, Stream};
use super::transcript::{MAX_RAW_BYTES, Transcript};
use crate::order::{Order, output_dir};
use crate::output::OutputLog;
use crate::progress::Left;
use crate::say::say;
use crate::screen::checkpoint::{self, Checkpoint};
use crate::screen::marks::{Mark, Marks};

/// Pause after a failure before the disk is tried again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Both files of a run.
pub(super) struct Disk {
    queue: Queue,
    bell: Bell,
    output: Part<OutputLog>,
    transcript: Part<Transcript>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Output that did not get into the transcript since the last entry that did.
    lost: Lost,
    is_failing: bool,
    /// False where nobody wants the raw output kept, in the transcript no more than in the log;
    /// and of terminals, whose screens no transcript can show.
    keeps_raw: bool,
    fs: Arc<dyn Fs>,
    run_dir: PathBuf,
    /// Of a run that has a terminal.
    marks: Option<Part<Marks>>,
}

#[derive(Debug, Default)]
struct Lost {
    slow_bytes: u64,
    failed_bytes: u64,
}

/// A file that can fail for a while.
enum Part<T> {
    Good(T),
    Resting { part: Option<T>, until: Deadline, pause: Duration },
}

impl<T> Part<T> {
    fn new(opened: io::Result<T>) -> (Self, Option<io::Error>) {
        match opened {
            Ok(part) => (Self::Good(part), None),
            Err(error) => (
                Self::Resting { part: None, until: Deadline::after(MAX_WAIT), pause: LAST_PAUSE },
                Some(error),
            ),
        }
    }

    fn get(&mut self) -> Option<&mut T> {
        match self {
            Self::Good(part) => Some(part),
            Self::Resting { part, until, .. } if until.is_past() => part.as_mut(),
            Self::Resting { .. } => None,
        }
    }

    fn failed(&mut self) {
        let old = mem::replace(
            self,
            Self::Resting { part: None, until: Deadline::after(FIRST_PAUSE), pause: FIRST_PAUSE },
        );
        *self = match old {
            Self::Good(part) => Self::Resting {
                part: Some(part),
                until: Deadline::after(FIRST_PAUSE),
                pause: FIRST_PAUSE,
            },
            Self::Resting { part, pause, .. } => {
                let pause = (pause * 2).min(LAST_PAUSE);
                Self::Resting { part, until: Deadline::after(pause), pause }
            }
        };
    }

    fn went_well(&mut self) {
        if let Self::Resting { part, .. } = self
            && let Some(part) = part.take()
        {
            *self = Self::Good(part);
        }
    }
}

impl Disk {
    /// Opens both files and writes how this keeper begins. Returns the position behind the last
    /// byte of output that was written.
    ///
    /// `left` is how the keeper before left off, where that is known.
    pub(super) fn open(
        fs: &Arc<dyn Fs>,
        order: &Order,
        (queue, bell): (Queue, Bell),
        left: Option<Left>,
    ) -> (Self, u64) {
        let watch = &order.plan.watch;
        let mut output =
            OutputLog::open(Arc::clone(fs), output_dir(&order.run_dir), watch.output_bytes);
        let mut offset = output.as_ref().map_or(0, OutputLog::end);
        if let (Some(Left::At(at)), Ok(output)) = (left, &mut output) {
            // What is missing up to there is a gap of known length.
            offset = offset.max(at);
            output.go_on();
        }
        let transcript = Transcript::open(
            Arc::clone(fs),
            order.thread_path.clone(),
            watch.transcript_bytes,
            order.run_number,
        );
        let (output, output_error) = Part::new(output);
        let (transcript, transcript_error) = Part::new(transcript);
        let mut disk = Self {
            queue,
            bell,
            output,
            transcript,
            stdout: Vec::new(),
            stderr: Vec::new(),
            lost: Lost::default(),
            is_failing: false,
            keeps_raw: watch.output_bytes > 0 && order.plan.terminal.is_none(),
            fs: Arc::clone(fs),
            run_dir: order.run_dir.clone(),
            marks: None,
        };
        if order.plan.terminal.is_some() && watch.output_bytes > 0 {
            let (marks, error) = Part::new(Marks::open(Arc::clone(fs), &order.run_dir));
            disk.marks = Some(marks);
            if let Some(error) = error {
                disk.say_failed(&error);
            }
        }
        if let Some(error) = output_error.or(transcript_error) {
            disk.say_failed(&error);
        }
        disk.begin(order);
        (disk, offset)
    }

    fn begin(&mut self, order: &Order) {
        let Some(transcript) = self.transcript.get() else { return };
        let is_new = transcript.last().is_none_or(|last| last.run < order.run_number);
        if !is_new {
            self.add(Content::Gap { reason: "keeper-restart".to_owned(), len_bytes: None });
            return;
        }
        let run = &order.plan.run;
        self.add(Content::RunStarted { run_id: run.run_id.clone(), cause: run.cause.clone() });
        let (role, text) = ("user".to_owned(), run.prompt.clone());
        self.add(Content::Message { role, text, is_cut: false });
    }

    /// Writes what the queue brings until the run's last entries are written.
    pub(super) fn start(mut self) -> io::Result<()> {
        thread::Builder::new().name("disk".to_owned()).spawn(move || self.run())?;
        Ok(())
    }

    fn run(&mut self) {
        loop {
            let item = self.queue.pop(Deadline::after(Duration::ZERO)).or_else(|| {
                self.flush();
                self.queue.pop(Deadline::after(MAX_WAIT))
            });
            match item {
                None => {}
                Some(Item::Chunk { stream, offset, bytes }) => {
                    self.write(stream, offset, &bytes);
                    self.queue.written(bytes.len());
                }
                Some(Item::Mark(mark)) => self.mark(mark),
                Some(Item::Checkpoint(checkpoint)) => {
                    self.save(&checkpoint);
                    self.queue.saved();
                }
                Some(Item::Dropped { len_bytes }) => {
                    self.flush_lines();
                    self.lost.slow_bytes += len_bytes;
                }
                Some(Item::Finish(entries)) => {
                    self.finish(entries);
                    return;
                }
            }
        }
    }

    fn write(&mut self, stream: Stream, offset: u64, bytes: &[u8]) {
        if let Some(output) = self.output.get() {
            let written = output.write(offset, bytes);
            let end = output.end();
            match written {
                Ok(()) => {
                    self.output.went_well();
                    self.say_well();
                }
                Err(error) => {
                    self.output.failed();
                    say!("creel keep: output stopped at {end}: {error}");
                    self.say_failed(&error);
                }
            }
        }
        let whole = self.take_lines(stream, bytes);
        self.add_raw(stream, &whole);
    }

    fn mark(&mut self, mark: Mark) {
        let Some(part) = &mut self.marks else { return };
        let Some(marks) = part.get() else { return };
        match marks.add(mark) {
            Ok(()) => part.went_well(),
            Err(error) => {
                part.failed();
                say!("creel keep: the times stopped: {error}");
                self.say_failed(&error);
            }
        }
    }

    /// Replaces the checkpoint. One that can't be written leaves the one before, from which the
    /// next keeper has more to read again.
    fn save(&mut self, checkpoint: &Checkpoint) {
        if let Err(error) = checkpoint::write(self.fs.as_ref(), &self.run_dir, checkpoint) {
            say!("creel keep: the screen was not written down: {error}");
            self.say_failed(&error);
        }
    }

    /// Returns the whole lines that `bytes` complete, or all of an overlong line.
    fn take_lines(&mut self, stream: Stream, bytes: &[u8]) -> Vec<u8> {
        if !self.keeps_raw {
            return Vec::new();
        }
        let line = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        line.extend_from_slice(bytes);
        let end = match line.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if line.len() >= MAX_RAW_BYTES => line.len(),
            None => 0,
        };
        let rest = line.split_off(end);
        mem::replace(line, rest)
    }

    /// Adds the unfinished lines as they are.
    fn flush_lines(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let line = match stream {
                Stream::Stdout => mem::take(&mut self.stdout),
                Stream::Stderr => mem::take(&mut self.stderr),
            };
            self.add_raw(stream, &line);
        }
    }

    fn add_raw(&mut self, stream: Stream, bytes: &[u8]) {
        if !self.keeps_raw {
            return;
        }
        if bytes.is_empty() {
            return;
        }
        let len = bytes.len() as u64;
        if !self.with_transcript(|transcript| transcript.add_raw(stream.as_str(), bytes)) {
            self.lost.failed_bytes += len;
        }
    }

    fn add(&mut self, content: Content) {
        self.with_transcript(|transcript| transcript.add(content));
    }

    fn flush(&mut self) {
        self.with_transcript(Transcript::flush);
    }

    /// Does something to the transcript, behind the gaps that are due; false when it failed.
    fn with_transcript(&mut self, act: impl FnOnce(&mut Transcript) -> io::Result<()>) -> bool {
        let Some(transcript) = self.transcript.get() else { return false };
        let lost = mem::take(&mut self.lost);
        let gap = |reason: &str, len_bytes: u64| {
            let reason = reason.to_owned();
            (len_bytes > 0).then_some(Content::Gap { reason, len_bytes: Some(len_bytes) })
        };
        let gaps = [gap("slow-disk", lost.slow_bytes), gap("disk-error", lost.failed_bytes)];
        let done = gaps
            .into_iter()
            .flatten()
            .try_for_each(|gap| transcript.add(gap))
            .and_then(|()| act(transcript));
        match done {
            Ok(()) => {
                self.transcript.went_well();
                true
            }
            Err(error) => {
                self.lost = lost;
                self.transcript.failed();
                say!("creel keep: the transcript stopped: {error}");
                self.say_failed(&error);
                false
            }
        }
    }

    fn finish(&mut self, entries: Vec<Content>) {
        self.flush_lines();
        let is_ended = self.transcript.get().is_some_and(|transcript| {
            transcript.last().is_some_and(|last| last.is_run_ended && last.run == transcript.run())
        });
        if !is_ended {
            for content in entries {
                self.add(content);
            }
        }
        self.with_transcript(Transcript::sync);
        self.bell.ring(Note::DiskDone);
    }

    fn say_failed(&mut self, error: &io::Error) {
        self.is_failing = true;
        self.bell.ring(Note::Disk(Some(error.to_string())));
    }

    fn say_well(&mut self) {
        if mem::take(&mut self.is_failing) {
            self.bell.ring(Note::Disk(None));
        }
    }
}

/// Returns the end of the output that an earlier keeper of the run wrote.
pub(super) fn earlier_tail(run_dir: &Path, max_bytes: u64) -> Vec<u8> {
    crate::output::tail(&output_dir(run_dir), max_bytes)
        .map(|pieces| pieces.into_iter().flat_map(|piece| piece.bytes).collect())
        .unwrap_or_default()
}
