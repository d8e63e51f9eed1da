//! `creel man`.

use clap::CommandFactory;

use crate::codes::Code;
use crate::command::CommandLine;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

/// Print a manual page in roff form, for `man -l -`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The verb, with its own verb behind it where it has some; none is the program itself
    verb: Vec<String>,
}

/// Runs the verb.
///
/// # Errors
/// When there is no such verb, or standard output takes no more.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let mut command = CommandLine::command();
    command.build();
    let mut title = command.get_name().to_owned();
    for name in &args.verb {
        let Some(below) = command.find_subcommand(name) else {
            let message = format!("there is no verb '{}'", args.verb.join(" "));
            return Err(Report::new(Code::Usage, message).next("creel --help"));
        };
        command = below.clone();
        title = format!("{title}-{name}");
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(title)
        .render(&mut page)
        .map_err(|error| Report::of(Code::Internal, &error))?;
    context.output.raw(&page)?;
    Ok(Exit::Done)
}
