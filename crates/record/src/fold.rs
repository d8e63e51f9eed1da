//! The fold: what one more event makes of a session.
//!
//! Infallible once the first event is a creation: an event that names a run or question that is not
//! there changes nothing but `updated`, since writers check before they append and a stored fact is
//! never refused afterwards.

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

use crate::event::fact::{
    DispatchClaimed, DispatchSettled, NativeIdentified, RequestAsked, RunEndRequested, RunEnded,
    RunIntended, RunReturned, RunSpawned, RunStarted, SessionCreated, TurnStarted,
};
use crate::event::{Event, Fact};
use crate::ids::{EventId, RequestId, RunId};
use crate::limits::{MAX_RECENT_ARTIFACTS, MAX_RECENT_RUNS};
use crate::question::Question;
use crate::run::{LineRef, ResultRef, Run, TextRef};
use crate::session::{Completion, Intent, Pending, Session};
use crate::source::Source;
use crate::time::Timestamp;
use crate::words::{Cause, Disposition, EndReason, Outcome, QuestionKind, Retention};

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

/// Returns the hex SHA-256 of a payload, as [`ResultRef`] stores it.
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
        environment: created.environment.clone(),
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
            Fact::TurnStarted(data) => self.open_turn(data),
            Fact::RunReturned(data) => self.returned(data, cursor),
            Fact::RunEndRequested(data) => {
                self.request_end(data, cursor);
                self.store_last_result(data.result.as_deref(), cursor);
            }
            Fact::RunEnded(data) => self.ended(data, cursor),
            Fact::RequestAsked(data) => self.ask(data, cursor),
            Fact::RequestAnswered(data) => {
                self.answer(data.request_id, cursor.text(&data.response));
            }
            Fact::AnswerTaken(data) => {
                self.questions.retain(|q| q.id != data.request_id || q.is_open());
            }
            Fact::RequestCancelled(data) => self.questions.retain(|q| q.id != data.request_id),
            Fact::MessageReceived(_) | Fact::RoomNoticed(_) => self.pend(cursor.sequence),
            Fact::WakeScheduled(data) => self.pending.wake_at = data.wake_at,
            Fact::DispatchClaimed(data) => self.claim(data, cursor),
            Fact::DispatchMaterialized(data) => {
                for dispatch in &mut self.dispatches {
                    dispatch.is_materialized |= dispatch.child_session_id == data.child_session_id
                        && dispatch.initiated_run_id == data.initiated_run_id;
                }
            }
            Fact::DispatchSettled(data) => self.settle(data, cursor.sequence),
        }
        Step::default()
    }

    fn set_slice(&mut self, slice: &str, value: &serde_json::Value) {
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

    /// Records a verdict on the session; whatever started next would be another story.
    fn verdict(&mut self, reason: EndReason) {
        match reason {
            EndReason::Closed | EndReason::Ended => self.retention = Retention::Closed,
            EndReason::Parked => self.retention = Retention::Parked,
            EndReason::Discarded => {
                self.discarded = true;
                self.retention = Retention::Closed;
            }
            EndReason::Killed => {}
            _ => return,
        }
        self.intent = None;
        self.completion = Some(Completion::Ended(reason));
    }

    fn request_end(&mut self, data: &RunEndRequested, cursor: &Cursor<'_>) {
        let reason = data.reason;
        let Some(run) = self.run_mut(data.run_id).filter(|r| r.is_live()) else { return };
        run.end_requested = Some(reason);
        let keeps_return = reason == EndReason::Killed && run.is_returned();
        if !keeps_return {
            self.verdict(reason);
        }
        if let Some(next) = &data.follow_up {
            self.intent = Some(Intent {
                run_id: next.run_id,
                turn_id: next.turn_id,
                cause: Cause::Interrupt,
                prompt: cursor.text(&next.prompt),
            });
        }
    }

    fn intend(&mut self, data: &RunIntended, cursor: &Cursor<'_>) {
        self.intent = Some(Intent {
            run_id: data.run_id,
            turn_id: data.turn_id,
            cause: Cause::Wake,
            prompt: cursor.text(&data.prompt),
        });
        self.pending.delivered_sequence = data.through_sequence;
        if self.pending.last_sequence.is_none_or(|last| last <= data.through_sequence) {
            self.pending.first_sequence = None;
            self.pending.last_sequence = None;
            self.pending.count = 0;
        }
        if self.pending.wake_at.is_some_and(|at| at <= cursor.at) {
            self.pending.wake_at = None;
        }
        self.questions.retain(Question::is_open);
    }

    fn start(&mut self, data: &RunStarted, cursor: &Cursor<'_>) -> Step {
        let intended = self.intent.take().filter(|i| i.run_id == data.run_id).map(|i| i.prompt);
        let prompt = match &data.prompt {
            Some(text) => cursor.text(text),
            None => intended.unwrap_or(self.operator_prompt),
        };
        if data.cause.carries_operator_prompt() {
            self.operator_prompt = prompt;
        }
        self.completion = None;
        self.discarded = false;
        self.retention = Retention::Active;
        // An older run's unanswered question would hold nothing any more.
        self.questions.retain(|q| q.kind == QuestionKind::Deferred || !q.is_open());
        self.run_count = data.number;
        self.runs.push(Run {
            id: data.run_id,
            number: data.number,
            turn_id: data.turn_id,
            turn_count: 1,
            cause: data.cause,
            attempt: data.attempt,
            continues_run_id: data.continues_run_id,
            prompt,
            started: cursor.at,
            ended: None,
            machine_id: data.machine_id.clone(),
            boot_id: data.boot_id.clone(),
            agent: None,
            holder: None,
            cgroup: None,
            native_session_id: None,
            end_requested: None,
            end_reason: None,
            exit_code: None,
            signal: None,
            detail: None,
            result: None,
        });
        let evicted = (self.runs.len() > MAX_RECENT_RUNS).then(|| self.runs.remove(0));
        Step { evicted }
    }

    fn run_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().find(|r| r.id == id)
    }

    fn spawned(&mut self, data: &RunSpawned) {
        if let Some(run) = self.run_mut(data.run_id) {
            run.agent = Some(data.agent.clone());
            run.holder = Some(data.holder.clone());
            run.cgroup.clone_from(&data.cgroup);
        }
    }

    fn identified(&mut self, data: &NativeIdentified) {
        if let Some(run) = self.run_mut(data.run_id) {
            run.native_session_id = Some(data.native_session_id.clone());
            self.native_session_id = Some(data.native_session_id.clone());
        }
    }

    fn open_turn(&mut self, data: &TurnStarted) {
        let Some(run) = self.runs.last_mut().filter(|r| r.id == data.run_id && r.is_live()) else {
            return;
        };
        run.turn_id = data.turn_id;
        run.turn_count += 1;
        self.completion = None;
        self.retention = Retention::Active;
    }

    fn returned(&mut self, data: &RunReturned, cursor: &Cursor<'_>) {
        let is_current = self.current_run().is_some_and(|r| r.id == data.run_id);
        let Some(run) = self.runs.iter_mut().find(|r| r.id == data.run_id) else { return };
        let is_late = run.ended.is_some() || !is_current;
        let result = ResultRef {
            event_id: cursor.event_id,
            turn_id: data.turn_id,
            run_number: run.number,
            disposition: data.disposition,
            payload: cursor.text(&data.payload),
            sha256: payload_digest(&data.payload),
            source: cursor.source.clone(),
            at: cursor.at,
            is_late,
        };
        run.result = Some(result.clone());
        self.result_count += 1;
        self.latest_result = Some(result);
        if !is_late {
            self.completion = Some(Completion::Returned(data.disposition));
            self.pending.wake_at = None;
            // A question of a turn that returned needs no answer any more.
            self.questions
                .retain(|q| !(q.kind == QuestionKind::Blocking && q.run_id == Some(data.run_id)));
        }
    }

    fn store_last_result(&mut self, payload: Option<&str>, cursor: &Cursor<'_>) {
        let (Some(payload), Some(run)) = (payload, self.runs.last_mut()) else { return };
        let result = ResultRef {
            event_id: cursor.event_id,
            turn_id: run.turn_id,
            run_number: run.number,
            disposition: Disposition::Finish,
            payload: cursor.text(payload),
            sha256: payload_digest(payload),
            source: cursor.source.clone(),
            at: cursor.at,
            is_late: run.ended.is_some(),
        };
        run.result = Some(result.clone());
        self.result_count += 1;
        self.latest_result = Some(result);
    }

    fn ended(&mut self, data: &RunEnded, cursor: &Cursor<'_>) {
        let is_current = self.current_run().is_some_and(|r| r.id == data.run_id);
        let is_unattended = self.is_unattended();
        let Some(run) = self.run_mut(data.run_id).filter(|r| r.ended.is_none()) else { return };
        run.ended = Some(cursor.at);
        run.end_reason = Some(data.reason);
        run.exit_code = data.exit_code;
        run.signal = data.signal;
        run.detail = data
            .detail
            .as_ref()
            .map(|d| d.chars().take(crate::command::MAX_DETAIL_CHARS).collect());
        let disposition = run.disposition();
        if !is_current {
            return;
        }
        let is_completing = matches!(
            data.reason,
            EndReason::Lost
                | EndReason::FailedUnreturned
                | EndReason::ProviderError
                | EndReason::SpawnFailed
        );
        if is_completing && self.completion.is_none() {
            self.completion = Some(Completion::Ended(data.reason));
        }
        if is_unattended {
            self.shelve(data.reason, disposition);
        }
    }

    /// Shelves an unattended session at its run's end; a shelf that a verb set stays.
    fn shelve(&mut self, reason: EndReason, disposition: Option<Disposition>) {
        if matches!(
            self.completion,
            Some(Completion::Ended(
                EndReason::Closed | EndReason::Parked | EndReason::Discarded | EndReason::Ended
            ))
        ) {
            return;
        }
        self.retention = match disposition {
            Some(Disposition::Finish) => Retention::Finished,
            Some(Disposition::Await) => Retention::Parked,
            None if reason.is_deliberate() && reason != EndReason::Killed => self.retention,
            None => Retention::Error,
        };
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

    /// Counts one more thing to wake for.
    fn pend(&mut self, sequence: u64) {
        self.pending.first_sequence.get_or_insert(sequence);
        self.pending.last_sequence = Some(sequence);
        self.pending.count += 1;
    }

    fn claim(&mut self, data: &DispatchClaimed, cursor: &Cursor<'_>) {
        self.dispatches.push(crate::dispatch::Dispatch {
            child_session_id: data.child_session_id,
            initiated_run_id: data.initiated_run_id,
            started_at: cursor.at,
            is_materialized: false,
        });
    }

    fn settle(&mut self, data: &DispatchSettled, sequence: u64) {
        let before = self.dispatches.len();
        self.dispatches.retain(|d| {
            d.child_session_id != data.child_session_id
                || d.initiated_run_id != data.initiated_run_id
        });
        if self.dispatches.len() < before && !data.is_collected && data.outcome != Outcome::Pending
        {
            self.pend(sequence);
        }
    }
}
