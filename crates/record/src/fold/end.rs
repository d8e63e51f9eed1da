//! Folding ends: verdicts on the session, ends asked for, and the exit facts of a run.

use crate::event::fact::{RunEndRequested, RunEnded};
use crate::fold::Cursor;
use crate::limits::{MAX_DETAIL_BYTES, MAX_REPROMPTS, truncated};
use crate::session::{Completion, Intent, Session};
use crate::words::{Authority, Cause, Disposition, EndReason, Retention};

impl Session {
    /// Records a verdict on the session; whatever started next would be another story.
    pub(super) fn verdict(&mut self, reason: EndReason) {
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
        self.drop_intent();
        if reason != EndReason::Parked {
            self.pending.wake_at = None;
        }
        self.completion = Some(Completion::Ended(reason));
    }

    pub(super) fn end_requested(&mut self, data: &RunEndRequested, cursor: &Cursor<'_>) {
        let reason = data.reason;
        let Some(run) = self.run_mut(data.run_id).filter(|r| r.is_live()) else { return };
        run.end_requested = Some(reason);
        if reason == EndReason::Killed && run.is_returned() {
            // The return stands: this kill only ends a process that has nothing more to say.
            self.drop_intent();
        } else {
            self.verdict(reason);
        }
        if let Some(next) = &data.follow_up {
            self.drop_intent();
            self.intent = Some(Intent {
                run_id: next.run_id,
                turn_id: next.turn_id,
                cause: Cause::Interrupt,
                prompt: cursor.text(&next.prompt),
                held: None,
                request_ids: Vec::new(),
            });
        }
        self.store_last_result(data.result.as_deref(), cursor);
    }

    pub(super) fn ended(&mut self, data: &RunEnded, cursor: &Cursor<'_>) {
        let is_current = self.current_run().is_some_and(|r| r.id == data.run_id);
        let Some(run) = self.run_mut(data.run_id).filter(|r| r.is_live()) else { return };
        run.ended = Some(cursor.at);
        run.end_reason = Some(data.reason);
        run.exit_code = data.exit_code;
        run.signal = data.signal;
        run.detail = data.detail.as_deref().map(|d| truncated(d, MAX_DETAIL_BYTES).to_owned());
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
        if self.is_unattended() {
            if data.reason == EndReason::Returned && self.completion.is_none() {
                // Its return was lost with a damaged line: the work was done, so that nothing is
                // asked for again, and an operator decides.
                self.completion = Some(Completion::Ended(EndReason::Returned));
                self.pending.wake_at = None;
            }
            self.shelve(data.reason, disposition);
        }
    }

    /// Shelves an unattended session at its run's end; a shelf that a verb set stays.
    fn shelve(&mut self, reason: EndReason, disposition: Option<Disposition>) {
        let is_set_by_verb = matches!(
            self.completion,
            Some(Completion::Ended(
                EndReason::Closed | EndReason::Parked | EndReason::Discarded | EndReason::Ended
            ))
        );
        if self.discarded || is_set_by_verb {
            return;
        }
        self.retention = match disposition {
            Some(Disposition::Finish) => Retention::Finished,
            Some(Disposition::Await) => Retention::Parked,
            None if reason.is_deliberate() && reason != EndReason::Killed => self.retention,
            None => Retention::Error,
        };
    }

    /// Fails a turn whose last run ended un-returned under a question that is now gone: nothing
    /// else would rule on it any more.
    pub(super) fn fail_if_exhausted(&mut self) {
        let is_exhausted = self.current_run().is_some_and(|run| {
            run.end_reason.is_some_and(EndReason::is_unreturned_exit)
                && run.attempt >= MAX_REPROMPTS
        });
        let is_ruled = self.is_unattended() && self.authority == Authority::Record;
        let is_held = self.blocking_question().is_some() || self.has_answer_for_current_run();
        if is_exhausted && is_ruled && !is_held && self.completion.is_none() {
            self.completion = Some(Completion::Ended(EndReason::FailedUnreturned));
        }
    }
}
