//! `creel host`: the daemon that knows what lives.

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

pub(crate) mod openapi;
pub(crate) mod run;
pub(crate) mod service;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;

/// Start, stop and look at the host
///
/// The host knows which runs live, serves the interface of faces, keeps the layout and records runs
/// as lost whose processes are gone. There is one for each user and machine. No agent needs it, and
/// none ends with it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::Args),
    Start(start::Args),
    Stop(stop::Args),
    Status(status::Args),
    InstallService(service::Install),
    UninstallService(service::Uninstall),
    #[command(hide = true)]
    Openapi(openapi::Args),
}

/// Runs the verb.
///
/// # Errors
/// What the verb below reports.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    match &args.verb {
        Verb::Run(args) => run::run(args, context),
        Verb::Start(args) => start::run(args, context),
        Verb::Stop(args) => stop::run(args, context),
        Verb::Status(args) => status::run(args, context),
        Verb::InstallService(args) => service::install(args, context),
        Verb::UninstallService(args) => service::uninstall(args, context),
        Verb::Openapi(args) => openapi::run(args, context),
    }
}
