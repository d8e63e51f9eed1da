//! A gate in an agent's way: its command waits until the trial has looked at the living processes.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The file in the working directory that the agent's command reads.
const NAME: &str = "gate";

/// The step of a scripted prompt that waits at the gate.
pub(crate) const STEP: &str = "[[run cat gate]]";

/// Runs `work`, in which an agent comes to the gate of `dir`, and `look` while the agent waits
/// there. Returns what `look` saw, none when no agent came.
pub(crate) fn pass<T, S: Send>(
    dir: &Path,
    look: impl FnOnce() -> S + Send,
    work: impl FnOnce() -> T,
) -> (T, Option<S>) {
    let gate = dir.join(NAME);
    let made = Command::new("mkfifo").arg(&gate).status().expect("mkfifo can be started");
    assert!(made.success(), "no pipe at {}", gate.display());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let looking = scope.spawn(|| open_for_reader((&gate, &is_over), look));
        let done = work();
        is_over.store(true, Ordering::SeqCst);
        // Lets the other side go when no agent came: a pipe that is opened both ways has a reader.
        let reader = OpenOptions::new().read(true).write(true).open(&gate);
        let seen = looking.join().expect("looking is no test");
        drop(reader);
        fs::remove_file(&gate).expect("it is ours");
        (done, seen)
    })
}

fn open_for_reader<S>(
    (gate, is_over): (&Path, &AtomicBool),
    look: impl FnOnce() -> S,
) -> Option<S> {
    // Waits for a reader.
    let mut pipe: File = OpenOptions::new().write(true).open(gate).ok()?;
    if is_over.load(Ordering::SeqCst) {
        return None;
    }
    let seen = look();
    // A reader that was killed meanwhile is no matter of the gate's.
    let _ = pipe.write_all(b"pass\n");
    Some(seen)
}
