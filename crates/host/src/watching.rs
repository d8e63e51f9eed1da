//! Threads that wait in the kernel for changes of files, and say so.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use creel_spool::{Changed, FeedWatch, Store};
use creel_sys::MAX_WAIT;
use creel_sys::poll::wait_readable;
use creel_sys::watch::{DirWatch, WatchError};
use tokio::sync::mpsc;

use crate::notice::Notice;
use crate::refusal::chain;

/// How long a change that was announced is waited for, once something is readable; a little longer
/// than the feed itself waits for the row of a writer that died.
const SETTLE_WITHIN: Duration = Duration::from_millis(1500);

/// A thread that waits. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Watches a store's feed. The watch is made before this returns, so that whoever looks next
    /// misses nothing.
    ///
    /// # Errors
    /// When the feed can't be watched, in words.
    pub(crate) fn of_store(store: &Store, notices: mpsc::Sender<Notice>) -> Result<Self, String> {
        let mut watch = store.watch().map_err(|error| chain(&error))?;
        let root = store.root().to_owned();
        Self::start("creel-feed", move |stop| {
            while let Some(changed) = next_of(&mut watch, stop) {
                let notice = match changed {
                    Ok(changed) if changed.is_empty() => continue,
                    Ok(changed) => Notice::Changed { root: root.clone(), changed },
                    Err(why) => {
                        // There is nothing left to wait on.
                        let _ = notices.blocking_send(Notice::Unwatched { root, why });
                        return;
                    }
                };
                if notices.blocking_send(notice).is_err() {
                    return;
                }
            }
        })
    }

    /// Watches directories; every change of one of them is the same notice.
    ///
    /// # Errors
    /// When one can't be watched, in words.
    pub(crate) fn of_dirs(dirs: &[PathBuf], notices: mpsc::Sender<Notice>) -> Result<Self, String> {
        let watches: Result<Vec<_>, WatchError> =
            dirs.iter().map(|dir| DirWatch::new(dir)).collect();
        let watches = watches.map_err(|error| chain(&error))?;
        Self::start("creel-dirs", move |stop| {
            loop {
                let fds: Vec<_> =
                    std::iter::once(stop.as_fd()).chain(watches.iter().map(AsFd::as_fd)).collect();
                let ready = wait_readable(&fds, MAX_WAIT).unwrap_or_default();
                if ready.first() == Some(&0) {
                    return;
                }
                // One that is gone is told by what is then missing, and can't be waited on again.
                let is_gone =
                    ready.iter().any(|at| watches.get(at - 1).is_some_and(|w| w.drain().is_err()));
                if notices.blocking_send(Notice::Dirs).is_err() || is_gone {
                    return;
                }
            }
        })
    }

    fn start(name: &str, work: impl FnOnce(&PipeReader) + Send + 'static) -> Result<Self, String> {
        let (reader, writer) = io::pipe().map_err(|error| error.to_string())?;
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&reader))
            .map_err(|error| error.to_string())?;
        Ok(Self { stop: Some(writer), thread: Some(thread) })
    }
}

/// Waits for the next change; none when the watcher shall stop.
fn next_of(watch: &mut FeedWatch, stop: &PipeReader) -> Option<Result<Changed, String>> {
    match wait_readable(&[stop.as_fd(), watch.as_fd()], MAX_WAIT) {
        Ok(ready) if ready.first() == Some(&0) => None,
        Ok(_) => Some(watch.wait(SETTLE_WITHIN).map_err(|error| chain(&error))),
        Err(error) => Some(Err(error.to_string())),
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Detached rather than joined: it may be in the middle of a bounded wait, and owns
            // nothing that anybody else waits for.
            drop(thread);
        }
    }
}
