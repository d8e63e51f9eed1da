//! `creel doctor`.

use std::fmt::Write as _;

use creel_api::doctor::{BoundaryView, CheckView, DoctorView, Verdict};
use creel_host::boundary::{Surroundings, group_of};
use creel_record::Session;
use creel_spool::Store;
use creel_sys::process::ProcessIdentity;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::terminal;

mod agents;
mod machine;
mod places;

/// Say what this machine offers, and what is wrong with what Creel has on it
///
/// Tells which supervisor is stronger than a detach here, and how many sessions a stop of it would
/// end. Changes nothing; exits with 1 when something doesn't work.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When the environment names no home.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (stores, mut checks) = places::stores(context)?;
    let live = live_sessions(&stores);
    let view = DoctorView {
        boundary: boundary(&live),
        checks: {
            let mut all = machine::checks();
            all.extend(places::checks(context, &live)?);
            all.append(&mut checks);
            all.extend(agents::checks(context)?);
            all
        },
    };
    if args.json {
        context.output.json(&view)?;
    } else {
        context.output.raw(page(&view).as_bytes())?;
    }
    let is_bad = view.checks.iter().any(|check| check.verdict == Verdict::Bad);
    Ok(if is_bad { Exit::Failed } else { Exit::Done })
}

/// Makes a check.
fn check(name: &str, verdict: Verdict, detail: impl Into<String>) -> CheckView {
    CheckView { name: name.to_owned(), verdict, detail: detail.into(), next: None }
}

/// Makes a check with a next step.
fn check_next(name: &str, verdict: Verdict, (detail, next): (String, String)) -> CheckView {
    CheckView { next: Some(next), ..check(name, verdict, detail) }
}

/// A living holder, of a session.
struct LiveSession {
    run_id: String,
    holder: Option<ProcessIdentity>,
    is_alive: bool,
}

fn live_sessions(stores: &[Store]) -> Vec<LiveSession> {
    let mut live = Vec::new();
    for store in stores {
        let Ok(rows) = store.rows(creel_spool::RowFilter::All) else { continue };
        let running = rows.iter().filter(|row| {
            row.parse().map_or(true, |row| row.current_run.is_some_and(|run| run.ended.is_none()))
        });
        for row in running {
            if let Ok(published) = store.read(row.id) {
                live.extend(live_session(published.session()));
            }
        }
    }
    live
}

fn live_session(session: &Session) -> Option<LiveSession> {
    let run = session.live_run()?;
    let holder = run.holder.as_ref().map(|facts| ProcessIdentity {
        pid: facts.pid,
        start_ticks: facts.start_ticks,
        boot_id: facts.boot_id.clone(),
    });
    let is_alive = holder.as_ref().is_some_and(|holder| holder.is_alive().unwrap_or(false));
    Some(LiveSession { run_id: run.id.to_string(), holder, is_alive })
}

fn boundary(live: &[LiveSession]) -> BoundaryView {
    let boundary = Surroundings::look(&machine::user_name()).boundary();
    let living = live.iter().filter(|session| session.is_alive);
    let groups: Vec<Option<String>> = living
        .map(|session| {
            let pid = session.holder.as_ref()?.pid;
            group_of(u32::try_from(pid).ok()?)
        })
        .collect();
    let reached = |group: &&Option<String>| {
        group.as_ref().map_or(boundary.kind == "container", |group| boundary.reaches(group))
    };
    BoundaryView {
        kind: boundary.kind.to_owned(),
        ends_session_count: groups.iter().filter(reached).count() as u64,
        live_session_count: groups.len() as u64,
        detail: boundary.detail,
        unit: boundary.unit,
    }
}

fn page(view: &DoctorView) -> String {
    let mut text = String::new();
    let BoundaryView { detail, ends_session_count, live_session_count, .. } = &view.boundary;
    // Writing to a String can't fail.
    let _ = writeln!(
        text,
        "Stronger than a detach: {}\n{:24} a stop of it ends {ends_session_count} of \
         {live_session_count} living sessions\n",
        terminal::line(detail, usize::MAX),
        ""
    );
    for check in &view.checks {
        let mark = match check.verdict {
            Verdict::Good => "good",
            Verdict::Weak => "WEAK",
            Verdict::Bad => "BAD ",
            Verdict::Info => "    ",
        };
        let detail = terminal::line(&check.detail, usize::MAX);
        let _ = writeln!(text, "{mark}  {:<18} {detail}", check.name);
        if let Some(next) = &check.next {
            let _ = writeln!(text, "{:25}Next: {}", "", terminal::line(next, usize::MAX));
        }
    }
    text
}
