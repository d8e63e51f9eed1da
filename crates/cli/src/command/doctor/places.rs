//! The directories, stores and sockets that Creel has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::doctor::{CheckView, Verdict};
use creel_api::host::HostStatus;
use creel_api::keeper::socket_name;
use creel_host::client::ClientError;
use creel_host::instance;
use creel_spool::{Access, Store};
use creel_sys::runtime_dir::{MAX_SOCKET_PATH_BYTES, RuntimeDir};
use creel_sys::socket::connect_within;

use super::{LiveSession, check, check_next};
use crate::context::Context;
use crate::hosting;
use crate::report::{Report, chain};
use crate::trust::TrustList;

/// How long one socket may take to say that somebody listens.
const LISTENS_WITHIN: Duration = Duration::from_millis(100);

/// Names that one check tells at most.
const MAX_NAMED: usize = 5;

/// Opens the machine store and the trusted ones, with what is wrong with them.
pub(super) fn stores(context: &Context) -> Result<(Vec<Store>, Vec<CheckView>), Report> {
    const NAME: &str = "store";
    let machine = context.environment.machine_store()?;
    let mut checks = Vec::new();
    let mut roots: Vec<PathBuf> = Vec::new();
    if machine.join("manifest.json").is_file() {
        roots.push(machine);
    } else {
        let detail = format!("{} is not created yet", machine.display());
        checks.push(check(NAME, Verdict::Info, detail));
    }
    match TrustList::read(&context.environment.trust_list()?) {
        Ok(list) => {
            for store in list.stores() {
                if store.is_there() {
                    roots.push(store.path.clone());
                    continue;
                }
                let shown = store.path.display();
                let detail = format!("{shown} is gone or replaced, and not used");
                let next = format!("creel store forget {shown}");
                checks.push(check_next(NAME, Verdict::Weak, (detail, next)));
            }
        }
        Err(report) => checks.push(of_report("trusted stores", &report)),
    }
    let mut stores = Vec::new();
    for root in roots {
        match context.store_at(&root) {
            Ok(store) => {
                checks.push(state_of(NAME, &store));
                stores.push(store);
            }
            Err(report) => checks.push(of_report(NAME, &report)),
        }
    }
    Ok((stores, checks))
}

fn state_of(name: &str, store: &Store) -> CheckView {
    let shown = store.root().display();
    match store.access() {
        Access::ReadWrite => match store.ids() {
            Ok(ids) => check(name, Verdict::Good, format!("{shown}, {} sessions", ids.len())),
            Err(error) => {
                check(name, Verdict::Bad, format!("{shown} can't be listed: {}", chain(&error)))
            }
        },
        Access::ReadOnly { reason } | Access::Newer { reason } => {
            check(name, Verdict::Bad, format!("{shown}: {reason}"))
        }
    }
}

fn of_report(name: &str, report: &Report) -> CheckView {
    let checked = check(name, Verdict::Bad, report.message());
    CheckView { next: report.hint().map(str::to_owned), ..checked }
}

/// Looks at the state directory, the runtime directory, the host and what dead holders left.
pub(super) fn checks(context: &Context, live: &[LiveSession]) -> Result<Vec<CheckView>, Report> {
    let mut checks = vec![state_dir(&context.environment.host_dir()?)];
    let runtime = match RuntimeDir::open() {
        Ok(runtime) => runtime,
        Err(error) => {
            let next = "CREEL_RUNTIME_DIR=/absolute/private/dir, then the same command".to_owned();
            let detail = chain(&error);
            checks.push(check_next("runtime directory", Verdict::Bad, (detail, next)));
            return Ok(checks);
        }
    };
    checks.push(room_for_sockets(&runtime));
    checks.push(host(context)?);
    checks.push(sockets(&runtime, live));
    checks.push(lost(live));
    Ok(checks)
}

fn state_dir(dir: &Path) -> CheckView {
    const NAME: &str = "state directory";
    let above = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
    let is_writable = tempfile_in(above);
    let shown = dir.display();
    match (dir.exists(), is_writable) {
        (true, Ok(())) => check(NAME, Verdict::Good, shown.to_string()),
        (false, Ok(())) => check(NAME, Verdict::Info, format!("{shown} is not created yet")),
        (_, Err(error)) => {
            let next = format!("ls -ld {}", above.display());
            let detail = format!("{} can't be written: {error}", above.display());
            check_next(NAME, Verdict::Bad, (detail, next))
        }
    }
}

/// Writes and removes a file: to be able to is what counts.
fn tempfile_in(dir: &Path) -> std::io::Result<()> {
    let path = dir.join(format!(".creel-doctor-{}", std::process::id()));
    std::fs::File::options().write(true).create_new(true).open(&path)?;
    std::fs::remove_file(path)
}

fn room_for_sockets(runtime: &RuntimeDir) -> CheckView {
    const NAME: &str = "runtime directory";
    let shown = runtime.path().display();
    let longest = socket_name("00000000-0000-0000-0000-000000000000");
    match runtime.socket_path(&longest) {
        Ok(path) => {
            let room = MAX_SOCKET_PATH_BYTES - path.as_os_str().len();
            check(NAME, Verdict::Good, format!("{shown}, {room} bytes to spare for sockets"))
        }
        Err(error) => check(NAME, Verdict::Bad, chain(&error)),
    }
}

fn host(context: &Context) -> Result<CheckView, Report> {
    const NAME: &str = "host";
    Ok(match hosting::client()?.get::<HostStatus>("/v1/host") {
        Ok(status) => {
            let pid = status.pid.unwrap_or_default();
            let detail = format!("pid {pid}, {} living sessions", status.holder_count);
            match status.degraded.first() {
                None => check(NAME, Verdict::Good, detail),
                Some(why) => check(NAME, Verdict::Weak, format!("{detail}; {why}")),
            }
        }
        Err(ClientError::Absent) => match instance::holder(&context.environment.host_dir()?) {
            None => check(NAME, Verdict::Info, "does not run"),
            Some(who) => {
                let detail = format!("{who} holds the lock and does not answer");
                check_next(NAME, Verdict::Bad, (detail, format!("kill {}", who.pid)))
            }
        },
        Err(error) => of_report(NAME, &error.into()),
    })
}

/// Looks for sockets at which nobody listens, and that no living run has.
fn sockets(runtime: &RuntimeDir, live: &[LiveSession]) -> CheckView {
    const NAME: &str = "run sockets";
    let known: BTreeSet<String> = live.iter().map(|run| socket_name(&run.run_id)).collect();
    let names: Vec<String> = match std::fs::read_dir(runtime.path()) {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with("r-"))
            .collect(),
        Err(error) => return check(NAME, Verdict::Bad, error.to_string()),
    };
    let is_dead = |name: &&String| {
        let refused = connect_within(&runtime.path().join(name), LISTENS_WITHIN).err();
        refused.is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
    };
    let dead: Vec<&String> = names.iter().filter(is_dead).collect();
    if dead.is_empty() {
        return check(NAME, Verdict::Good, format!("{}, each with a listener", names.len()));
    }
    let shown: Vec<&str> = dead.iter().take(MAX_NAMED).map(|name| name.as_str()).collect();
    let ours = dead.iter().filter(|name| known.contains(**name)).count();
    let detail = format!(
        "{} of {} are left over ({}), {ours} of them of runs that are marked live",
        dead.len(),
        names.len(),
        shown.join(", ")
    );
    check_next(NAME, Verdict::Weak, (detail, "creel reconcile --all".to_owned()))
}

fn lost(live: &[LiveSession]) -> CheckView {
    const NAME: &str = "runs";
    let alive = live.iter().filter(|run| run.is_alive).count();
    match live.len() - alive {
        0 => check(NAME, Verdict::Good, format!("{alive} live, each with a holder")),
        lost => {
            let detail = format!("{lost} are marked live and have no holder; {alive} have one");
            check_next(NAME, Verdict::Weak, (detail, "creel reconcile --all".to_owned()))
        }
    }
}
