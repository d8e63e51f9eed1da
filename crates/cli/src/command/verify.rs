//! `creel verify`.

use creel_api::maintenance::{MaintenanceView, ProblemView};
use creel_spool::Report as Audit;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;
use crate::terminal;

/// Check every byte of a session's log and everything made from it
///
/// Without an id every session of the store is checked. Fails when something is wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: Option<String>,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such session, or its files can't be read.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let Some((store, ids)) = context.sessions(args.id.as_deref())? else { return Ok(Exit::Done) };
    let mut exit = Exit::Done;
    for id in &ids {
        let audit = match store.verify(*id) {
            Ok(audit) => audit,
            Err(error) if ids.len() == 1 => return Err(error.into()),
            Err(error) => {
                say(&Report::from(error).to_string());
                exit = Exit::Failed;
                continue;
            }
        };
        let view = view(&audit);
        if !view.is_sound {
            exit = Exit::Failed;
        }
        if args.json {
            context.output.json(&view)?;
        } else {
            print(&view, context)?;
        }
    }
    Ok(exit)
}

/// Returns the published form of an audit.
pub(crate) fn view(audit: &Audit) -> MaintenanceView {
    let faults = audit.faults.iter().map(|fault| ProblemView {
        part: "log".to_owned(),
        offset_bytes: Some(fault.offset_bytes),
        detail: fault.to_string(),
    });
    let findings = audit.findings.iter().map(|finding| ProblemView {
        part: "spool".to_owned(),
        offset_bytes: None,
        detail: finding.to_string(),
    });
    let unfinished = audit.is_unfinished.then(|| ProblemView {
        part: "log".to_owned(),
        offset_bytes: Some(0),
        detail: "an unfinished creation, which nobody was told of; `creel heal` clears it away"
            .to_owned(),
    });
    MaintenanceView {
        id: audit.id.to_string(),
        is_sound: audit.is_clean(),
        event_count: audit.event_count,
        problems: faults.chain(findings).chain(unfinished).collect(),
        repairs: Vec::new(),
    }
}

/// Prints what was found and done for a person.
///
/// # Errors
/// When standard output takes no more.
pub(crate) fn print(view: &MaintenanceView, context: &mut Context) -> Result<(), Report> {
    let word = if view.is_sound { "sound" } else { "damaged" };
    context.output.line(&format!("{} {word}, events {}", view.id, view.event_count))?;
    let word = if view.is_sound { "note" } else { "wrong" };
    let problems = view.problems.iter().map(|problem| (word, &problem.detail));
    let repairs = view.repairs.iter().map(|repair| ("repair", repair));
    for (word, text) in problems.chain(repairs) {
        context.output.line(&format!("  {word}: {}", terminal::line(text, usize::MAX)))?;
    }
    Ok(())
}
