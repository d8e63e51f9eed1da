//! Verifying a spool: every line of its log, its snapshot and its run index against the fold.

use std::fmt;
use std::io;

use creel_record::SessionId;
use creel_record::event::Fact;
use creel_record::event::fact::RunStarted;
use creel_record::limits::MAX_SNAPSHOT_BYTES;
use creel_record::snapshot::Snapshot;
use creel_sys::fs::{FsFile, LockMode};

use crate::access::Access;
use crate::damage::{Fault, FaultKind};
use crate::error::ReadError;
use crate::feed;
use crate::file::read_bounded;
use crate::load::{State, Stored, stored, unfoldable};
use crate::log_file::{LockError, lock_as_it_is};
use crate::store::Store;
use crate::walk::{Bounds, Start, Step, Walk};

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The session.
    pub id: SessionId,
    /// Length of the log in bytes.
    pub len_bytes: u64,
    /// Events that are there and good.
    pub event_count: u64,
    /// Bad stretches of the log, in order.
    pub faults: Vec<Fault>,
    /// What else does not fit.
    pub findings: Vec<Finding>,
    /// True when the log has nothing but a part of its first line: a creation that no writer
    /// finished and nobody was told of. That is no damage; a heal clears it away.
    pub is_unfinished: bool,
}

impl Report {
    /// True when nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty() && self.findings.is_empty()
    }

    /// True when nothing may be written until the spool is healed.
    pub fn needs_heal(&self) -> bool {
        self.faults.iter().any(|fault| fault.kind != FaultKind::TornTail)
            || self.findings.iter().any(|finding| {
                matches!(finding, Finding::MarkedReadOnly | Finding::LogShorter { .. })
            })
    }
}

/// What does not fit, apart from single lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The log carries the mark.
    MarkedReadOnly,
    /// The log ends before the place that was published.
    LogShorter {
        /// The published length in bytes.
        published_bytes: u64,
    },
    /// There is no snapshot.
    SnapshotMissing,
    /// There is no valid snapshot.
    SnapshotInvalid {
        /// Why.
        reason: String,
    },
    /// The snapshot is behind the log.
    SnapshotStale {
        /// The published sequence.
        published_sequence: u64,
        /// The log's.
        sequence: u64,
    },
    /// The snapshot is not what the log adds up to at its place.
    SnapshotDiffers,
    /// The run index is not what the log adds up to.
    RunIndexDiffers,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MarkedReadOnly => f.write_str("the log is marked read-only"),
            Self::LogShorter { published_bytes } => {
                write!(f, "the log is shorter than the {published_bytes} bytes that are published")
            }
            Self::SnapshotMissing => f.write_str("there is no snapshot"),
            Self::SnapshotInvalid { reason } => write!(f, "the snapshot is invalid: {reason}"),
            Self::SnapshotStale { published_sequence, sequence } => write!(
                f,
                "the snapshot stands at event {published_sequence}, the log at {sequence}"
            ),
            Self::SnapshotDiffers => f.write_str("the snapshot is not what the log adds up to"),
            Self::RunIndexDiffers => f.write_str("the run index is not what the log adds up to"),
        }
    }
}

impl Store {
    /// Reads the whole log of a session and compares it with everything made from it. Writers wait
    /// meanwhile. A damaged log is marked, so that lists show it and nobody writes to it.
    ///
    /// # Errors
    /// When there is no such session, it is busy, or a file can't be read.
    pub fn verify(&self, id: SessionId) -> Result<Report, ReadError> {
        let stored_now = || stored(self, id).map_err(ReadError::io(&self.snapshot_path(id)));
        let log = match lock_as_it_is(self, id, LockMode::Shared) {
            // Only what was made from it tells that there was one.
            Err(LockError::NotFound) if !matches!(stored_now()?, Stored::Missing) => {
                feed::mark_dirty(self, id);
                return Ok(lost(id, &stored_now()?));
            }
            other => other.map_err(|error| error.into_read(self, id))?,
        };
        let stored = stored_now()?;
        if log.stat.len_bytes == 0 && matches!(stored, Stored::Missing) {
            return Err(ReadError::NotFound { id });
        }
        let len_bytes = log.stat.len_bytes;
        let audit = audit(log.file.as_ref(), (id, len_bytes), &stored)
            .map_err(ReadError::io(&self.log_path(id)))?;
        let mut findings = Vec::new();
        if log.stat.is_read_only {
            findings.push(Finding::MarkedReadOnly);
        }
        findings.extend(audit.findings(&stored, len_bytes));
        let is_index_good =
            index_holds(self, id, &audit.state).map_err(ReadError::io(&self.session_dir(id)))?;
        if audit.is_folded_whole && !is_index_good {
            findings.push(Finding::RunIndexDiffers);
        }
        let is_unfinished = audit.is_unfinished(&stored) && !log.stat.is_read_only;
        let Audit { event_count, faults, .. } = audit;
        let mut report = Report { id, len_bytes, event_count, faults, findings, is_unfinished };
        if is_unfinished {
            report.faults.clear();
            report.findings.clear();
        }
        if report.needs_heal() && !log.stat.is_read_only && *self.access() == Access::ReadWrite {
            // A mark that fails is made by the next writer, which finds the same damage.
            let _ = log.file.set_read_only(true);
            feed::mark_dirty(self, id);
        }
        Ok(report)
    }
}

/// Reports a session whose log is gone.
fn lost(id: SessionId, stored: &Stored) -> Report {
    let findings = Audit::default().findings(stored, 0);
    Report { id, len_bytes: 0, event_count: 0, faults: Vec::new(), findings, is_unfinished: false }
}

/// What a walk through a whole log came to.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    /// The fold of all lines before the first loss.
    pub(crate) state: State,
    /// True when nothing is lost.
    pub(crate) is_folded_whole: bool,
    /// Good lines.
    pub(crate) event_count: u64,
    /// The sequence of the last of them.
    pub(crate) last_sequence: u64,
    /// Bad stretches.
    pub(crate) faults: Vec<Fault>,
    /// The start of run 1.
    pub(crate) first_start: Option<RunStarted>,
    /// Whether the fold at the snapshot's place is the snapshot; none when it was not reached.
    equals_snapshot: Option<bool>,
}

/// Walks through a whole log.
pub(crate) fn audit(
    file: &dyn FsFile,
    (id, end): (SessionId, u64),
    stored: &Stored,
) -> io::Result<Audit> {
    let snapshot = match stored {
        Stored::Good(snapshot) => Some(snapshot.as_ref()),
        Stored::Missing | Stored::Bad(_) => None,
    };
    let published_bytes = snapshot.map_or(0, |snapshot| snapshot.log.len_bytes);
    let mut walk = Walk::new(file, id, Start::of_log(id), Bounds { end, published_bytes });
    let mut audit = Audit { is_folded_whole: true, ..Audit::default() };
    while let Some(step) = walk.next()? {
        match step {
            Step::Bad(bad) => {
                let mut fault = bad.fault;
                if bad.may_be_torn {
                    fault.kind = FaultKind::TornTail;
                } else {
                    audit.is_folded_whole &= fault.kind == FaultKind::Newline;
                }
                audit.faults.push(fault);
            }
            Step::Good(good) => {
                audit.event_count += 1;
                audit.last_sequence = good.event.sequence;
                if let Fact::RunStarted(start) = &good.event.fact
                    && start.number == 1
                {
                    audit.first_start = Some(start.clone());
                }
                if !audit.is_folded_whole {
                    continue;
                }
                if audit.state.fold(&good).is_err() {
                    audit.is_folded_whole = false;
                    audit.event_count -= 1;
                    audit.faults.push(unfoldable(&good));
                }
                audit.compare(snapshot);
            }
        }
    }
    Ok(audit)
}

impl Audit {
    /// True when all there is of the session is a part of its first line.
    pub(crate) fn is_unfinished(&self, stored: &Stored) -> bool {
        let is_torn =
            matches!(self.faults.as_slice(), [fault] if fault.kind == FaultKind::TornTail);
        is_torn && self.event_count == 0 && matches!(stored, Stored::Missing)
    }

    fn compare(&mut self, snapshot: Option<&Snapshot>) {
        let Some(snapshot) = snapshot else { return };
        if self.last_sequence == snapshot.log.sequence {
            let is_equal = self.state.session.as_ref() == Some(&snapshot.session)
                && self.state.position == Some(snapshot.log)
                && self.state.run_index == snapshot.run_index;
            self.equals_snapshot = Some(is_equal);
        }
    }

    /// Returns what does not fit between the log and its snapshot.
    pub(crate) fn findings(&self, stored: &Stored, len_bytes: u64) -> Vec<Finding> {
        let snapshot = match stored {
            Stored::Missing => return vec![Finding::SnapshotMissing],
            Stored::Bad(error) => {
                return vec![Finding::SnapshotInvalid { reason: error.to_string() }];
            }
            Stored::Good(snapshot) => snapshot,
        };
        let published_bytes = snapshot.log.len_bytes;
        if published_bytes > len_bytes {
            return vec![Finding::LogShorter { published_bytes }];
        }
        let mut findings = Vec::new();
        if self.is_folded_whole && self.equals_snapshot != Some(true) {
            findings.push(Finding::SnapshotDiffers);
        }
        let (published_sequence, sequence) = (snapshot.log.sequence, self.last_sequence);
        if sequence > published_sequence {
            findings.push(Finding::SnapshotStale { published_sequence, sequence });
        }
        findings
    }
}

/// True when the run index begins with exactly the runs that a whole fold evicted.
pub(crate) fn index_holds(store: &Store, id: SessionId, state: &State) -> io::Result<bool> {
    let wanted = state.index_tail.as_slice();
    if wanted.is_empty() {
        return Ok(true);
    }
    let path = store.session_dir(id).join(crate::run_index::NAME);
    match read_bounded(store.fs(), &path, wanted.len().max(MAX_SNAPSHOT_BYTES)) {
        Ok(bytes) => Ok(bytes.starts_with(wanted)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
