//! `creel reconcile`.

use creel_api::reconcile::ReconcileView;
use creel_record::{Owed, Session, SessionId, Source, decide};
use creel_spool::Store;
use creel_sys::boot;

use crate::context::Context;
use crate::dispatching::{Collectors, settle_left_behind};
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;
use crate::starting::birth::Settled;
use crate::starting::owed::Asker;
use crate::starting::parent::wake_parent_of;
use crate::starting::right::{Doubt, Patience};
use crate::starting::{Credentials, Starter};
use crate::terminal;
use crate::trust::TrustList;

/// Find runs whose processes are gone, and start what sessions are owed
///
/// A run is recorded as lost only after everything of it is proven dead; nothing is judged that
/// belongs to another machine. What can't be proven is listed and left as it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at this session only
    id: Option<String>,
    /// Look at the machine store and every trusted one
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave runs alone that started less than so many seconds ago
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    grace: u64,
    /// Record a run as lost although some processes may still belong to it
    #[arg(long, requires = "id")]
    force_lost: bool,
    /// Start although credentials are missing that the launch had
    #[arg(long)]
    without_credentials: bool,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// Milliseconds of a clock tick as `/proc` counts them (`USER_HZ`, 100 on every Linux).
const TICK_MS: u64 = 10;

/// Runs the verb.
///
/// # Errors
/// When a store can't be opened. What fails for one session is told in its line, and the others
/// are looked at all the same; the exit code then says that something failed.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let stores = stores(args, context)?;
    context.act_as(Source::Maintenance);
    let mut starter = Starter::new(context)?;
    if args.without_credentials {
        starter.credentials = Credentials::Optional;
    }
    let mut views = Vec::new();
    for (store, ids) in &stores {
        let asker = Asker { context, store, starter: &starter };
        for id in ids {
            views.extend(look(args, &asker, *id));
        }
    }
    let has_failed = views.iter().any(|view| view.error.is_some());
    for view in &views {
        if args.json {
            context.output.json(view)?;
        } else {
            context.output.line(&sentence(view))?;
        }
    }
    Ok(if has_failed { Exit::Failed } else { Exit::Done })
}

fn stores(args: &Args, context: &mut Context) -> Result<Vec<(Store, Vec<SessionId>)>, Report> {
    if let Some(typed) = &args.id {
        let (store, id) = context.session(typed)?;
        return Ok(vec![(store, vec![id])]);
    }
    let mut stores: Vec<Store> = context.store_if_any()?.into_iter().collect();
    if args.all {
        let trusted = TrustList::read(&context.environment.trust_list()?)?;
        let trusted = trusted.stores().iter().filter(|store| store.is_there());
        let roots = std::iter::once(context.environment.machine_store()?)
            .chain(trusted.map(|store| store.path.clone()));
        for root in roots.filter(|root| root.is_dir()) {
            if stores.iter().any(|store| store.root() == root) {
                continue;
            }
            match context.store_at(&root) {
                Ok(store) => stores.push(store),
                Err(report) => say(&report.to_string()),
            }
        }
    }
    stores.into_iter().map(|store| Ok((store.clone(), store.ids()?))).collect()
}

/// Looks at one session; none when there is nothing to say about it.
fn look(args: &Args, asker: &Asker<'_>, id: SessionId) -> Option<ReconcileView> {
    let view = |action: &str, error: Option<String>| ReconcileView {
        id: id.to_string(),
        store: asker.store.root().display().to_string(),
        action: action.to_owned(),
        error,
    };
    match attempt(args, asker, id) {
        Ok(actions) if actions.is_empty() => None,
        Ok(actions) => Some(view(&actions.join(", "), None)),
        Err(report) => Some(view("none", Some(report.to_string()))),
    }
}

fn attempt(args: &Args, asker: &Asker<'_>, id: SessionId) -> Result<Vec<String>, Report> {
    let Asker { context, store, .. } = *asker;
    let mut actions = Vec::new();
    let session = store.read(id)?.snapshot.session;
    // Judged before anything is written here, which makes it young.
    let is_young = is_young(args, &session, context);
    if session.live_run().is_none() && !session.dispatches.is_empty() && !args.dry_run {
        // Whoever collects does it from inside a run: none is left to do so.
        match settle_left_behind((context, store), id, Collectors::Gone)? {
            0 => {}
            count => actions.push(format!("{count} results of children recorded")),
        }
    }
    let session = store.read(id)?.snapshot.session;
    let owed = decide(&session, context.now());
    if owed == Owed::Nothing || is_young || is_elsewhere(&session) {
        return Ok(actions);
    }
    if args.dry_run {
        actions.extend(would(asker, &session, owed)?);
        return Ok(actions);
    }
    let doubt = if args.force_lost { Doubt::Ignore } else { Doubt::Refuse };
    let settled = asker.settle(id, (doubt, Patience::Never))?;
    let after = store.read(id)?.snapshot.session;
    let lost = session.live_run().and_then(|run| after.run(run.id)).filter(|run| !run.is_live());
    if let (Some(run), false) = (lost, settled == Settled::Held) {
        let reason = run.end_reason.map_or("unknown", creel_record::EndReason::as_str);
        actions.push(format!("run {} recorded as {reason}", run.number));
        wake_parent_of(context, store, id);
    }
    if let Settled::Started { cause, number } = settled {
        actions.push(format!("run {number} started ({cause})"));
    }
    Ok(actions)
}

/// Tells whether a session changed too lately to be judged. The wall clock may have stepped back
/// since: a run of another boot is old, the age of a known process is counted since boot, and what
/// seems to come from the future is old.
fn is_young(args: &Args, session: &Session, context: &Context) -> bool {
    let grace_ms = args.grace.saturating_mul(1000);
    let since = match session.live_run() {
        Some(run) if boot::boot_id().is_ok_and(|here| here != run.boot_id) => return false,
        Some(run) => {
            if let Some(process) = run.agent.as_ref().or(run.holder.as_ref()) {
                let started_ms = process.start_ticks.saturating_mul(TICK_MS);
                return boot::boot_time_ms().saturating_sub(started_ms) < grace_ms;
            }
            run.started
        }
        None => session.updated,
    };
    let age_ms = context.now().as_millis().saturating_sub(since.as_millis());
    u64::try_from(age_ms).is_ok_and(|age_ms| age_ms < grace_ms)
}

/// A run of another machine can't be judged from here: its processes are not ours to see.
fn is_elsewhere(session: &Session) -> bool {
    session.live_run().is_some_and(|run| run.machine_id != boot::machine_id())
}

fn would(asker: &Asker<'_>, session: &Session, owed: Owed) -> Result<Option<String>, Report> {
    let is_free = asker.store.lease(session.id)?.is_some();
    Ok(match owed {
        _ if !is_free => None,
        Owed::Nothing => None,
        Owed::LiveRun => Some(format!("would end run {} as lost", session.run_count)),
        Owed::StartIntended => Some("would start the intended run".to_owned()),
        Owed::Reprompt { attempt } => Some(format!("would re-prompt ({attempt})")),
        Owed::Wake { .. } => Some("would wake".to_owned()),
    })
}

fn sentence(view: &ReconcileView) -> String {
    match &view.error {
        Some(error) => format!("{}  {}", view.id, terminal::line(error, 2000)),
        None => format!("{}  {}", view.id, view.action),
    }
}
