//! `creel completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::command::CommandLine;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the verb.
///
/// # Errors
/// When standard output takes no more.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "creel", &mut script);
    context.output.raw(&script)?;
    Ok(Exit::Done)
}
