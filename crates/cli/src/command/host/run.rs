//! `creel host run`.

use std::time::Duration;

use creel_host::daemon::{self, RunError};
use creel_host::instance::InstanceError;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting;
use crate::report::Report;

/// Be the host, in the foreground
///
/// Refused while another one runs. Ends at SIGTERM or SIGINT, and when its directories are gone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Serve HTTP on this port of 127.0.0.1 (0 takes a free one)
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,
    /// End after this many seconds with no living session, no pending wake and no reader
    #[arg(long, value_name = "SECONDS")]
    idle_exit: Option<u64>,
}

/// Runs the verb.
///
/// # Errors
/// When another host runs, or this one can't serve.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let idle_exit = args.idle_exit.map(Duration::from_secs);
    let config = hosting::config(context, (args.http_port, idle_exit))?;
    let state_dir = config.state_dir.clone();
    match daemon::run(config) {
        Ok(_) => Ok(Exit::Done),
        Err(error) => {
            let code = match &error {
                RunError::Instance(InstanceError::Taken { .. }) => Code::HostRunning,
                RunError::RuntimeDir(_) => Code::RuntimeDirUnusable,
                _ => Code::HostFailed,
            };
            let next = match code {
                Code::HostRunning => "creel host status".to_owned(),
                _ => format!("ls -ld {}", state_dir.display()),
            };
            Err(Report::of(code, &error).next(next))
        }
    }
}
