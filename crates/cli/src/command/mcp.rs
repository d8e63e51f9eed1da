//! `creel mcp`.

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

/// Serve the agent's verbs to its harness over standard input and output
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
///
/// # Errors
/// Always: this build can't do it yet.
pub(crate) fn run(_args: &Args, _context: &mut Context) -> Result<Exit, Report> {
    Err(Report::new(Code::Internal, "this build has no 'mcp' yet").next("creel --help"))
}
