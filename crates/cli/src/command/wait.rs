//! `creel wait`.

use std::collections::BTreeMap;

use creel_api::wait::OutcomeView;
use creel_record::SessionId;
use creel_record::dispatch::Settlement;
use creel_record::words::Outcome;
use creel_spool::{Access, Store};
use creel_sys::Deadline;

use crate::codes::Code;
use crate::context::{Context, seconds};
use crate::exit::Exit;
use crate::lookup::find;
use crate::report::Report;
use crate::view;
use crate::waiting::{Waiter, Woken};

pub(crate) mod anchor;
pub(crate) mod collect;
mod deserted;

use anchor::Anchor;
use deserted::Duty;

/// Sessions that one call waits for: more than any session may dispatch.
const MAX_SESSIONS: usize = 1000;

/// Wait until the current turn of each session is settled
///
/// Prints one line for each, in the order they were given. Fails when one of them came to something
/// else than a result; its processes are left alone, also when the time is up.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions
    #[arg(required = true)]
    ids: Vec<String>,
    /// Wait for a result newer than the newest one there is
    #[arg(long)]
    next: bool,
    /// Stop waiting after this many seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Print JSON Lines, with the results
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When a session is not there, or can't be read or watched, or nobody works on it and what is to
/// be done can't be done here.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    if args.ids.len() > MAX_SESSIONS {
        let message = format!("{} sessions are named; at most {MAX_SESSIONS} are", args.ids.len());
        return Err(Report::new(Code::TooMany, message).next("creel wait ID..."));
    }
    let deadline = Deadline::after(seconds(args.timeout));
    let store = context.store()?;
    // Watched before the first look, so that no outcome comes unseen.
    let mut waiter = Waiter::new(&store)?;
    let may_act = *store.access() == Access::ReadWrite && context.sweeps(&store)?;
    let duty = if may_act { Duty::Act } else { Duty::Tell };
    let mut anchors = Vec::with_capacity(args.ids.len());
    for typed in &args.ids {
        let id = find(&store, typed)?;
        // Anchored at what is there now, not at what was published before a crash.
        deserted::publish(&store, id, duty)?;
        anchors.push(Anchor::at(&store.read(id)?.snapshot.session, args.next));
    }
    let mut call = Call { store, anchors, outcomes: BTreeMap::new(), printed: 0, json: args.json };
    loop {
        call.look()?;
        call.print_settled(context)?;
        let missing = call.missing();
        if missing.is_empty() {
            return Ok(call.exit());
        }
        let seen = deserted::see_to((context, duty), &call.store, &missing)?;
        if seen.has_changed && !deadline.is_past() {
            continue;
        }
        let until = seen.look_again.map_or(deadline, |due| due.min(deadline));
        match waiter.followed(until, &missing, &seen.holders)? {
            Woken::Changed => {}
            // A reader that closed its end wants no more.
            Woken::Unread => return Ok(Exit::Done),
            Woken::Late if !deadline.is_past() => {}
            Woken::Late => {
                call.print_rest(context)?;
                return Ok(Exit::TimedOut);
            }
        }
    }
}

/// What one call waits for, and how far it is.
struct Call {
    store: Store,
    anchors: Vec<Anchor>,
    outcomes: BTreeMap<SessionId, Settlement>,
    printed: usize,
    json: bool,
}

impl Call {
    fn look(&mut self) -> Result<(), Report> {
        for anchor in &self.anchors {
            if !self.outcomes.contains_key(&anchor.id)
                && let Some(settlement) = anchor.look(&self.store)?
            {
                self.outcomes.insert(anchor.id, settlement);
            }
        }
        Ok(())
    }

    fn missing(&self) -> Vec<SessionId> {
        let ids = self.anchors.iter().map(|anchor| anchor.id);
        ids.filter(|id| !self.outcomes.contains_key(id)).collect()
    }

    /// Prints what is settled, in the order of the arguments, as soon as all before it are.
    fn print_settled(&mut self, context: &mut Context) -> Result<(), Report> {
        while let Some(anchor) = self.anchors.get(self.printed).copied()
            && let Some(settlement) = self.outcomes.get(&anchor.id)
        {
            self.print(&anchor, settlement, context)?;
            self.printed += 1;
        }
        Ok(())
    }

    /// Prints everything else when the time is up.
    fn print_rest(&mut self, context: &mut Context) -> Result<(), Report> {
        let pending = Settlement { outcome: Outcome::Pending, run_number: None, result: None };
        for anchor in &self.anchors[self.printed..] {
            let settlement = self.outcomes.get(&anchor.id).unwrap_or(&pending);
            self.print(anchor, settlement, context)?;
        }
        Ok(())
    }

    fn print(
        &self,
        anchor: &Anchor,
        settlement: &Settlement,
        context: &mut Context,
    ) -> Result<(), Report> {
        let Settlement { outcome, run_number, result } = settlement;
        if self.json {
            let result = match result {
                Some(result) => {
                    let text = self.store.text(anchor.id, result.payload)?;
                    Some(view::result(result, Some(text)))
                }
                None => None,
            };
            context.output.json(&OutcomeView {
                id: anchor.id.to_string(),
                outcome: outcome.to_string(),
                anchor_run_id: anchor.run.map(|run| run.to_string()),
                run_number: *run_number,
                result,
            })?;
        } else {
            let run = run_number.map(|n| format!(" run {n}")).unwrap_or_default();
            context.output.line(&format!("{} {outcome}{run}", anchor.id))?;
        }
        // Told before it is marked as collected: an outcome that nobody read wakes the parent.
        context.output.flush()?;
        collect::by_parent(&self.store, anchor.id, settlement, context)
    }

    fn exit(&self) -> Exit {
        if self.outcomes.values().all(|s| s.outcome == Outcome::Result) {
            Exit::Done
        } else {
            Exit::Failed
        }
    }
}
