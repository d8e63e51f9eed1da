//! What the tools do: what the verbs of their names do, with an answer instead of a print.

pub(super) use creel_record::Disposition;
use creel_record::command::returning::{Return, return_turn};
use creel_record::command::{keep, question};
use creel_record::{RequestId, SessionId};
use creel_spool::Store;

use crate::codes::Code;
use crate::command::session::ask::look;
use crate::command::session::returning::notify;
use crate::context::{Context, seconds};
use crate::environment::Environment;
use crate::report::Report;
use crate::scope::Selection;
use crate::waiting::Waiter;

/// Seconds a question waits without a word about it, as on the command line.
const ASK_SECONDS: u64 = 3600;

/// The session that the tools act on.
#[derive(Debug)]
pub(super) struct Actions {
    selection: Selection,
    store: Store,
    id: SessionId,
}

impl Actions {
    /// Finds the caller's session.
    ///
    /// # Errors
    /// When the environment names none, or its store can't be opened.
    pub(super) fn new(selection: &Selection) -> Result<Self, Report> {
        let mut context = Context::new(selection.clone(), Environment::capture());
        let (store, id) = context.own_session(None)?;
        Ok(Self { selection: selection.clone(), store, id })
    }

    /// A call of its own for each tool call: new ids, the present time.
    fn context(&self) -> Context {
        Context::new(self.selection.clone(), Environment::capture())
    }

    pub(super) fn return_turn(
        &self,
        payload: &str,
        disposition: Disposition,
    ) -> Result<String, Report> {
        let context = self.context();
        let request = Return { run_id: context.speaking_run(self.id)?, disposition, payload };
        let recorded =
            context.record(&self.store, self.id, |session| return_turn(session, &request))?;
        let live = recorded.session.live_run().map(|run| run.id);
        if let Some(run) = request.run_id.or(live) {
            notify(self.id, run);
        }
        let word = if recorded.already.is_some() { "Already returned" } else { "Returned" };
        Ok(format!("{word} ({disposition}). Stop now: nothing after it is part of the result."))
    }

    pub(super) fn set(&self, key: &str, value: &str) -> Result<String, Report> {
        self.context().record(&self.store, self.id, |session| keep::set(session, key, value))?;
        Ok(format!("Set: {key}"))
    }

    pub(super) fn get(&self, key: &str) -> Result<String, Report> {
        let session = self.store.read(self.id)?.snapshot.session;
        session.interface.get(key).cloned().ok_or_else(|| {
            let message = format!("session {} has no key '{key}'", self.id);
            Report::new(Code::UnknownKey, message).next("set it with the tool `set`")
        })
    }

    pub(super) fn note(&self, text: &str) -> Result<String, Report> {
        self.context().record(&self.store, self.id, |_| keep::note(text))?;
        Ok("Noted".to_owned())
    }

    pub(super) fn register(&self, title: &str, description: &str) -> Result<String, Report> {
        self.context()
            .record(&self.store, self.id, |session| keep::register(session, title, description))?;
        Ok(format!("Registered: {title} — {description}"))
    }

    /// Asks and waits; the answer isn't taken yet.
    pub(super) fn ask(
        &self,
        request: RequestId,
        (text, timeout): (&str, Option<u64>),
    ) -> Result<String, Report> {
        let context = self.context();
        let run = context.speaking_run(self.id)?;
        // Watched before it is asked, so that no answer comes unseen.
        let mut waiter = Waiter::new(&self.store)?;
        context.append(&self.store, self.id, |session| {
            question::ask(session, run, request, text).map(Into::into)
        })?;
        let within = seconds(Some(timeout.unwrap_or(ASK_SECONDS)));
        waiter.until(within, &[self.id], || look(&self.store, self.id, request))?.ok_or_else(|| {
            let message = format!("question {request} has no answer yet; it stays open");
            Report::new(Code::StillPending, message)
                .next("return with `await`; the answer then starts the next run")
        })
    }

    /// Marks an answer as given to the agent, so that no wake brings it again.
    pub(super) fn take(&self, request: RequestId) -> Result<(), Report> {
        self.context()
            .record(&self.store, self.id, |session| Ok(question::take(session, request)))?;
        Ok(())
    }

    /// Makes a question's id.
    pub(super) fn request_id(&self) -> RequestId {
        self.context().request_id()
    }
}
