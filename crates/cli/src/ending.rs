//! Ending sessions on purpose: the record first, so that nobody takes the end for a crash, then the
//! processes.

use std::time::Duration;

use creel_api::keeper::survivors_text;
use creel_keeper::client::{Client, ClientError};
use creel_record::command::end::{AskedEnd, request_end};
use creel_record::{EndReason, Run, Session, SessionId};
use creel_spool::Store;
use creel_sys::process::{ProcessIdentity, Signal};

use crate::codes::Code;
use crate::context::Context;
use crate::dispatching::living_children;
use crate::kinship::{self, Act};
use crate::output::say;
use crate::report::{Report, chain};
use crate::settings::Settings;
use crate::starting::right::{self, Doubt, Patience};

/// How long a keeper may take to answer: it does nothing that takes longer than a sync.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How long an asked run may take to be gone: the longest grace of the built-in recipes, the time
/// after which what is left is killed, and as much again for a busy machine.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// The end of one session.
#[derive(Debug)]
pub(crate) struct Ending {
    /// The store.
    pub(crate) store: Store,
    /// The session.
    pub(crate) id: SessionId,
    /// The verb, for messages.
    pub(crate) verb: &'static str,
    /// What is asked for.
    pub(crate) asked: AskedEnd,
    /// Whether children that still work stand in the way.
    pub(crate) children: Children,
}

/// What is done about children that still work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Children {
    /// They are in the way, and listed.
    Refuse,
    /// They run on without their parent.
    Leave,
}

impl Ending {
    /// Ends the session: checks that the caller may, records the end, and sees the processes out.
    ///
    /// Called from inside the session, it doesn't wait, since it would wait for itself.
    ///
    /// # Errors
    /// When the caller may not, children are in the way, the record refuses, or the processes
    /// can't be proven dead; the end is recorded in the last case.
    pub(crate) fn run(&self, context: &mut Context) -> Result<(), Report> {
        let before = self.store.read(self.id)?.snapshot.session;
        let caller = permitted(context, &self.store, (&before, Act::End))?;
        self.check_children(&before)?;
        let recorded =
            context.record(&self.store, self.id, |session| request_end(session, &self.asked))?;
        let word = if recorded.already.is_some() { "Already" } else { "Recorded" };
        say(&format!("{word}: {} {}", self.asked.reason, self.id));
        let Some(run) = recorded.session.live_run() else { return Ok(()) };
        context.output.flush()?;
        let inside = caller == Some(self.id) || context.environment.caller()? == Some(self.id);
        see_out((&self.store, self.verb), &recorded.session, run, inside)
    }

    fn check_children(&self, session: &Session) -> Result<(), Report> {
        if self.children == Children::Leave {
            return Ok(());
        }
        let living = living_children(&self.store, session)?;
        if living.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = living
            .iter()
            .map(|child| format!("{} ({}, {})", child.id, child.target(), child.work_state()))
            .collect();
        let message = format!(
            "session {} has children that still work: {}; nothing was changed",
            self.id,
            list.join(", ")
        );
        let next = format!(
            "creel wait {}, or: creel {} {} --force",
            self.list_ids(&living),
            self.verb,
            self.id
        );
        Err(Report::new(Code::ChildrenLive, message).next(next))
    }

    fn list_ids(&self, living: &[Session]) -> String {
        living.iter().map(|child| child.id.to_string()).collect::<Vec<_>>().join(" ")
    }
}

/// Checks that the caller may act on a session; returns it.
///
/// # Errors
/// When it may not, or the user's settings can't be read.
pub(crate) fn permitted(
    context: &Context,
    store: &Store,
    target: (&Session, Act),
) -> Result<Option<SessionId>, Report> {
    let caller = kinship::caller(context)?;
    let settings = match caller {
        Some(_) => Settings::load(&context.environment.config_dir()?)?,
        None => Settings::default(),
    };
    kinship::check(caller, target, &settings, |id| Ok(store.read(id)?.snapshot.session))?;
    Ok(caller)
}

/// Tells the keeper of a run that its end is recorded, and waits until its processes are gone.
///
/// # Errors
/// When nobody answers and the processes can't be proven dead.
pub(crate) fn see_out(
    (store, verb): (&Store, &'static str),
    session: &Session,
    run: &Run,
    inside: bool,
) -> Result<(), Report> {
    match tell(session.id, run, inside) {
        Ok(Told::Heard | Told::Gone) => Ok(()),
        Ok(Told::StillThere { survivors }) => {
            let message = format!(
                "the end of session {} is recorded, and its run {} is still being ended; it lives \
                 on in {survivors}",
                session.id, run.number
            );
            Err(Report::new(Code::MaybeAlive, message)
                .next(format!("creel inspect {}", session.id)))
        }
        Err(error) if inside => {
            // The keeper finds the end in the record when it looks next.
            say(&format!("creel: the keeper was not told: {}", chain(&error)));
            Ok(())
        }
        // The run may be over by now, or nobody is left to end it.
        Err(_) => without_keeper((store, verb), session, run),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    /// The keeper knows.
    Heard,
    /// The run is over.
    Gone,
    /// The run is not over in time.
    StillThere {
        /// What lives on, in words.
        survivors: String,
    },
}

fn tell(id: SessionId, run: &Run, inside: bool) -> Result<Told, ClientError> {
    let reason = run.end_requested.unwrap_or(EndReason::Ended);
    let mut client = Client::connect(id, run.id, ANSWER_WITHIN)?;
    client.end(reason, ANSWER_WITHIN)?;
    if inside {
        return Ok(Told::Heard);
    }
    if client.wait_closed(GONE_WITHIN)? {
        return Ok(Told::Gone);
    }
    let survivors = survivors_text(&client.status(ANSWER_WITHIN)?.survivors);
    let survivors = if survivors.is_empty() { "its agent".to_owned() } else { survivors };
    Ok(Told::StillThere { survivors })
}

/// Ends a run whose keeper doesn't answer: by its lease, which is free once its holder is dead.
fn without_keeper(
    (store, verb): (&Store, &'static str),
    session: &Session,
    run: &Run,
) -> Result<(), Report> {
    if right::win(store, session.id, (Doubt::Refuse, Patience::WhileLeaving))?.is_some() {
        return Ok(());
    }
    if verb == "kill"
        && let Some(holder) = &run.holder
    {
        let holder = ProcessIdentity {
            pid: holder.pid,
            start_ticks: holder.start_ticks,
            boot_id: holder.boot_id.clone(),
        };
        let killed = holder.signal(Signal::KILL);
        if killed.is_ok()
            && right::win(store, session.id, (Doubt::Refuse, Patience::AfterDeath))?.is_some()
        {
            return Ok(());
        }
    }
    let message = format!(
        "the end of session {} is recorded, but its run {} is still held by a process that does \
         not answer",
        session.id, run.number
    );
    Err(Report::new(Code::MaybeAlive, message).next(format!("creel kill {}", session.id)))
}
