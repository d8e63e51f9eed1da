//! The sessions of the stores that this machine knows, by where they work.

use std::collections::BTreeSet;
use std::path::PathBuf;

use creel_host::worktree::SessionAt;
use creel_spool::{RowFilter, Store};

use crate::context::Context;
use crate::output::say;
use crate::report::{Report, chain};
use crate::trust::TrustList;

/// Returns the sessions of the store in use, the last changed one first.
pub(super) fn of_scope(context: &mut Context) -> Result<Vec<SessionAt>, Report> {
    match context.store_if_any()? {
        Some(store) => sessions(&store, |_| true),
        None => Ok(Vec::new()),
    }
}

/// Returns every session with a live run, of the store in use and of all that are registered.
///
/// A registered store that can't be opened is told and passed over: processes are found without it.
pub(super) fn live(context: &mut Context) -> Result<Vec<SessionAt>, Report> {
    let mut found = match context.store_if_any()? {
        Some(store) => sessions(&store, |session| session.is_live)?,
        None => Vec::new(),
    };
    let used = context.scope()?.root;
    for root in registered(context)?.into_iter().filter(|root| *root != used && root.is_dir()) {
        match context.store_at(&root).and_then(|store| sessions(&store, |session| session.is_live))
        {
            Ok(sessions) => found.extend(sessions),
            Err(report) => {
                say(&format!("creel: {} is passed over: {}", root.display(), report.message()));
            }
        }
    }
    Ok(found)
}

/// Returns the roots of the machine store and of the trusted ones.
pub(super) fn registered(context: &Context) -> Result<BTreeSet<PathBuf>, Report> {
    let trusted = TrustList::read(&context.environment.trust_list()?)?;
    let mut roots: BTreeSet<PathBuf> =
        trusted.stores().iter().map(|store| store.path.clone()).collect();
    let machine = context.environment.machine_store()?;
    roots.insert(machine.canonicalize().unwrap_or(machine));
    Ok(roots)
}

fn sessions(store: &Store, wanted: impl Fn(&SessionAt) -> bool) -> Result<Vec<SessionAt>, Report> {
    let mut found = Vec::new();
    for row in store.rows(RowFilter::All)?.iter() {
        let Ok(row) = row.parse() else { continue };
        let is_live = row.current_run.as_ref().is_some_and(|run| run.ended.is_none());
        if row.discarded && !is_live {
            continue;
        }
        let mut session = SessionAt {
            id: row.id.clone(),
            title: row.title,
            runtime: row.runtime,
            work_state: row.work_state,
            is_live,
            cwd: PathBuf::new(),
        };
        if !wanted(&session) {
            continue;
        }
        let Ok(id) = row.id.parse() else { continue };
        match store.read(id) {
            Ok(published) => session.cwd = place(&published.session().cwd),
            Err(error) => {
                say(&format!("creel: session {id} is left out: {}", chain(&error)));
                continue;
            }
        }
        found.push(session);
    }
    Ok(found)
}

/// Worktrees have the paths that git records, which are free of links.
fn place(cwd: &str) -> PathBuf {
    let cwd = PathBuf::from(cwd);
    cwd.canonicalize().unwrap_or(cwd)
}
