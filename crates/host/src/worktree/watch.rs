//! When to look for what others did to the worktrees: a schedule without a clock and without
//! effects.
//!
//! A *look* ([`Fingerprint`]) costs a few file reads and no process; a *scan* is one git process.
//! Each repository that is there is looked at every 30 s, and scanned when the look differs, fails,
//! or the last good scan is 5 min old. A repository that is gone is never scanned; looks at it back
//! off, to 5 min at most, so that its return is found in time too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::fingerprint::Fingerprint;

/// Between two looks, and so the longest that a change which a look sees stays unknown.
pub const LOOK_EVERY_MS: u64 = 30_000;

/// Between two scans, and so the longest that any other change stays unknown.
pub const SCAN_EVERY_MS: u64 = 5 * 60_000;

/// The first wait after a scan that failed; it doubles up to [`SCAN_EVERY_MS`].
const RETRY_AFTER_MS: u64 = LOOK_EVERY_MS;

/// Why a scan is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanReason {
    /// It was never scanned.
    First,
    /// The look differs from the one before the last scan.
    Changed,
    /// The look failed, so that it says nothing.
    NotSeen,
    /// The last scan failed.
    Retry,
    /// The last good scan is as old as one may be.
    Reconcile,
}

/// What is to be done now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Repositories to look at, then to be told by [`Watcher::looked`].
    pub looks: Vec<PathBuf>,
    /// Repositories to scan, then to be told by [`Watcher::scanned`]; look before the scan.
    pub scans: Vec<(PathBuf, ScanReason)>,
    /// When to ask again; none when nothing is watched. Not later than that, with nothing due.
    pub next_at_ms: Option<u64>,
}

/// The schedule over all repositories. Times are milliseconds on a clock that never goes back.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    repositories: BTreeMap<PathBuf, Watched>,
}

#[derive(Clone, Debug, Default)]
struct Watched {
    /// What vouches for the last good scan.
    vouched: Option<Fingerprint>,
    scanned_at_ms: Option<u64>,
    look_at_ms: u64,
    scan: Option<(u64, ScanReason)>,
    failure_count: u32,
    gone_count: u32,
}

impl Watcher {
    /// Begins to watch a repository, by its common directory; one that is watched already stays
    /// as it is.
    pub fn watch(&mut self, common: PathBuf, now_ms: u64) {
        self.repositories.entry(common).or_insert_with(|| Watched {
            look_at_ms: now_ms.saturating_add(LOOK_EVERY_MS),
            scan: Some((now_ms, ScanReason::First)),
            ..Watched::default()
        });
    }

    /// Stops watching a repository.
    pub fn forget(&mut self, common: &Path) {
        self.repositories.remove(common);
    }

    /// Returns what is due.
    #[must_use]
    pub fn next(&self, now_ms: u64) -> Due {
        let mut due = Due::default();
        for (common, watched) in &self.repositories {
            if watched.look_at_ms <= now_ms {
                due.looks.push(common.clone());
            }
            match watched.scan_due() {
                Some((at_ms, reason)) if at_ms <= now_ms => {
                    due.scans.push((common.clone(), reason));
                }
                _ => {}
            }
            let scan_at_ms = watched.scan_due().map(|(at_ms, _)| at_ms);
            due.next_at_ms =
                [due.next_at_ms, Some(watched.look_at_ms), scan_at_ms].into_iter().flatten().min();
        }
        due
    }

    /// Takes what a look saw.
    pub fn looked(&mut self, common: &Path, now_ms: u64, seen: Option<&Fingerprint>) {
        let Some(watched) = self.repositories.get_mut(common) else { return };
        let is_gone = seen.is_some_and(|seen| !seen.is_there());
        if is_gone {
            watched.retire(now_ms);
            return;
        }
        let was_gone = std::mem::take(&mut watched.gone_count) > 0;
        watched.look_at_ms = now_ms.saturating_add(LOOK_EVERY_MS);
        let reason = match (seen, &watched.vouched) {
            (None, _) => ScanReason::NotSeen,
            (Some(_), _) if was_gone => ScanReason::Changed,
            (Some(seen), Some(vouched)) if seen == vouched => return,
            (Some(_), _) => ScanReason::Changed,
        };
        // A failing scan keeps its own pace: each look would start it again.
        if watched.failure_count == 0 {
            watched.scan = Some((now_ms, reason));
        }
    }

    /// Takes what a scan came to: the look that was taken before it, or none when either failed.
    pub fn scanned(&mut self, common: &Path, now_ms: u64, before: Option<Fingerprint>) {
        let Some(watched) = self.repositories.get_mut(common) else { return };
        match before {
            Some(seen) if !seen.is_there() => watched.retire(now_ms),
            Some(seen) => {
                watched.vouched = Some(seen);
                watched.scanned_at_ms = Some(now_ms);
                watched.failure_count = 0;
                watched.gone_count = 0;
                watched.scan = None;
                watched.look_at_ms = now_ms.saturating_add(LOOK_EVERY_MS);
            }
            None => {
                let wait = backed_off(RETRY_AFTER_MS, watched.failure_count);
                watched.failure_count = watched.failure_count.saturating_add(1);
                watched.vouched = None;
                watched.scan = Some((now_ms.saturating_add(wait), ScanReason::Retry));
            }
        }
    }
}

impl Watched {
    fn scan_due(&self) -> Option<(u64, ScanReason)> {
        if self.gone_count > 0 {
            return None;
        }
        let reconcile = self
            .scanned_at_ms
            .filter(|_| self.failure_count == 0)
            .map(|at_ms| (at_ms.saturating_add(SCAN_EVERY_MS), ScanReason::Reconcile));
        [self.scan, reconcile].into_iter().flatten().min()
    }

    fn retire(&mut self, now_ms: u64) {
        let wait = backed_off(LOOK_EVERY_MS, self.gone_count);
        self.gone_count = self.gone_count.saturating_add(1);
        self.failure_count = 0;
        self.vouched = None;
        self.scanned_at_ms = None;
        self.scan = None;
        self.look_at_ms = now_ms.saturating_add(wait);
    }
}

fn backed_off(first_ms: u64, count: u32) -> u64 {
    first_ms.saturating_mul(1 << count.min(16)).min(SCAN_EVERY_MS)
}

#[cfg(test)]
mod tests;
