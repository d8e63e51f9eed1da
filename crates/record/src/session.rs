//! A session as its events add up: bounded, and enough to fold on from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::dispatch::Dispatch;
use crate::event::fact::{FirstRun, LaunchKey, Parent};
use crate::ids::{RequestId, RunId, SessionId, ThreadId, TurnId};
pub use crate::observed::observed_state;
use crate::question::Question;
use crate::run::{ResultRef, Run, TextRef};
use crate::time::Timestamp;
use crate::words::{
    Authority, Cause, Disposition, EndReason, Mode, QuestionKind, Retention, WorkState,
};

/// What decided the current run's lifecycle; the later log entry wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Completion {
    /// A stored return.
    Returned(Disposition),
    /// A verb's verdict, or an end that is a completion fact.
    Ended(EndReason),
}

impl Completion {
    fn work_state(self) -> Option<WorkState> {
        match self {
            Self::Returned(Disposition::Finish) => Some(WorkState::Finished),
            Self::Returned(Disposition::Await) => Some(WorkState::Awaiting),
            Self::Ended(reason) => match reason {
                EndReason::Closed | EndReason::Ended => Some(WorkState::Finished),
                EndReason::Parked
                | EndReason::FailedUnreturned
                | EndReason::ProviderError
                | EndReason::SpawnFailed
                | EndReason::Returned => Some(WorkState::Awaiting),
                EndReason::Killed | EndReason::Discarded | EndReason::Lost => {
                    Some(WorkState::Abandoned)
                }
                _ => None,
            },
        }
    }
}

/// A run that shall start: the record's promise to start it exactly once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// The run.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// Why.
    pub cause: Cause,
    /// Its prompt, in the log.
    pub prompt: TextRef,
    /// What a wake's prompt delivers; it waits again when the run never starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Pending>,
    /// The questions whose answers a wake's prompt delivers; they wait until the run starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_ids: Vec<RequestId>,
}

/// What waits to wake the session: how much came in after the last delivered digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// Every wake-worthy event up to this sequence was delivered.
    pub delivered_sequence: u64,
    /// The first wake-worthy event after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_sequence: Option<u64>,
    /// The last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sequence: Option<u64>,
    /// How many there are; after a digest that left some out, at most how many.
    pub count: u64,
    /// A time to wake at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The root transcript thread.
    pub root_thread_id: ThreadId,
    /// The harness.
    pub runtime: String,
    /// The preset.
    pub profile: Option<String>,
    /// The login.
    pub account: Option<String>,
    /// The shape.
    pub mode: Mode,
    /// Who rules at a run's end.
    pub authority: Authority,
    /// Working directory.
    pub cwd: String,
    /// The launch key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LaunchKey>,
    /// The launch prompt, in the log.
    pub prompt: TextRef,
    /// The last prompt given to launch, request or resume, in the log.
    pub operator_prompt: TextRef,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The free keys.
    #[serde(skip)]
    pub interface: BTreeMap<String, String>,
    /// The reserved slices that are stored as given.
    #[serde(skip)]
    pub slices: BTreeMap<String, serde_json::Value>,
    /// The parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Root of the dispatch tree.
    pub root_session_id: SessionId,
    /// Depth in it.
    pub depth: u32,
    /// The session this one follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<SessionId>,
    /// When it was created.
    pub started: Timestamp,
    /// When its last event was written.
    pub updated: Timestamp,
    /// Since when the work state is what it is.
    pub state_since: Timestamp,
    /// The shelf.
    pub retention: Retention,
    /// True under a tombstone.
    pub discarded: bool,
    /// What decided the lifecycle since the last run start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
    /// A run that shall start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The newest id of the harness's own conversation; older ones stay on their runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_session_id: Option<String>,
    /// Runs so far.
    pub run_count: u64,
    /// The newest runs, oldest first.
    pub runs: Vec<Run>,
    /// Results so far.
    pub result_count: u64,
    /// The newest result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_result: Option<ResultRef>,
    /// Questions without an answer that was taken.
    pub questions: Vec<Question>,
    /// Results owed to this session.
    #[serde(skip)]
    pub dispatches: Vec<Dispatch>,
    /// Notes so far.
    pub note_count: u64,
    /// Artifacts so far.
    pub artifact_count: u64,
    /// The newest artifacts, oldest first.
    pub artifacts: Vec<String>,
    /// What waits to wake it.
    pub pending: Pending,
}

impl Session {
    /// Returns the newest run.
    pub fn current_run(&self) -> Option<&Run> {
        self.runs.last()
    }

    /// Returns the newest run when its end is not recorded.
    pub fn live_run(&self) -> Option<&Run> {
        self.current_run().filter(|r| r.is_live())
    }

    /// Returns a run by id, among the newest ones.
    pub fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.iter().find(|r| r.id == id)
    }

    /// Returns the open blocking question that holds the current run.
    pub fn blocking_question(&self) -> Option<&Question> {
        let current = self.current_run().map(|r| r.id);
        self.questions
            .iter()
            .find(|q| q.is_open() && q.kind == QuestionKind::Blocking && q.run_id == current)
    }

    /// True when an answer waits that neither its waiter took nor a wake carried.
    pub fn has_untaken_answer(&self) -> bool {
        self.questions.iter().any(|q| !q.is_open())
    }

    /// True when the current run's blocking question has an answer that its waiter did not take.
    pub fn has_answer_for_current_run(&self) -> bool {
        let current = self.current_run().map(|r| r.id);
        self.questions
            .iter()
            .any(|q| !q.is_open() && q.kind == QuestionKind::Blocking && q.run_id == current)
    }

    /// Derives the work state: completion in log order, then an open blocking question, then
    /// working.
    pub fn work_state(&self) -> WorkState {
        if self.discarded {
            return WorkState::Abandoned;
        }
        if let Some(state) = self.completion.and_then(Completion::work_state) {
            return state;
        }
        if self.blocking_question().is_some() { WorkState::NeedsInput } else { WorkState::Working }
    }

    /// True when a kill is what decided the session.
    pub fn is_killed(&self) -> bool {
        self.completion == Some(Completion::Ended(EndReason::Killed))
    }

    /// True when the session runs without a person at a terminal.
    pub fn is_unattended(&self) -> bool {
        self.mode != Mode::Interactive
    }

    /// Returns `runtime/profile`, or the runtime alone.
    pub fn target(&self) -> String {
        match &self.profile {
            Some(profile) => format!("{}/{profile}", self.runtime),
            None => self.runtime.clone(),
        }
    }

    /// Returns how many dispatched children count against the fan-out cap.
    pub fn live_dispatch_count(&self) -> usize {
        self.dispatches.len()
    }

    /// Returns the ids of the first run, while no run was started.
    pub fn unstarted_first_run(&self) -> Option<FirstRun> {
        let intent = self.intent.as_ref().filter(|_| self.run_count == 0)?;
        Some(FirstRun { run_id: intent.run_id, turn_id: intent.turn_id })
    }
}
