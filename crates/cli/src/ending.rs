//! Ending sessions on purpose: the record first, so that nobody takes the end for a crash, then the
//! processes.

use std::time::Duration;

use creel_api::keeper::survivors_text;
use creel_keeper::client::{Client, ClientError};
use creel_record::command::end::{AskedEnd, request_end};
use creel_record::{EndReason, Run, Session, SessionId};
use creel_spool::Store;

use crate::codes::Code;
use crate::context::{Context, Recorded};
use crate::dispatching::living_children;
use crate::kinship::{self, Act};
use crate::machinery::Machinery;
use crate::output::say;
use crate::report::{Report, chain};
use crate::settings::Settings;
use crate::starting::parent::wake_parent_of;
use crate::starting::right::{self, Doubt, Patience};

/// How long a keeper may take to answer: it does nothing that takes longer than a sync.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How long an asked run may take to be gone: the longest grace of the built-in recipes, the time
/// after which what is left is killed, and as much again for a busy machine.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// How long killed processes of ours may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(10);

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
        self.tell(&recorded);
        let inside = caller == Some(self.id) || context.environment.caller()? == Some(self.id);
        if let Some(run) = recorded.session.live_run() {
            context.output.flush()?;
            see_out((&self.store, self.verb), &recorded.session, run, inside)?;
        }
        if !inside {
            // The keeper of a live run has done so; a child at rest has none.
            wake_parent_of(context, &self.store, self.id);
        }
        Ok(())
    }

    /// Tells the person what the record holds now.
    fn tell(&self, recorded: &Recorded<()>) {
        let (session, reason) = (&recorded.session, self.asked.reason);
        match session.live_run().filter(|run| run.is_returned() && reason == EndReason::Killed) {
            // A return stands against a kill: what is killed is a process with no more to say.
            Some(run) => say(&format!(
                "Recorded: the end of run {}, which had returned; session {} stays {}",
                run.number,
                self.id,
                session.work_state()
            )),
            None if recorded.already.is_some() => say(&format!("Already: {reason} {}", self.id)),
            None => say(&format!("Recorded: {reason} {}", self.id)),
        }
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
        // A mistake in the user's settings is no reason to lose an agent's own word.
        None => Settings::default(),
        Some(caller) if caller == target.0.id && target.1.is_own() => Settings::default(),
        Some(_) => Settings::load(&context.environment.config_dir()?)?,
    };
    kinship::check(caller, target, &settings, |id| Ok(store.read(id)?.snapshot.session))?;
    Ok(caller)
}

/// Tells the keeper of a run that its end is recorded, and waits until its processes are gone.
///
/// A run whose keeper doesn't answer is ended through its holder, and without one by its lease.
///
/// # Errors
/// When the processes can't be proven dead; the end stays recorded.
pub(crate) fn see_out(
    (store, verb): (&Store, &'static str),
    session: &Session,
    run: &Run,
    inside: bool,
) -> Result<(), Report> {
    let end = RecordedEnd { store, verb, id: session.id, run };
    // A stopped process takes nothing in, not even that it shall end.
    let gone_on = end.machinery().and_then(|found| match found {
        Some(machinery) => machinery.go_on().map_err(|error| end.unseen(&error)),
        None => Ok(()),
    });
    match tell(session.id, run, inside) {
        Ok(Told::Heard) => Ok(()),
        Ok(Told::Gone) if end.is_recorded()? => Ok(()),
        // Nobody listens any more, and nobody has recorded what came of it: keeper and holder died.
        Ok(Told::Gone) => end.without_keeper(),
        Err(error) if inside => {
            // The keeper finds the end in the record when it looks next.
            say(&format!("creel: the keeper was not told: {}", chain(&error)));
            Ok(())
        }
        Ok(Told::StillThere { .. }) if end.is_forced() => gone_on.and_then(|()| end.force()),
        Ok(Told::StillThere { survivors }) => Err(end.still_alive(&survivors)),
        // The run may be over by now, or its keeper can't be reached.
        Err(_) => gone_on.and_then(|()| end.without_keeper()),
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

/// A run whose end is recorded, and whose processes are to follow.
struct RecordedEnd<'a> {
    store: &'a Store,
    verb: &'static str,
    id: SessionId,
    run: &'a Run,
}

impl RecordedEnd<'_> {
    /// Tells whether the verb ends Creel's own processes too, when they don't do as they are told.
    fn is_forced(&self) -> bool {
        matches!(self.verb, "kill" | "discard")
    }

    /// Tells whether the end of the run is in the record, with its processes proven dead.
    fn is_recorded(&self) -> Result<bool, Report> {
        let session = self.store.read(self.id)?.snapshot.session;
        Ok(session.run(self.run.id).is_none_or(|run| !run.is_live()))
    }

    fn machinery(&self) -> Result<Option<Machinery>, Report> {
        Machinery::find(self.id, self.run).map_err(|error| self.unseen(&error))
    }

    /// Ends the run through its holder; once that is gone, by the lease.
    fn without_keeper(&self) -> Result<(), Report> {
        let Some(machinery) = self.machinery()? else {
            // Its keeper ends what a dead holder left, if it lives.
            return self.take_over("a process that does not answer");
        };
        if machinery.end(GONE_WITHIN).map_err(|error| self.unseen(&error))? {
            return self.take_over("a process that does not answer");
        }
        if self.is_forced() { self.force() } else { Err(self.still_alive(&machinery.name())) }
    }

    /// Kills the run's holder and keepers, and ends what they leave.
    fn force(&self) -> Result<(), Report> {
        if let Some(machinery) = self.machinery()?
            && !machinery.kill(KILLED_WITHIN).map_err(|error| self.unseen(&error))?
        {
            return Err(self.still_alive(&machinery.name()));
        }
        self.take_over("a process that holds its lease")
    }

    fn take_over(&self, who: &str) -> Result<(), Report> {
        match right::win(self.store, self.id, (Doubt::Refuse, Patience::AfterDeath)) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(self.still_alive(who)),
            Err(report) => Err(self.unproven(&report)),
        }
    }

    fn still_alive(&self, who: &str) -> Report {
        let message = format!(
            "the end of session {} is recorded, and its run {} is still being ended; it lives on in \
             {who}",
            self.id, self.run.number
        );
        let next = if self.is_forced() { "inspect" } else { "kill" };
        Report::new(Code::StillAlive, message).next(format!("creel {next} {}", self.id))
    }

    fn unproven(&self, report: &Report) -> Report {
        let message = format!(
            "the end of session {} is recorded, but its run {} is not proven dead: {}",
            self.id,
            self.run.number,
            report.message()
        );
        let next =
            report.hint().map_or_else(|| format!("creel inspect {}", self.id), str::to_owned);
        Report::new(Code::StillAlive, message).next(next)
    }

    fn unseen(&self, error: &std::io::Error) -> Report {
        let message = format!(
            "the end of session {} is recorded, but the processes of its run {} can't be reached: {}",
            self.id,
            self.run.number,
            chain(error)
        );
        Report::new(Code::StillAlive, message).next(format!("creel inspect {}", self.id))
    }
}
