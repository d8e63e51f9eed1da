//! From the process's arguments to a verb, and from its outcome to an exit code.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::codes::Code;
use crate::command::{self, CommandLine};
use crate::context::Context;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::output::say;
use crate::report::Report;

/// Runs one call of the program to its exit code.
///
/// The entry points of a holder and a keeper are found before anything is parsed: they are started
/// by us, often, and want nothing that the verbs need.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    let is_flint = Path::new(&name).file_stem() == Some("flint".as_ref());
    if let Some(entry) = entry(&arguments) {
        return entry();
    }
    match verb_arguments(is_flint, arguments).and_then(run) {
        Ok(exit) => exit.into(),
        Err(report) => {
            say(&report.to_string());
            report.exit().into()
        }
    }
}

/// Finds the entry point of a holder or a keeper.
fn entry(arguments: &[OsString]) -> Option<fn() -> ExitCode> {
    match arguments.first()?.to_str()? {
        "hold" => Some(creel_keeper::hold),
        "keep" => Some(creel_keeper::keep),
        _ => None,
    }
}

/// Takes off what stands before the verb, and refuses what isn't text.
fn verb_arguments(is_flint: bool, arguments: Vec<OsString>) -> Result<Vec<String>, Report> {
    let mut texts = Vec::with_capacity(arguments.len());
    for (index, argument) in arguments.into_iter().enumerate() {
        let text = argument.into_string().map_err(|argument| {
            let shown = argument.to_string_lossy();
            let message = format!("argument {} ('{shown}') is not UTF-8", index + 1);
            Report::new(Code::NonUtf8, message)
                .next("the same command with UTF-8; a text may also come by --file")
        })?;
        texts.push(text);
    }
    match texts.first().map(String::as_str) {
        Some("orbh") => {
            texts.remove(0);
            Ok(texts)
        }
        Some("--help" | "-h" | "--version" | "-V") | None => Ok(texts),
        Some(other) if is_flint => {
            let message = format!("flint knows 'orbh' here, not '{other}'");
            Err(Report::new(Code::Usage, message).next("flint orbh --help"))
        }
        Some(_) => Ok(texts),
    }
}

fn run(mut arguments: Vec<String>) -> Result<Exit, Report> {
    // `help VERB` reads as `VERB --help`, without a page of its own below every verb.
    if arguments.first().is_some_and(|first| first == "help") {
        arguments.remove(0);
        arguments.push("--help".to_owned());
    }
    let command = CommandLine::command();
    let verb = verb_of(&command, &arguments);
    let with_name = std::iter::once("creel".to_owned()).chain(arguments);
    let parsed = command
        .try_get_matches_from(with_name)
        .and_then(|mut matches| CommandLine::from_arg_matches_mut(&mut matches));
    let line = match parsed {
        Ok(line) => line,
        Err(error) => return not_a_call(&error, &verb),
    };
    let mut context = Context::new(line.selection, Environment::capture());
    let exit = command::run(&line.verb, &mut context)?;
    context.output.flush()?;
    Ok(exit)
}

/// Answers a call for help, and turns what clap refuses into our form of a refusal.
fn not_a_call(error: &clap::Error, verb: &str) -> Result<Exit, Report> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let mut output = crate::output::Output::new();
        let text = error.render();
        let text = if output.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        output.raw(text.as_bytes())?;
        output.flush()?;
        return Ok(Exit::Done);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        if verb != "creel" {
            return Err(
                Report::new(Code::Usage, "a verb is missing").next(format!("{verb} --help"))
            );
        }
        say(error.render().to_string().trim_end());
        return Ok(Exit::Usage);
    }
    let text = error.render().to_string();
    let lines = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let mut message = String::new();
    for line in lines {
        let between = match message.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        };
        message.push_str(between);
        message.push_str(line);
    }
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    Err(Report::new(Code::Usage, message).next(format!("{verb} --help")))
}

/// Returns the verb that the arguments name, as far as they name one.
fn verb_of(command: &clap::Command, arguments: &[String]) -> String {
    let mut verb = command.get_name().to_owned();
    let mut below = command;
    for argument in arguments {
        if let Some(found) = below.find_subcommand(argument) {
            verb = format!("{verb} {}", found.get_name());
            below = found;
        }
    }
    verb
}

#[cfg(test)]
mod tests {
    use super::{run, verb_arguments};

    fn check(is_flint: bool, arguments: &[&str], expected: Result<&[&str], &str>) {
        let arguments = arguments.iter().map(|a| (*a).into()).collect();
        let found = verb_arguments(is_flint, arguments).map_err(|report| report.to_string());
        let expected = expected
            .map(|texts| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>())
            .map_err(str::to_owned);
        assert_eq!(found, expected);
    }

    #[test]
    fn both_names_lead_to_the_same_verb() {
        check(false, &["list"], Ok(&["list"]));
        check(false, &["orbh", "list"], Ok(&["list"]));
        check(true, &["orbh", "list"], Ok(&["list"]));
        check(true, &["--version"], Ok(&["--version"]));
        let refusal = "creel: flint knows 'orbh' here, not 'list' [usage]\nNext: flint orbh --help";
        check(true, &["list"], Err(refusal));
    }

    #[test]
    fn what_the_grammar_refuses_is_one_line_with_a_next_step() {
        let report =
            |line: &str| run(line.split(' ').map(str::to_owned).collect()).unwrap_err().to_string();
        let check = |line: &str, expected: [&str; 2]| {
            assert_eq!(
                report(line),
                format!("creel: {} [usage]\nNext: {}", expected[0], expected[1])
            );
        };
        check(
            "lisst",
            [
                "unrecognized subcommand 'lisst'; tip: some similar subcommands exist: 'i', 'list'",
                "creel --help",
            ],
        );
        check(
            "session 01234 return --finish --await x",
            [
                "the argument '--finish' cannot be used with '--await'",
                "creel session return --help",
            ],
        );
        check(
            "result",
            ["the following required arguments were not provided: <ID>", "creel result --help"],
        );
        check(
            "wait abc --timeout soon",
            [
                "invalid value 'soon' for '--timeout <SECONDS>': invalid digit found in string",
                "creel wait --help",
            ],
        );
        check("session", ["a verb is missing", "creel session --help"]);
    }

    #[test]
    fn a_call_of_nothing_is_answered_with_the_help() {
        assert_eq!(run(Vec::new()).ok(), Some(crate::exit::Exit::Usage));
    }
}
