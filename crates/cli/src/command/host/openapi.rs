//! `creel host openapi`: the document `docs/openapi.json`.

use creel_host::http::openapi;

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

/// Print the OpenAPI document of the host's interface
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
///
/// # Errors
/// When standard output takes no more.
pub(crate) fn run(_args: &Args, context: &mut Context) -> Result<Exit, Report> {
    context.output.raw(openapi::text().as_bytes())?;
    Ok(Exit::Done)
}
