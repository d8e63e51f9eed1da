//! Folding runs: intended, started, spawned, returned.

use crate::event::fact::{
    NativeIdentified, RunIntended, RunReturned, RunSpawned, RunStarted, TurnStarted,
};
use crate::fold::{Cursor, Step, payload_digest};
use crate::ids::RunId;
use crate::limits::{
    MAX_CGROUP_BYTES, MAX_NAME_BYTES, MAX_NATIVE_ID_BYTES, MAX_OPEN_QUESTIONS, MAX_RECENT_RUNS,
    encoded_len,
};
use crate::question::Question;
use crate::run::{ResultRef, Run};
use crate::session::{Completion, Intent, Pending, Session};
use crate::words::{Cause, Disposition, EndReason, QuestionKind, Retention};

impl Session {
    pub(super) fn intend(&mut self, data: &RunIntended, cursor: &Cursor<'_>) {
        self.drop_intent();
        let through = data.through_sequence;
        let mut held = Pending { wake_at: None, ..self.pending.clone() };
        self.pending.delivered_sequence = through;
        if self.pending.last_sequence.is_none_or(|last| last <= through) {
            self.pending.first_sequence = None;
            self.pending.last_sequence = None;
            self.pending.count = 0;
        } else {
            self.pending.first_sequence =
                self.pending.first_sequence.map(|f| f.max(through.saturating_add(1)));
            held.last_sequence = held.first_sequence.map(|_| through);
            held.count = 0;
        }
        if self.pending.wake_at.is_some_and(|at| at <= cursor.at) {
            held.wake_at = self.pending.wake_at.take();
        }
        self.intent = Some(Intent {
            run_id: data.run_id,
            turn_id: data.turn_id,
            cause: Cause::Wake,
            prompt: cursor.text(&data.prompt),
            held: Some(held),
            request_ids: data.request_ids.iter().take(MAX_OPEN_QUESTIONS).copied().collect(),
        });
    }

    /// Forgets an intent that will not start; what it was to deliver waits again.
    pub(super) fn drop_intent(&mut self) {
        let Some(held) = self.intent.take().and_then(|i| i.held) else { return };
        let newer = std::mem::replace(&mut self.pending, held);
        self.pending.first_sequence = self.pending.first_sequence.or(newer.first_sequence);
        self.pending.last_sequence = newer.last_sequence.or(self.pending.last_sequence);
        self.pending.count = self.pending.count.saturating_add(newer.count);
        self.pending.wake_at = newer.wake_at.or(self.pending.wake_at);
    }

    pub(super) fn start(&mut self, data: &RunStarted, cursor: &Cursor<'_>) -> Step {
        let intended = self.intent.take_if(|i| i.run_id == data.run_id);
        self.drop_intent();
        let prompt = match (&data.prompt, &intended) {
            (Some(text), _) => cursor.text(text),
            (None, Some(intent)) => intent.prompt,
            (None, None) => self.operator_prompt,
        };
        if data.cause.carries_operator_prompt() {
            self.operator_prompt = prompt;
        }
        if let Some(wake) = intended {
            self.questions.retain(|q| q.is_open() || !wake.request_ids.contains(&q.id));
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

    pub(super) fn run_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().find(|r| r.id == id)
    }

    pub(super) fn spawned(&mut self, data: &RunSpawned) {
        if let Some(run) = self.run_mut(data.run_id) {
            run.agent = Some(data.agent.clone());
            run.holder = Some(data.holder.clone());
            run.cgroup = data.cgroup.clone().filter(|c| encoded_len(c) <= MAX_CGROUP_BYTES);
        }
    }

    pub(super) fn identified(&mut self, data: &NativeIdentified) {
        if encoded_len(&data.native_session_id) > MAX_NATIVE_ID_BYTES {
            return;
        }
        if let Some(run) = self.run_mut(data.run_id) {
            run.native_session_id = Some(data.native_session_id.clone());
            self.native_session_id = Some(data.native_session_id.clone());
        }
    }

    pub(super) fn turn_started(&mut self, data: &TurnStarted) {
        let Some(run) = self.runs.last_mut().filter(|r| r.id == data.run_id && r.is_live()) else {
            return;
        };
        run.turn_id = data.turn_id;
        run.turn_count = run.turn_count.saturating_add(1);
        // Re-prompts are counted per turn.
        run.attempt = 0;
        self.completion = None;
        self.retention = Retention::Active;
    }

    pub(super) fn returned(&mut self, data: &RunReturned, cursor: &Cursor<'_>) {
        let is_current = self.current_run().is_some_and(|r| r.id == data.run_id);
        let Some(run) = self.runs.iter_mut().find(|r| r.id == data.run_id) else { return };
        let is_ruled = run.end_requested.is_some_and(EndReason::stands_against_a_return);
        let is_late = !is_current || !run.is_live() || run.turn_id != data.turn_id || is_ruled;
        let result = ResultRef {
            event_id: cursor.event_id,
            turn_id: data.turn_id,
            run_number: run.number,
            disposition: data.disposition,
            payload: cursor.text(&data.payload),
            sha256: payload_digest(&data.payload),
            source: cursor.source.within(MAX_NAME_BYTES),
            at: cursor.at,
            is_late,
        };
        run.result = Some(result.clone());
        self.result_count += 1;
        self.latest_result = Some(result);
        if !is_late {
            self.completion = Some(Completion::Returned(data.disposition));
            self.pending.wake_at = None;
            self.settle_questions(data);
        }
    }

    /// An answer that nobody took stays owed. A turn that rests still wants what it asked; one that
    /// finished needs no answer any more.
    fn settle_questions(&mut self, data: &RunReturned) {
        let is_own = |q: &Question| {
            q.is_open() && q.kind == QuestionKind::Blocking && q.run_id == Some(data.run_id)
        };
        match data.disposition {
            Disposition::Finish => self.questions.retain(|q| !is_own(q)),
            Disposition::Await => {
                for question in self.questions.iter_mut().filter(|q| is_own(q)) {
                    question.kind = QuestionKind::Deferred;
                }
            }
        }
    }

    /// Stores the result that came with `end` on the newest run.
    pub(super) fn store_last_result(&mut self, payload: Option<&str>, cursor: &Cursor<'_>) {
        let (Some(payload), Some(run)) = (payload, self.runs.last_mut()) else { return };
        let result = ResultRef {
            event_id: cursor.event_id,
            turn_id: run.turn_id,
            run_number: run.number,
            disposition: Disposition::Finish,
            payload: cursor.text(payload),
            sha256: payload_digest(payload),
            source: cursor.source.within(MAX_NAME_BYTES),
            at: cursor.at,
            is_late: !run.is_live(),
        };
        run.result = Some(result.clone());
        self.result_count += 1;
        self.latest_result = Some(result);
    }
}
