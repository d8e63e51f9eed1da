//! `creel heal`.

use creel_api::maintenance::MaintenanceView;
use creel_record::SessionId;
use creel_spool::{Healed, Mint, Store};

use crate::command::verify;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;

/// Sequences that a line names; more are counted.
const MAX_NAMED: usize = 20;

/// Repair sessions whose logs are damaged
///
/// The old log is kept whole beside the new one. Every good event keeps its id, place and time; one
/// that is lost is stood in for by an event that says so. Without an id every session of the store
/// is looked at; healthy ones are left as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: Option<String>,
    /// Only tell what is wrong and would be repaired
    #[arg(long)]
    dry_run: bool,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such session, or it can't be repaired.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let Some((store, ids)) = context.sessions(args.id.as_deref())? else { return Ok(Exit::Done) };
    if !args.dry_run {
        context.may_write(&store)?;
    }
    let mut exit = Exit::Done;
    let mut is_quiet = !args.json && ids.len() > 1;
    for id in &ids {
        let looked_at = one(&store, *id, args.dry_run, context);
        is_quiet &= looked_at.as_ref().is_ok_and(|view| view.problems.is_empty());
        match looked_at {
            Ok(view) if args.json => context.output.json(&view)?,
            // One of many is only worth a line when there is something to say about it.
            Ok(view) if ids.len() > 1 && view.problems.is_empty() => {}
            Ok(view) => verify::print(&view, context)?,
            Err(report) if ids.len() == 1 => return Err(report),
            Err(report) => {
                say(&report.to_string());
                exit = Exit::Failed;
            }
        }
    }
    if is_quiet {
        say(&format!("All {} sessions are sound; nothing to heal.", ids.len()));
    }
    Ok(exit)
}

fn one(
    store: &Store,
    id: SessionId,
    is_dry: bool,
    context: &Context,
) -> Result<MaintenanceView, Report> {
    let mut view = verify::view(&store.verify(id)?);
    if view.is_sound && view.problems.is_empty() {
        return Ok(view);
    }
    if is_dry {
        view.repairs.push("nothing yet: --dry-run".to_owned());
        return Ok(view);
    }
    let mut mint = Mint { now: context.now(), event_id: &mut || context.event_id() };
    let healed = store.heal(id, &mut mint)?;
    view.repairs = repairs(&healed);
    if healed.is_removed {
        return Ok(view);
    }
    let after = store.verify(id)?;
    view.is_sound = after.is_clean();
    view.event_count = after.event_count;
    Ok(view)
}

fn repairs(healed: &Healed) -> Vec<String> {
    let mut repairs = Vec::new();
    if let Some(path) = &healed.kept_as {
        repairs.push(if healed.is_removed {
            format!("the log was removed; what it had is {}", path.display())
        } else {
            format!("the log was written anew; the old one is {}", path.display())
        });
    }
    if !healed.lost.is_empty() {
        let named: Vec<String> =
            healed.lost.iter().take(MAX_NAMED).map(ToString::to_string).collect();
        let more = match healed.lost.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        repairs.push(format!("lost events: {}{more}", named.join(", ")));
    }
    if healed.is_changed && healed.kept_as.is_none() {
        repairs.push("what is made from the log was made anew".to_owned());
    }
    repairs
}
