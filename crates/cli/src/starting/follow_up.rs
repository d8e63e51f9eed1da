//! A further run of a session, by an operator's prompt.

use creel_record::command::create;
use creel_record::command::start::restore;
use creel_record::{Cause, Mode, Refusal, RunId, Session, SessionId};

use crate::report::Report;
use crate::starting::composition::{NativeContext, Wanted};
use crate::starting::launch;
use crate::starting::owed::Asker;
use crate::starting::right::{self, Doubt, Patience};

/// What a further run is to do.
#[derive(Clone, Debug)]
pub(crate) struct FollowUp {
    /// Its run and turn.
    pub(crate) run_id: RunId,
    /// The prompt.
    pub(crate) text: String,
    /// Resume, request or interrupt.
    pub(crate) cause: Cause,
    /// Whether it may continue the harness's own session.
    pub(crate) native: NativeContext,
    /// True when a tombstone shall be taken back first.
    pub(crate) undiscards: bool,
}

impl Asker<'_> {
    /// Starts the run; a run that is on its way out is waited for.
    ///
    /// # Errors
    /// When a run is live, the session is discarded, or the run can't be planned; nothing was
    /// started then.
    pub(crate) fn follow_up(&self, id: SessionId, wish: FollowUp) -> Result<(), Report> {
        let before = self.store.read(id)?.snapshot.session;
        // A person may go on without a word.
        if before.mode != Mode::Interactive || !wish.text.is_empty() {
            create::prompt(&wish.text)?;
        }
        if before.discarded && !wish.undiscards {
            return Err(Refusal::Discarded { session: id }.into());
        }
        let terms = (Doubt::Refuse, Patience::WhileLeaving);
        let taken =
            right::win(self.store, id, terms)?.ok_or_else(|| right::held(self.store, id))?;
        let mut session = self.store.read(id)?.snapshot.session;
        let wanted = self.wanted(&session, wish)?;
        let tombstone = restore(&session);
        // Planned before the tombstone goes, so that a refusal leaves it.
        session.discarded = false;
        let composed = self.starter.compose(self.store, &session, &wanted)?;
        if let Some(fact) = tombstone {
            self.context.append(self.store, id, move |_| Ok(fact.clone().into()))?;
        }
        launch((self.context, self.store), &session, composed, taken.lease)
    }

    fn wanted(&self, session: &Session, wish: FollowUp) -> Result<Wanted, Report> {
        let prompt = self.with_unstarted(session, wish.text)?;
        let operator_prompt = if wish.cause.carries_operator_prompt() {
            prompt.clone()
        } else {
            self.store.text(session.id, session.operator_prompt)?
        };
        Ok(Wanted {
            run_id: wish.run_id,
            turn_id: self.context.turn_id(),
            cause: wish.cause,
            prompt,
            operator_prompt,
            context: wish.native,
            source: self.context.source()?,
        })
    }

    /// Puts what an unstarted run was to be told before the new text: starting another run drops
    /// the intent, and its text must not be lost with it. What a wake was to deliver waits again.
    fn with_unstarted(&self, session: &Session, text: String) -> Result<String, Report> {
        let Some(intent) = session.intent.as_ref().filter(|i| i.cause != Cause::Wake) else {
            return Ok(text);
        };
        let earlier = self.store.text(session.id, intent.prompt)?;
        let is_script = self.starter.target_of(self.store, session)?.target.takes_script();
        if is_script && intent.cause == Cause::Interrupt {
            // An instruction to an agent is no script.
            let commented: Vec<_> = earlier.lines().map(|line| format!("# {line}\n")).collect();
            return Ok(format!("{}{text}", commented.concat()));
        }
        Ok(format!("{earlier}\n\n{text}"))
    }
}
