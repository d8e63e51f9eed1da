//! `creel reference`: the page `docs/reference.md`, made from the grammar.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};
use creel_api::SHAPES_VERSION;

use crate::command::CommandLine;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;

/// Print the reference page of every verb
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Runs the verb.
///
/// # Errors
/// When standard output takes no more.
pub(crate) fn run(_args: &Args, context: &mut Context) -> Result<Exit, Report> {
    context.output.raw(page().as_bytes())?;
    Ok(Exit::Done)
}

/// Returns the page.
pub(crate) fn page() -> String {
    let mut command = CommandLine::command();
    command.build();
    let mut text = format!(
        "# Reference\n\nMade by `creel reference`; a test fails when it is stale. JSON output has \
         version {SHAPES_VERSION}: members are only added to it.\n\n",
    );
    text.push_str(&paragraphs(&command));
    text.push_str("\n\n## Flags of every verb\n\n");
    for flag in command.get_arguments().filter(|arg| arg.is_global_set() && !is_built_in(arg)) {
        text.push_str(&item(flag));
    }
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        section(&mut text, verb, "creel");
    }
    text
}

fn section(text: &mut String, command: &Command, above: &str) {
    let name = format!("{above} {}", command.get_name());
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    // Writing to a String can't fail.
    let _ = write!(text, "\n## {name}\n\n{}\n\n```\n{usage}\n```\n", paragraphs(command));
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && !arg.is_hide_set() && !is_built_in(arg))
        .collect();
    if !own.is_empty() {
        text.push('\n');
    }
    for arg in own {
        text.push_str(&item(arg));
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        section(text, below, &name);
    }
}

fn is_built_in(arg: &Arg) -> bool {
    matches!(arg.get_id().as_str(), "help" | "version")
}

fn paragraphs(command: &Command) -> String {
    let about = command.get_long_about().or_else(|| command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

fn item(arg: &Arg) -> String {
    let mut names: Vec<String> = Vec::new();
    names.extend(arg.get_short().map(|short| format!("-{short}")));
    names.extend(arg.get_long().map(|long| format!("--{long}")));
    let takes_value = arg.get_action().takes_values();
    let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let name = match (names.is_empty(), value) {
        (false, Some(value)) if takes_value => format!("{} {value}", names.join(", ")),
        (false, _) => names.join(", "),
        (true, value) => value.unwrap_or_else(|| arg.get_id().to_string().to_uppercase()),
    };
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut text = sentences(&help);
    if takes_value && let [default] = arg.get_default_values() {
        // Writing to a String can't fail.
        let _ = write!(text, " (default {})", default.to_string_lossy());
    }
    format!("- `{name}`: {text}\n")
}

/// Puts paragraphs on one line, each but the last ended by a full stop.
fn sentences(help: &str) -> String {
    let paragraphs: Vec<String> = help
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .collect();
    let ended = |text: &String| text.trim_end_matches('.').to_owned();
    match paragraphs.as_slice() {
        [only] => only.clone(),
        many => many.iter().map(ended).collect::<Vec<_>>().join(". "),
    }
}
