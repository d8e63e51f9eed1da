//! `creel host status`.

use std::fmt::Write as _;

use creel_api::host::HostStatus;
use creel_host::client::ClientError;
use creel_host::instance;

use crate::context::Context;
use crate::exit::Exit;
use crate::hosting;
use crate::report::Report;
use crate::terminal;

/// Print how the host stands
///
/// Exits with 2 when none runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// When no host runs and JSON is not asked for, or it can't be reached.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let state_dir = context.environment.host_dir()?;
    let status = match hosting::client()?.get::<HostStatus>("/v1/host") {
        Ok(status) => status,
        Err(ClientError::Absent) if args.json => {
            context.output.json(&absent(&state_dir.display().to_string()))?;
            return Ok(Exit::Usage);
        }
        Err(ClientError::Absent) => {
            let report = Report::from(ClientError::Absent);
            // A host that is starting, or whose runtime directory is another one.
            return Err(match instance::holder(&state_dir) {
                Some(who) => report.next(format!("look at {who}, which holds the host's lock")),
                None => report,
            });
        }
        Err(error) => return Err(error.into()),
    };
    if args.json {
        context.output.json(&status)?;
    } else {
        context.output.raw(page(&status).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn absent(state_dir: &str) -> HostStatus {
    HostStatus {
        is_running: false,
        pid: None,
        start_ticks: None,
        boot_id: None,
        version: None,
        api: None,
        epoch: None,
        since: None,
        state_dir: state_dir.to_owned(),
        socket: None,
        http: None,
        ends_when_idle: false,
        holder_count: 0,
        stores: Vec::new(),
        degraded: Vec::new(),
    }
}

fn page(status: &HostStatus) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: &str| {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{name:<10} {}", terminal::line(value, usize::MAX));
    };
    let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    field("Host", &format!("pid {}", status.pid.unwrap_or_default()));
    field("Version", &or_none(&status.version));
    field("Since", &or_none(&status.since));
    field("Socket", &or_none(&status.socket));
    field("HTTP", &or_none(&status.http));
    field("State", &status.state_dir);
    field("Ends", if status.ends_when_idle { "when idle" } else { "when stopped" });
    field("Living", &status.holder_count.to_string());
    for store in &status.stores {
        let how = if store.is_watched { "" } else { " (not watched)" };
        field("Store", &format!("{}{how}", store.root));
    }
    for why in &status.degraded {
        field("Degraded", why);
    }
    text
}
