//! What the record owes a session, as a run to start. To be asked with the lease won.

use creel_record::command::start::{Wake, wake};
use creel_record::event::fact::DispatchSettled;
use creel_record::run::TextRef;
use creel_record::words::Outcome;
use creel_record::{Cause, Fact, Owed, Refusal, Session, SessionId, Source, decide};
use creel_spool::{Change, EventsFrom, Store, TransactError};

use crate::context::Context;
use crate::convert::write_failure_in;
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::composition::{NativeContext, Wanted};
use crate::starting::digest::{Note, digest};

/// Who asks for what is owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// The call.
    pub(crate) context: &'a Context,
    /// The store.
    pub(crate) store: &'a Store,
    /// The catalog and the rest.
    pub(crate) starter: &'a Starter,
}

impl Asker<'_> {
    /// Returns the run that `session` is owed now, and the session as it is then; a wake is first
    /// recorded as an intent, so that whoever comes next starts the same run.
    ///
    /// # Errors
    /// When the record can't be read or written, or the target is gone from the catalog.
    pub(crate) fn owed(&self, session: Session) -> Result<Option<(Session, Wanted)>, Report> {
        match decide(&session, self.context.now()) {
            Owed::Nothing | Owed::LiveRun => Ok(None),
            Owed::StartIntended => self.intended(session),
            Owed::Reprompt { attempt } => self.reprompt(session, attempt).map(Some),
            Owed::Wake { .. } => {
                let session = self.intend_wake(&session)?;
                self.intended(session)
            }
        }
    }

    fn intended(&self, session: Session) -> Result<Option<(Session, Wanted)>, Report> {
        let Some(intent) = &session.intent else { return Ok(None) };
        let prompt = self.text(&session, intent.prompt)?;
        let operator_prompt = if intent.cause.carries_operator_prompt() {
            prompt.clone()
        } else {
            self.text(&session, session.operator_prompt)?
        };
        let wanted = Wanted {
            run_id: intent.run_id,
            turn_id: intent.turn_id,
            cause: intent.cause,
            prompt,
            operator_prompt,
            context: NativeContext::ContinueOrFresh,
            source: self.context.source()?,
        };
        Ok(Some((session, wanted)))
    }

    fn reprompt(&self, session: Session, attempt: u32) -> Result<(Session, Wanted), Report> {
        let target = self.starter.target_of(self.store, &session)?.target;
        let wanted = Wanted {
            run_id: self.context.run_id(),
            turn_id: self.context.turn_id(),
            cause: Cause::Reprompt,
            prompt: target.reprompt_text(&session.id.to_string(), attempt),
            operator_prompt: self.text(&session, session.operator_prompt)?,
            context: NativeContext::ContinueOrFresh,
            source: self.context.source()?,
        };
        Ok((session, wanted))
    }

    fn text(&self, session: &Session, text: TextRef) -> Result<String, Report> {
        self.store.text(session.id, text).map_err(Report::from)
    }

    /// Appends the intent of a wake: the digest of all that waits, and the cursor's advance.
    fn intend_wake(&self, session: &Session) -> Result<Session, Report> {
        let notes = self.notes(session)?;
        let digest = digest(&session.id.to_string(), &notes);
        let answered = session.questions.iter().filter(|question| !question.is_open());
        // What came in since, or didn't fit, is delivered by the next wake.
        let wanted = Wake {
            run_id: self.context.run_id(),
            turn_id: self.context.turn_id(),
            prompt: digest.text,
            through_sequence: digest.through_sequence,
            request_ids: answered.map(|question| question.id).collect(),
        };
        let now = self.context.now();
        self.context.append(self.store, session.id, |session| {
            wake(session, wanted.clone(), now).map(Into::into)
        })
    }

    /// Collects what waits, in the order it came in; answers and a due time last.
    fn notes(&self, session: &Session) -> Result<Vec<Note>, Report> {
        let mut notes = Vec::new();
        let pending = &session.pending;
        if let Some(last) = pending.last_sequence {
            let events =
                self.store.events(session.id, EventsFrom::After(pending.delivered_sequence))?;
            for stored in events {
                let event = stored?.event;
                if event.sequence > last {
                    break;
                }
                notes.extend(self.note_of(
                    session.id,
                    (event.sequence, &event.source),
                    event.fact,
                )?);
            }
        }
        for question in &session.questions {
            let Some(answer) = question.answer else { continue };
            let asked = self.text(session, question.text)?;
            let answer = self.text(session, answer)?;
            notes.push(Note {
                sequence: None,
                what: "answer",
                from: "the operator".to_owned(),
                text: format!("Question: {asked}\nAnswer: {answer}"),
                whole: format!("creel events {}", session.id),
            });
        }
        if let Some(due) = pending.wake_at.filter(|at| *at <= self.context.now()) {
            notes.push(Note {
                sequence: None,
                what: "time",
                from: "the schedule".to_owned(),
                text: format!("The wake scheduled for {due} is due."),
                whole: String::new(),
            });
        }
        Ok(notes)
    }

    fn note_of(
        &self,
        session: SessionId,
        (sequence, source): (u64, &Source),
        fact: Fact,
    ) -> Result<Option<Note>, Report> {
        let whole = format!("creel events {session}");
        let (what, from, text, whole) = match fact {
            Fact::MessageReceived(data) => ("message", name_of(source), data.text, whole),
            Fact::RoomNoticed(data) => ("room activity", data.room, data.text, whole),
            Fact::DispatchSettled(data) if !data.is_collected => {
                let child = data.child_session_id;
                let number = data.run_number.map_or(String::new(), |n| format!(" --run {n}"));
                let whole = format!("creel result {child}{number}");
                ("result", format!("session {child}"), self.result_of(&data)?, whole)
            }
            _ => return Ok(None),
        };
        Ok(Some(Note { sequence: Some(sequence), what, from, text, whole }))
    }

    /// Returns what a settled child gave, as a text.
    fn result_of(&self, settled: &DispatchSettled) -> Result<String, Report> {
        let child = settled.child_session_id;
        let (Outcome::Result, Some(number)) = (settled.outcome, settled.run_number) else {
            return Ok(format!("No result: {}. See: creel inspect {child}", settled.outcome));
        };
        let session = self.store.read(child)?.snapshot.session;
        let run = self.store.run(child, &session, number)?;
        match run.result {
            Some(result) => Ok(self.store.text(child, result.payload)?),
            None => Ok(format!("See: creel result {child} --run {number}")),
        }
    }
}

/// Reads a session under its lock: a decision wants more than what is published, which a full disk
/// may have kept from being replaced.
///
/// # Errors
/// When the log can't be read or locked.
pub(crate) fn session_now(store: &Store, id: SessionId) -> Result<Session, Report> {
    let look = |session: &Session| Ok::<_, Refusal>(Change::Nothing(session.clone()));
    match store.transact(id, look) {
        Ok(committed) => Ok(committed.value),
        Err(TransactError::Write(error)) => Err(write_failure_in(store, &error)),
        Err(TransactError::Refused(refusal)) => Err(refusal.into()),
    }
}

fn name_of(source: &Source) -> String {
    match source {
        Source::Operator => "the operator".to_owned(),
        Source::Session(id) => format!("session {id}"),
        other => other.to_string(),
    }
}
