//! The fold: what one more event makes of a session.
//!
//! Infallible once the first event is a creation: an event that names a run or question that is not
//! there changes nothing but `updated`, since writers check before they append and a stored fact is
//! never refused afterwards.

mod end;
mod run;

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

use crate::dispatch::Dispatch;
use crate::event::fact::{DispatchClaimed, DispatchSettled, RequestAsked, SessionCreated};
use crate::event::{Event, Fact};
use crate::ids::{EventId, RequestId};
use crate::limits::MAX_RECENT_ARTIFACTS;
use crate::question::Question;
use crate::run::{LineRef, Run, TextRef};
use crate::session::{Intent, Pending, Session};
use crate::snapshot::DERIVED_SLICES;
use crate::source::Source;
use crate::time::Timestamp;
use crate::words::{EndReason, Retention};

/// The log is not that of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The first event is something else.
    #[error("the log begins with '{type_name}' instead of a creation")]
    NotCreated {
        /// Its type.
        type_name: String,
    },
    /// A second creation.
    #[error("the log holds a second creation at sequence {sequence}")]
    CreatedTwice {
        /// Its sequence.
        sequence: u64,
    },
}

/// What a fold step leaves for others to keep.
#[derive(Debug, Default)]
pub struct Step {
    /// A run that fell out of the snapshot and now belongs to the run index.
    pub evicted: Option<Run>,
}

/// Where and when an event was written.
struct Cursor<'a> {
    line: LineRef,
    at: Timestamp,
    sequence: u64,
    event_id: EventId,
    source: &'a Source,
}

impl Cursor<'_> {
    fn text(&self, text: &str) -> TextRef {
        TextRef { line: self.line, len_bytes: text.len() as u64 }
    }
}

/// Returns the hex SHA-256 of a payload, as [`ResultRef`](crate::run::ResultRef) stores it.
pub fn payload_digest(payload: &str) -> String {
    Sha256::digest(payload.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

/// Folds a whole log, given each event with the place of its line.
///
/// # Errors
/// When the log does not begin with a creation or holds two. An empty log is no session.
pub fn fold<'a>(
    events: impl IntoIterator<Item = (&'a Event, LineRef)>,
) -> Result<Option<Session>, FoldError> {
    let mut session = None;
    for (event, line) in events {
        apply(&mut session, event, line)?;
    }
    Ok(session)
}

/// Folds one event.
///
/// # Errors
/// When the event cannot stand where it does; the session is then unchanged.
pub fn apply(
    session: &mut Option<Session>,
    event: &Event,
    line: LineRef,
) -> Result<Step, FoldError> {
    let cursor = Cursor {
        line,
        at: event.time,
        sequence: event.sequence,
        event_id: event.id,
        source: &event.source,
    };
    match (session.as_mut(), &event.fact) {
        (None, Fact::SessionCreated(created)) => {
            *session = Some(create(event, created, &cursor));
            Ok(Step::default())
        }
        (None, fact) => Err(FoldError::NotCreated { type_name: fact.type_name().to_owned() }),
        (Some(_), Fact::SessionCreated(_)) => {
            Err(FoldError::CreatedTwice { sequence: event.sequence })
        }
        (Some(session), fact) => {
            let before = session.work_state();
            let step = session.step(fact, &cursor);
            session.updated = event.time;
            if session.work_state() != before {
                session.state_since = event.time;
            }
            Ok(step)
        }
    }
}

fn create(event: &Event, created: &SessionCreated, cursor: &Cursor<'_>) -> Session {
    let prompt = cursor.text(&created.prompt);
    Session {
        id: event.subject,
        root_thread_id: created.root_thread_id,
        runtime: created.runtime.clone(),
        profile: created.profile.clone(),
        account: created.account.clone(),
        mode: created.mode,
        authority: created.authority,
        cwd: created.cwd.clone(),
        key: created.key.clone(),
        prompt,
        operator_prompt: prompt,
        title: created.title.clone(),
        description: created.description.clone(),
        interface: std::collections::BTreeMap::new(),
        slices: std::collections::BTreeMap::new(),
        parent: created.parent,
        root_session_id: created.root_session_id,
        depth: created.depth,
        continues: created.continues,
        started: event.time,
        updated: event.time,
        state_since: event.time,
        retention: Retention::Active,
        discarded: false,
        completion: None,
        intent: Some(Intent {
            run_id: created.first_run.run_id,
            turn_id: created.first_run.turn_id,
            cause: created.cause,
            prompt,
            held: None,
            request_ids: Vec::new(),
        }),
        native_session_id: None,
        run_count: 0,
        runs: Vec::new(),
        result_count: 0,
        latest_result: None,
        questions: Vec::new(),
        dispatches: Vec::new(),
        note_count: 0,
        artifact_count: 0,
        artifacts: Vec::new(),
        pending: Pending { delivered_sequence: event.sequence, ..Pending::default() },
    }
}

impl Session {
    fn step(&mut self, fact: &Fact, cursor: &Cursor<'_>) -> Step {
        match fact {
            Fact::SessionCreated(_) | Fact::Unknown(_) | Fact::LogHealed(_) => {}
            Fact::SessionRegistered(data) => {
                self.title = Some(data.title.clone());
                self.description = Some(data.description.clone());
            }
            Fact::InterfaceSet(data) => {
                self.interface.insert(data.key.clone(), data.value.clone());
            }
            Fact::SliceSet(data) => self.set_slice(&data.slice, &data.value),
            Fact::NoteAdded(_) => self.note_count += 1,
            Fact::ArtifactTracked(data) => self.track(&data.path),
            Fact::SessionClosed(_) => self.verdict(EndReason::Closed),
            Fact::SessionParked(_) => self.verdict(EndReason::Parked),
            Fact::SessionDiscarded(_) => self.verdict(EndReason::Discarded),
            Fact::SessionKilled(_) => self.verdict(EndReason::Killed),
            Fact::SessionEnded(data) => {
                self.verdict(EndReason::Ended);
                self.store_last_result(data.result.as_deref(), cursor);
            }
            Fact::SessionRestored(_) => self.discarded = false,
            Fact::AccountChanged(data) => self.account.clone_from(&data.account),
            Fact::ProfileChanged(data) => self.profile.clone_from(&data.profile),
            Fact::ModeSwitched(data) => self.mode = data.mode,
            Fact::RunIntended(data) => self.intend(data, cursor),
            Fact::RunStarted(data) => return self.start(data, cursor),
            Fact::RunSpawned(data) => self.spawned(data),
            Fact::NativeIdentified(data) => self.identified(data),
            Fact::TurnStarted(data) => self.turn_started(data),
            Fact::RunReturned(data) => self.returned(data, cursor),
            Fact::RunEndRequested(data) => self.end_requested(data, cursor),
            Fact::RunEnded(data) => self.ended(data, cursor),
            Fact::RequestAsked(data) => self.ask(data, cursor),
            Fact::RequestAnswered(data) => {
                self.answer(data.request_id, cursor.text(&data.response));
            }
            Fact::AnswerTaken(data) => {
                self.forget_question(|q| q.id == data.request_id && !q.is_open());
            }
            Fact::RequestCancelled(data) => self.forget_question(|q| q.id == data.request_id),
            Fact::MessageReceived(_) | Fact::RoomNoticed(_) => self.pend(cursor.sequence),
            Fact::WakeScheduled(data) => self.pending.wake_at = data.wake_at,
            Fact::DispatchClaimed(data) => self.claim(data, cursor),
            Fact::DispatchMaterialized(data) => {
                for dispatch in &mut self.dispatches {
                    dispatch.is_materialized |=
                        dispatch.is_of(data.child_session_id, data.initiated_run_id);
                }
            }
            Fact::DispatchSettled(data) => self.settle(data, cursor.sequence),
        }
        Step::default()
    }

    fn set_slice(&mut self, slice: &str, value: &serde_json::Value) {
        if DERIVED_SLICES.contains(&slice) {
            return;
        }
        if value.is_null() {
            self.slices.remove(slice);
        } else {
            self.slices.insert(slice.to_owned(), value.clone());
        }
    }

    fn track(&mut self, path: &str) {
        self.artifact_count += 1;
        self.artifacts.push(path.to_owned());
        if self.artifacts.len() > MAX_RECENT_ARTIFACTS {
            self.artifacts.remove(0);
        }
    }

    fn ask(&mut self, data: &RequestAsked, cursor: &Cursor<'_>) {
        self.questions.push(Question {
            id: data.request_id,
            kind: data.kind,
            run_id: data.run_id,
            text: cursor.text(&data.question),
            asked: cursor.at,
            answer: None,
        });
    }

    /// Stores an answer; it stays until its waiter took it or a wake carried it.
    fn answer(&mut self, id: RequestId, text: TextRef) {
        if let Some(question) = self.questions.iter_mut().find(|q| q.id == id && q.is_open()) {
            question.answer = Some(text);
        }
    }

    fn forget_question(&mut self, is_forgotten: impl Fn(&Question) -> bool) {
        let before = self.questions.len();
        self.questions.retain(|q| !is_forgotten(q));
        if self.questions.len() < before {
            self.fail_if_exhausted();
        }
    }

    /// Counts one more thing to wake for.
    fn pend(&mut self, sequence: u64) {
        self.pending.first_sequence.get_or_insert(sequence);
        self.pending.last_sequence = Some(sequence);
        self.pending.count += 1;
    }

    fn claim(&mut self, data: &DispatchClaimed, cursor: &Cursor<'_>) {
        if self.dispatches.iter().any(|d| d.is_of(data.child_session_id, data.initiated_run_id)) {
            return;
        }
        self.dispatches.push(Dispatch {
            child_session_id: data.child_session_id,
            initiated_run_id: data.initiated_run_id,
            started_at: cursor.at,
            is_materialized: false,
        });
    }

    fn settle(&mut self, data: &DispatchSettled, sequence: u64) {
        if !data.outcome.discharges() {
            return;
        }
        let before = self.dispatches.len();
        self.dispatches.retain(|d| !d.is_of(data.child_session_id, data.initiated_run_id));
        if self.dispatches.len() < before && !data.is_collected {
            self.pend(sequence);
        }
    }
}
