//! `creel host stop`.

use std::time::Duration;

use creel_api::host::{HostStatus, StopView};
use creel_sys::process::ProcessIdentity;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting;
use crate::report::Report;

/// How long a host may take to end: its answers to others, and as much again for a busy machine.
const GONE_WITHIN: Duration = Duration::from_secs(15);

/// Stop the host
///
/// No agent ends with it: their sessions go on, and the next host finds them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
///
/// # Errors
/// When no host runs, or it does not end in time.
pub(crate) fn run(_args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let client = hosting::client()?;
    let status: HostStatus = client.get("/v1/host")?;
    let stopped: StopView = client.post("/v1/host/stop")?;
    let identity = ProcessIdentity {
        pid: stopped.pid,
        start_ticks: status.start_ticks.unwrap_or_default(),
        boot_id: status.boot_id.unwrap_or_default(),
    };
    let is_gone = identity
        .wait_gone(GONE_WITHIN)
        .map_err(|error| Report::of(Code::HostUnreachable, &error).next("creel host status"))?;
    if !is_gone {
        let message = format!(
            "the host (pid {}) was asked to end and still runs after {} s",
            stopped.pid,
            GONE_WITHIN.as_secs()
        );
        return Err(Report::new(Code::StillPending, message).next("creel host status"));
    }
    let living = match stopped.holder_count {
        1 => "1 session stays alive".to_owned(),
        count => format!("{count} sessions stay alive"),
    };
    context.output.line(&format!("Stopped: pid {}; {living}", stopped.pid))?;
    Ok(Exit::Done)
}
