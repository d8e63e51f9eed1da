//! One thread that waits for many processes to end, each for a while.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use creel_record::RunId;
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_sys::process::{ProcessHandle, ProcessIdentity};
use tokio::sync::mpsc;

use crate::notice::Notice;

/// A run that is looked at again: when its holder has ended, and at the latest then.
struct Wait {
    run_id: RunId,
    process: Option<ProcessHandle>,
    until: Deadline,
}

/// The waits that are under way. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Deaths {
    waits: Sender<Wait>,
    wake: PipeWriter,
}

impl Deaths {
    /// Starts the thread.
    ///
    /// # Errors
    /// When it can't be started.
    pub(crate) fn start(notices: mpsc::Sender<Notice>) -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let (waits, taken) = channel();
        // Owns nothing that anybody waits for, and sees the pipe close.
        thread::Builder::new()
            .name("creel-deaths".to_owned())
            .spawn(move || watch(&taken, woken, &notices))?;
        Ok(Self { waits, wake })
    }

    /// Gives notice of a run when a process has ended, at the latest after `within`.
    pub(crate) fn add(&self, run_id: RunId, process: Option<&ProcessIdentity>, within: Duration) {
        let process = process.and_then(|process| process.open().ok().flatten());
        let wait = Wait { run_id, process, until: Deadline::after(within) };
        // A full pipe has woken the thread already.
        if self.waits.send(wait).is_ok() {
            let _ = (&self.wake).write(&[0]);
        }
    }
}

fn watch(taken: &Receiver<Wait>, mut woken: PipeReader, notices: &mpsc::Sender<Notice>) {
    let mut waits: Vec<Wait> = Vec::new();
    loop {
        let within = waits.iter().map(|wait| wait.until.remaining()).min();
        let processes = waits.iter().filter_map(|wait| wait.process.as_ref());
        let fds: Vec<_> =
            std::iter::once(woken.as_fd()).chain(processes.map(AsFd::as_fd)).collect();
        let Ok(ready) = wait_readable(&fds, within.unwrap_or(creel_sys::MAX_WAIT)) else { return };
        if ready.first() == Some(&0) && !matches!(woken.read(&mut [0; 64]), Ok(1..)) {
            return;
        }
        let mut place = 0;
        for wait in std::mem::take(&mut waits) {
            place += usize::from(wait.process.is_some());
            let has_ended = wait.process.is_some() && ready.contains(&place);
            if !has_ended && !wait.until.is_past() {
                waits.push(wait);
            } else if notices.blocking_send(Notice::Again { run_id: wait.run_id }).is_err() {
                return;
            }
        }
        waits.extend(taken.try_iter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_notice_comes_when_a_process_ends_or_the_time_is_up() {
        let (notices, mut taken) = mpsc::channel(8);
        let deaths = Deaths::start(notices).expect("a thread");
        let id =
            |n: u32| format!("01939c00-0000-7000-8000-{n:012}").parse::<RunId>().expect("an id");
        let mut child =
            std::process::Command::new("sleep").arg("600").spawn().expect("sleep is there");
        let pid = i32::try_from(child.id()).expect("a pid");
        let process = ProcessIdentity::of(pid).expect("/proc").expect("it lives");
        let own = ProcessIdentity::current().expect("/proc");
        deaths.add(id(1), Some(&process), creel_sys::MAX_WAIT);
        deaths.add(id(2), Some(&own), Duration::ZERO);
        deaths.add(id(3), Some(&own), creel_sys::MAX_WAIT);
        let mut next = async || match taken.recv().await {
            Some(Notice::Again { run_id }) => run_id,
            other => panic!("{other:?}"),
        };
        assert_eq!(next().await, id(2));
        child.kill().expect("our child");
        assert_eq!(next().await, id(1));
        child.wait().expect("our child");
    }
}
