//! Runs, turns and results as a session keeps them.

use serde::{Deserialize, Serialize};

use crate::event::fact::ProcessFacts;
use crate::ids::{EventId, RunId, TurnId};
use crate::source::Source;
use crate::time::Timestamp;
use crate::words::{Cause, Disposition, EndReason};

/// Where an event's line stands in the log, and what is needed to check it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineRef {
    /// Offset of the line in bytes.
    pub offset_bytes: u64,
    /// Its length in bytes, newline included.
    pub len_bytes: u64,
    /// The chain value before it.
    pub previous: u32,
}

/// Text that stays in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextRef {
    /// The line that holds it.
    pub line: LineRef,
    /// Its length in bytes, decoded.
    pub len_bytes: u64,
}

/// One result of the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultRef {
    /// The event that stored it.
    pub event_id: EventId,
    /// The turn it ended.
    pub turn_id: TurnId,
    /// The run's number.
    pub run_number: u64,
    /// How it left the session.
    pub disposition: Disposition,
    /// The payload, in the log.
    pub payload: TextRef,
    /// SHA-256 of the payload, so that the same return sent again is recognised.
    pub sha256: String,
    /// Who returned it.
    pub source: Source,
    /// When.
    pub at: Timestamp,
    /// True when the run had already ended: stored, and moved nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_late: bool,
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Its process is believed to live.
    Running,
    /// Alive, held by a blocking question.
    Suspended,
    /// Ended as it was meant to.
    Completed,
    /// Ended otherwise.
    Failed,
}

impl RunStatus {
    /// Returns the published spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// One started harness process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its number, from 1.
    pub number: u64,
    /// The current turn.
    pub turn_id: TurnId,
    /// Turns so far.
    pub turn_count: u64,
    /// Why it started.
    pub cause: Cause,
    /// 1 or 2 for a re-prompt, else 0.
    pub attempt: u32,
    /// The run it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues_run_id: Option<RunId>,
    /// Its prompt, in the log.
    pub prompt: TextRef,
    /// When it started.
    pub started: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The machine.
    pub machine_id: String,
    /// The boot.
    pub boot_id: String,
    /// The harness process, once it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ProcessFacts>,
    /// Its holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<ProcessFacts>,
    /// The control group it lives in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// The harness's own session id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_session_id: Option<String>,
    /// The end that somebody asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_requested: Option<EndReason>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<EndReason>,
    /// Exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// A line about the end, cut to its bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The last result of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultRef>,
}

impl Run {
    /// True until the run's end is recorded.
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }

    /// True when the current turn has its return.
    pub fn is_returned(&self) -> bool {
        self.result.as_ref().is_some_and(|r| r.turn_id == self.turn_id && !r.is_late)
    }

    /// Returns how the current turn was returned.
    pub fn disposition(&self) -> Option<Disposition> {
        self.result.as_ref().filter(|_| self.is_returned()).map(|r| r.disposition)
    }

    /// Returns the status; `is_asking` tells whether a blocking question of this run is open.
    pub fn status(&self, is_asking: bool) -> RunStatus {
        let Some(reason) = self.end_reason else {
            return if is_asking { RunStatus::Suspended } else { RunStatus::Running };
        };
        match reason {
            EndReason::Returned
            | EndReason::Closed
            | EndReason::Parked
            | EndReason::Discarded
            | EndReason::Ended
            | EndReason::Interrupted
            | EndReason::Compacted
            | EndReason::Switched
            | EndReason::Migrated
            | EndReason::ProfileSwitched => RunStatus::Completed,
            _ if self.is_returned() => RunStatus::Completed,
            _ => RunStatus::Failed,
        }
    }
}
