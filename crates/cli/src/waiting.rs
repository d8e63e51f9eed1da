//! Waiting for sessions to change, by the store's feed: no polling.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::time::Duration;

use creel_record::SessionId;
use creel_spool::{FeedWatch, Store};
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
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
        let wanted: BTreeSet<SessionId> = ids.iter().copied().collect();
        loop {
            let ready = {
                let mut fds = vec![self.watch.as_fd()];
                fds.extend(processes.iter().map(AsFd::as_fd));
                wait_readable(&fds, deadline.remaining())
                    .map_err(|error| Report::of(Code::WatchFailed, &error).next("creel list"))?
            };
            match ready.as_slice() {
                [] => return Ok(false),
                [0] => {}
                _ => return Ok(true),
            }
            let changed = self.watch.wait(ANNOUNCED_WITHIN)?;
            if changed.is_gap || changed.ids.iter().any(|id| wanted.contains(id)) {
                return Ok(true);
            }
        }
    }
}
