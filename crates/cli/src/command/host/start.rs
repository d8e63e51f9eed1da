//! `creel host start`.

use std::ffi::OsString;

use creel_api::host::HostStatus;
use creel_host::client::ClientError;
use creel_host::start::{StartError, start};

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting;
use crate::report::Report;

/// Start the host and return once it answers
///
/// It is detached from this terminal and from the agent that calls, and gets a scope of its own
/// where the user's systemd runs. Does nothing when one runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Serve HTTP on this port of 127.0.0.1 (0 takes a free one)
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,
    /// End after this many seconds with no living session, no pending wake and no reader
    #[arg(long, value_name = "SECONDS")]
    idle_exit: Option<u64>,
    /// As verbs start it that start a run: it ends after five idle minutes
    #[arg(long, hide = true)]
    implicit: bool,
}

/// Runs the verb.
///
/// # Errors
/// When it can't be started or does not answer; the report tells what its log says.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    match hosting::client()?.get::<HostStatus>("/v1/host") {
        Ok(status) => return tell(context, "Already running", &status),
        Err(ClientError::Absent) => {}
        Err(error) => return Err(error.into()),
    }
    let mut flags: Vec<OsString> = Vec::new();
    if let Some(port) = args.http_port {
        flags.extend(["--http-port".into(), port.to_string().into()]);
    }
    let implicit = args.implicit.then(|| hosting::implicit_idle_exit().as_secs());
    if let Some(seconds) = args.idle_exit.or(implicit) {
        flags.extend(["--idle-exit".into(), seconds.to_string().into()]);
    }
    let wanted = hosting::starting(context, flags)?;
    match start(&wanted) {
        Ok(status) => tell(context, "Started", &status),
        Err(StartError::Client(error)) => Err(error.into()),
        Err(error) => {
            let log = wanted.state_dir.join("log");
            Err(Report::of(Code::HostFailed, &error).next(format!("tail {}", log.display())))
        }
    }
}

fn tell(context: &mut Context, word: &str, status: &HostStatus) -> Result<Exit, Report> {
    let pid = status.pid.unwrap_or_default();
    context.output.line(&format!("{word}: pid {pid}"))?;
    Ok(Exit::Done)
}
