//! `creel mcp`.

use crate::context::Context;
use crate::exit::Exit;
use crate::mcp::serve;
use crate::report::Report;

/// Serve the session verbs as MCP tools on standard input and output
///
/// For harnesses whose sandbox keeps shell commands from the store: they start it outside, with the
/// variables of the session.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
///
/// # Errors
/// When no session is named by the environment, or the connection fails.
pub(crate) fn run(_args: &Args, context: &mut Context) -> Result<Exit, Report> {
    serve(context.selection())?;
    Ok(Exit::Done)
}
