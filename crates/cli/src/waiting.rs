//! Waiting for sessions to change, by the store's feed: no polling.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::time::Duration;

use creel_record::SessionId;
use creel_spool::{FeedWatch, Store};
use creel_sys::Deadline;
use creel_sys::poll::{wait_readable, wait_readable_or_closed};
use creel_sys::process::ProcessHandle;

use crate::codes::Code;
use crate::report::Report;

/// How long an announced change is waited for: the feed reports one whose writer died after a
/// second.
const ANNOUNCED_WITHIN: Duration = Duration::from_millis(1500);

/// A watch on a store, made before the first look, so that no change falls between the two.
#[derive(Debug)]
pub(crate) struct Waiter {
    watch: FeedWatch,
}

impl Waiter {
    /// Starts watching a store.
    ///
    /// # Errors
    /// When the machine has no watch left, or the store is gone.
    pub(crate) fn new(store: &Store) -> Result<Self, Report> {
        Ok(Self { watch: store.watch()? })
    }

    /// Looks now and after every change of one of `ids`, until a look finds something; none when
    /// the time passed first.
    ///
    /// # Errors
    /// What a look fails with, or the watch.
    pub(crate) fn until<T>(
        &mut self,
        within: Duration,
        ids: &[SessionId],
        mut look: impl FnMut() -> Result<Option<T>, Report>,
    ) -> Result<Option<T>, Report> {
        let deadline = Deadline::after(within);
        loop {
            if let Some(found) = look()? {
                return Ok(Some(found));
            }
            if !self.changed(deadline, ids, &[])? {
                return Ok(None);
            }
        }
    }

    /// Waits until one of `ids` changed or one of `processes` ended; false when the time passed
    /// first.
    ///
    /// # Errors
    /// When the watch fails.
    pub(crate) fn changed(
        &mut self,
        deadline: Deadline,
        ids: &[SessionId],
        processes: &[ProcessHandle],
    ) -> Result<bool, Report> {
        Ok(self.wait((deadline, Reader::Any), ids, processes)? != Woken::Late)
    }

    /// Waits until one of `ids` changed, one of `processes` ended, or nobody reads standard output
    /// any more.
    ///
    /// # Errors
    /// When the watch fails.
    pub(crate) fn followed(
        &mut self,
        deadline: Deadline,
        ids: &[SessionId],
        processes: &[ProcessHandle],
    ) -> Result<Woken, Report> {
        self.wait((deadline, Reader::Needed), ids, processes)
    }

    fn wait(
        &mut self,
        (deadline, reader): (Deadline, Reader),
        ids: &[SessionId],
        processes: &[ProcessHandle],
    ) -> Result<Woken, Report> {
        let wanted: BTreeSet<SessionId> = ids.iter().copied().collect();
        let stdout = std::io::stdout();
        loop {
            let mut fds = vec![self.watch.as_fd()];
            fds.extend(processes.iter().map(AsFd::as_fd));
            let ready = match reader {
                Reader::Any => wait_readable(&fds, deadline.remaining()),
                Reader::Needed => {
                    wait_readable_or_closed(&fds, stdout.as_fd(), deadline.remaining())
                }
            };
            let ready =
                ready.map_err(|error| Report::of(Code::WatchFailed, &error).next("creel list"))?;
            match ready.as_slice() {
                [] => return Ok(Woken::Late),
                [.., last] if *last == fds.len() => return Ok(Woken::Unread),
                [0] => {}
                _ => return Ok(Woken::Changed),
            }
            let changed = self.watch.wait(ANNOUNCED_WITHIN)?;
            if changed.is_gap || changed.ids.iter().any(|id| wanted.contains(id)) {
                return Ok(Woken::Changed);
            }
        }
    }
}

/// Whether a wait needs somebody who reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Any,
    Needed,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// A session changed, or a process ended.
    Changed,
    /// Nobody reads standard output any more.
    Unread,
    /// The time passed.
    Late,
}
