//! What every verb is given: the command line's common flags, the environment, the clock, new ids,
//! and the places that follow from them.

use std::time::Duration;

use creel_record::event::Draft;
use creel_record::{
    EventId, Fact, RequestId, RunId, SessionId, Source, ThreadId, Timestamp, TurnId,
};
use creel_sys::boot;

use crate::codes::Code;
use crate::environment::{Environment, SESSION_ID};
use crate::output::{Output, say};
use crate::report::Report;
use crate::scope::{Scope, Selection};

mod store;

pub(crate) use store::Recorded;

/// One call of one verb.
#[derive(Debug)]
pub(crate) struct Context {
    /// What the environment says.
    pub(crate) environment: Environment,
    /// Where data goes.
    pub(crate) output: Output,
    selection: Selection,
    is_quiet: bool,
    actor: Option<Source>,
}

impl Context {
    /// Puts a call together.
    pub(crate) fn new(selection: Selection, environment: Environment) -> Self {
        Self { environment, output: Output::new(), selection, is_quiet: false, actor: None }
    }

    /// Returns the common flags about the store.
    pub(crate) fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Finds the store to use, and tells the person once when one was passed over.
    ///
    /// # Errors
    /// As [`Scope::find`].
    pub(crate) fn scope(&mut self) -> Result<Scope, Report> {
        let scope = Scope::find(&self.selection, &self.environment)?;
        if !self.is_quiet
            && let Some(notice) = scope.notice()
        {
            say(&notice);
            self.is_quiet = true;
        }
        Ok(scope)
    }

    /// Returns the wall clock's time.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(boot::wall_time_ms()).unwrap_or(i64::MAX))
    }

    /// Acts under another name than the caller's: maintenance and keepers speak for themselves.
    pub(crate) fn act_as(&mut self, actor: Source) {
        self.actor = Some(actor);
    }

    /// Returns who causes what this verb appends.
    ///
    /// # Errors
    /// When `ORBH_SESSION_ID` holds no id.
    pub(crate) fn source(&self) -> Result<Source, Report> {
        if let Some(actor) = &self.actor {
            return Ok(actor.clone());
        }
        Ok(self.environment.caller()?.map_or(Source::Operator, Source::Session))
    }

    /// Makes an event of a fact: now, by the caller, under a new id.
    ///
    /// # Errors
    /// As [`Context::source`].
    pub(crate) fn draft(&self, fact: Fact) -> Result<Draft, Report> {
        let id = self.event_id();
        Ok(Draft { id, source: self.source()?, time: self.now(), fact })
    }

    /// Makes a new event's id.
    pub(crate) fn event_id(&self) -> EventId {
        EventId::from_uuid(self.ordered())
    }

    /// Makes a new session's id.
    pub(crate) fn session_id(&self) -> SessionId {
        SessionId::from_uuid(uuid::Uuid::new_v4())
    }

    /// Makes a new run's id.
    pub(crate) fn run_id(&self) -> RunId {
        RunId::from_uuid(self.ordered())
    }

    /// Makes a new turn's id.
    pub(crate) fn turn_id(&self) -> TurnId {
        TurnId::from_uuid(self.ordered())
    }

    /// Makes a new question's id.
    pub(crate) fn request_id(&self) -> RequestId {
        RequestId::from_uuid(self.ordered())
    }

    /// Makes a new thread's id.
    pub(crate) fn thread_id(&self) -> ThreadId {
        ThreadId::from_uuid(self.ordered())
    }

    fn ordered(&self) -> uuid::Uuid {
        let ms = boot::wall_time_ms();
        let nanoseconds = u32::try_from(ms % 1000).unwrap_or(0) * 1_000_000;
        uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, ms / 1000, nanoseconds))
    }

    /// Returns the run that the caller speaks for, when it speaks for its own session: a late
    /// return of an older run must not pass for one of the newest.
    ///
    /// # Errors
    /// When a variable holds no id.
    pub(crate) fn speaking_run(&self, session: SessionId) -> Result<Option<RunId>, Report> {
        if self.environment.caller()? == Some(session) {
            self.environment.calling_run()
        } else {
            Ok(None)
        }
    }

    /// Returns the id a verb acts on as it was typed: the given one, else the caller's own session.
    ///
    /// # Errors
    /// When there is neither.
    pub(crate) fn own_or(&self, given: Option<&str>) -> Result<String, Report> {
        given.map(str::to_owned).or_else(|| self.environment.session_id.clone()).ok_or_else(|| {
            let message = format!("no session is named, and {SESSION_ID} is not set");
            Report::new(Code::NoSession, message).next("creel list")
        })
    }
}

/// Returns a duration from a flag in whole seconds; none is the longest wait there is.
pub(crate) fn seconds(flag: Option<u64>) -> Duration {
    flag.map_or(creel_sys::MAX_WAIT, |s| Duration::from_secs(s).min(creel_sys::MAX_WAIT))
}
