//! `creel rebuild-session-snapshots`.

use creel_api::maintenance::{MaintenanceView, ProblemView};
use creel_spool::{Rebuild, Rebuilt, SnapshotState};

use crate::command::verify;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;

/// Make snapshots again from their logs
///
/// Without an id every session of the store is looked at; snapshots that are what their logs add up
/// to are left as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: Option<String>,
    /// Only tell what would be made again
    #[arg(long)]
    dry_run: bool,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such session, its log is damaged, or its files can't be written.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let Some((store, ids)) = context.sessions(args.id.as_deref())? else { return Ok(Exit::Done) };
    if !args.dry_run {
        context.may_write(&store)?;
    }
    let how = if args.dry_run { Rebuild::DryRun } else { Rebuild::Write };
    let mut exit = Exit::Done;
    for id in &ids {
        match store.rebuild(*id, how) {
            Ok(rebuilt) if args.json => context.output.json(&view(&rebuilt, how))?,
            // One of many is only worth a line when there is something to say about it.
            Ok(rebuilt) if ids.len() > 1 && !rebuilt.is_changed() => {}
            Ok(rebuilt) => verify::print(&view(&rebuilt, how), context)?,
            Err(error) if ids.len() == 1 => return Err(error.into()),
            Err(error) => {
                say(&Report::from(error).to_string());
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

fn view(rebuilt: &Rebuilt, how: Rebuild) -> MaintenanceView {
    let snapshot = match rebuilt.snapshot {
        SnapshotState::Good => None,
        SnapshotState::Missing => Some("there was none"),
        SnapshotState::Invalid => Some("it was invalid"),
        SnapshotState::Stale => Some("the log had more"),
        SnapshotState::Different => Some("it was not what the log adds up to"),
    };
    let index = rebuilt.is_index_stale.then_some("it was not what the log adds up to");
    let parts = [("snapshot", snapshot), ("runs", index)];
    let problems: Vec<ProblemView> = parts
        .into_iter()
        .filter_map(|(part, detail)| {
            let detail = format!("{part}: {}", detail?);
            Some(ProblemView { part: part.to_owned(), offset_bytes: None, detail })
        })
        .collect();
    let repairs = problems.iter().map(|problem| match how {
        Rebuild::Write => format!("{} made again", problem.part),
        Rebuild::DryRun => format!("{} would be made again", problem.part),
    });
    MaintenanceView {
        id: rebuilt.id.to_string(),
        is_sound: how == Rebuild::Write || problems.is_empty(),
        event_count: rebuilt.event_count,
        repairs: repairs.collect(),
        problems,
    }
}
