//! The host from the command line's side: what it is told when it starts, and the way to it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use creel_host::client::{Client, ClientError};
use creel_host::config::{Config, DEFAULT_IDLE_EXIT, Http, StoreSource};
use creel_host::environment;
use creel_host::start::Start;
use creel_sys::runtime_dir::RuntimeDir;
use creel_sys::spawn::{SessionCommand, spawn_session};
use creel_sys::tree::ExeIdentity;

use crate::codes::Code;
use crate::context::Context;
use crate::environment::Environment;
use crate::report::{Report, chain};
use crate::settings::Settings;
use crate::trust::TrustList;

/// Starts a host when none runs, for verbs that start a run. Never delays such a verb, and never
/// fails it: whether one comes up is not waited for.
pub(crate) fn ensure_host(context: &Context) {
    // Without a host everything but what it alone does goes on as it is.
    let _ = try_ensure(context);
}

fn try_ensure(context: &Context) -> Option<()> {
    if context.environment.wants_no_host
        || !Settings::load(&context.environment.config_dir().ok()?).ok()?.host.autostart
        || Client::new(&RuntimeDir::open().ok()?).ok()?.is_up()
    {
        return None;
    }
    let nowhere = || std::fs::File::options().read(true).write(true).open("/dev/null");
    // Dropping it neither ends nor collects it: it is over by the time its host answers.
    spawn_session(SessionCommand {
        program: own_exe().ok()?,
        args: ["host", "start", "--implicit"].map(OsString::from).into(),
        env: environment::inherited(),
        cwd: PathBuf::from("/"),
        stdin: nowhere().ok()?.into(),
        stdout: nowhere().ok()?.into(),
        stderr: nowhere().ok()?.into(),
        inherited: Vec::new(),
        cgroup: None,
    })
    .ok()
    .map(drop)
}

/// Returns what to start: `host run` of this very program.
///
/// # Errors
/// When the environment names no home, or the runtime directory can't be used.
pub(crate) fn starting(context: &Context, flags: Vec<OsString>) -> Result<Start, Report> {
    let args = ["host", "run"].map(OsString::from).into_iter().chain(flags).collect();
    let state_dir = context.environment.host_dir()?;
    Ok(Start { exe: own_exe()?, args, state_dir, runtime: runtime()? })
}

/// Returns what a host is told.
///
/// # Errors
/// When the environment names no home, the settings have a mistake, or the runtime directory can't
/// be used.
pub(crate) fn config(
    context: &Context,
    (port, idle_exit): (Option<u16>, Option<Duration>),
) -> Result<Config, Report> {
    let settings = Settings::load(&context.environment.config_dir()?)?.host;
    let environment = context.environment.clone();
    // Asked once here, so that an environment that names no home is told now.
    environment.machine_store()?;
    Ok(Config {
        state_dir: environment.host_dir()?,
        runtime: runtime()?,
        trust_list: environment.trust_list()?,
        stores: StoreSource(Arc::new(move || roots(&environment))),
        exe: own_exe()?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        http: Http::Port(port.unwrap_or(settings.http_port)),
        idle_exit,
    })
}

/// Returns how long a host stays that another verb started.
pub(crate) fn implicit_idle_exit() -> Duration {
    DEFAULT_IDLE_EXIT
}

/// Names the machine store, once somebody has used it, and the trusted ones that are there.
fn roots(environment: &Environment) -> Result<Vec<PathBuf>, String> {
    let told = |report: Report| report.message().to_owned();
    let machine = environment.machine_store().map_err(told)?;
    let list = environment.trust_list().map_err(told)?;
    let trusted = TrustList::read(&list).map_err(told)?;
    let trusted = trusted.stores().iter().filter(|store| store.is_there());
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in std::iter::once(machine).chain(trusted.map(|store| store.path.clone())) {
        if root.join("manifest.json").is_file() && !roots.contains(&root) {
            roots.push(root);
        }
    }
    Ok(roots)
}

/// Opens the way to the host.
///
/// # Errors
/// When the runtime directory can't be used.
pub(crate) fn client() -> Result<Client, Report> {
    Client::new(&runtime()?).map_err(Report::from)
}

fn runtime() -> Result<RuntimeDir, Report> {
    RuntimeDir::open().map_err(|error| {
        Report::of(Code::RuntimeDirUnusable, &error)
            .next("CREEL_RUNTIME_DIR=/absolute/private/dir, then the same command")
    })
}

pub(crate) fn own_exe() -> Result<PathBuf, Report> {
    ExeIdentity::own().map(|exe| exe.path).map_err(|error| {
        let message = format!("can't tell where this program is: {}", chain(&error));
        Report::new(Code::Internal, message).next("ls -l /proc/self/exe")
    })
}

impl From<ClientError> for Report {
    fn from(error: ClientError) -> Self {
        match &error {
            ClientError::Absent => Self::of(Code::HostAbsent, &error).next("creel host start"),
            ClientError::Refused { view } => {
                let code = Code::parse(&view.code).unwrap_or(Code::Internal);
                let report = Self::new(code, view.message.clone());
                match &view.next {
                    Some(next) => report.next(next.clone()),
                    None => report,
                }
            }
            ClientError::RuntimeDir(_) => Self::of(Code::RuntimeDirUnusable, &error)
                .next("CREEL_RUNTIME_DIR=/absolute/short/dir, then the same command"),
            ClientError::Stranger { .. } | ClientError::TimedOut | ClientError::Io(_) => {
                Self::of(Code::HostUnreachable, &error).next("creel host status")
            }
        }
    }
}
