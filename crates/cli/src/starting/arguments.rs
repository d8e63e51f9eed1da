//! The arguments that `launch` and `request` share.

use std::path::PathBuf;

use creel_harness::Catalog;
use creel_record::{Cause, SessionId};
use creel_spool::Store;

use crate::codes::Code;
use crate::lookup::find;
use crate::output::say;
use crate::report::Report;
use crate::starting::choice;
use crate::starting::creation::{Order, working_directory};
use crate::text::{from_file, from_stdin, joined};

/// What a new session is made of.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StartArguments {
    /// A target (`runtime` or `runtime/profile`), then the prompt
    ///
    /// A first word that names a runtime is the target; without one the first available target of
    /// the default list is used. `-` in the prompt's place reads it from standard input.
    #[arg(value_name = "TARGET|PROMPT")]
    pub(crate) words: Vec<String>,
    /// Read the prompt from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Set the title that the session list shows
    #[arg(long)]
    title: Option<String>,
    /// Set the description that the session list shows
    #[arg(long)]
    description: Option<String>,
    /// Link the session to one that it follows
    #[arg(long, value_name = "ID")]
    pub(crate) continues: Option<String>,
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Store this account's name with the session
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Don't keep the raw output of runs, which can't be searched for secrets soundly
    #[arg(long)]
    no_output_log: bool,
}

impl StartArguments {
    /// Finds the session that --continues names.
    ///
    /// # Errors
    /// When no or several sessions are meant.
    pub(crate) fn continued(&self, store: &Store) -> Result<Option<SessionId>, Report> {
        self.continues.as_deref().map(|typed| find(store, typed)).transpose()
    }

    /// Reads the prompt and puts the order together; `continues` is that flag's session.
    ///
    /// # Errors
    /// When there is no prompt, it can't be read, or the working directory can't be one.
    pub(crate) fn order(
        &self,
        cause: Cause,
        catalog: &Catalog,
        continues: Option<SessionId>,
    ) -> Result<Order, Report> {
        let (target, words) = choice::split(catalog, &self.words);
        if let (None, [first, _, ..]) = (target, &self.words[..]) {
            not_a_target(first, cause)?;
        }
        Ok(Order {
            cause,
            named_target: target.map(str::to_owned),
            prompt: prompt(words, self.file.as_ref(), cause)?,
            title: self.title.clone(),
            description: self.description.clone(),
            account: self.account.clone(),
            continues,
            cwd: working_directory(self.cwd.as_deref())?,
            keeps_output: !self.no_output_log,
            is_interactive: false,
        })
    }

    /// Puts the order of a person's session together; it may begin without a prompt.
    ///
    /// # Errors
    /// As [`StartArguments::order`], the missing prompt apart.
    pub(crate) fn interactive_order(
        &self,
        catalog: &Catalog,
        continues: Option<SessionId>,
    ) -> Result<Order, Report> {
        let (target, words) = choice::split(catalog, &self.words);
        if words.is_empty() && self.file.is_none() {
            return Ok(Order {
                cause: Cause::Launch,
                named_target: target.map(str::to_owned),
                prompt: String::new(),
                title: self.title.clone(),
                description: self.description.clone(),
                account: self.account.clone(),
                continues,
                cwd: working_directory(self.cwd.as_deref())?,
                keeps_output: !self.no_output_log,
                is_interactive: true,
            });
        }
        let order = self.order(Cause::Launch, catalog, continues)?;
        Ok(Order { is_interactive: true, ..order })
    }
}

/// Answers a first word that may be a mistyped target: `launch` takes one prompt, so there it must
/// be one; elsewhere the words may be an unquoted prompt, and what is done with them is told.
fn not_a_target(first: &str, cause: Cause) -> Result<(), Report> {
    if cause == Cause::Launch {
        let message = format!("'{first}' names no target, and launch takes one prompt");
        return Err(Report::new(Code::Usage, message).next("creel launch TARGET 'PROMPT'"));
    }
    if !first.contains(char::is_whitespace) {
        say(&format!("'{first}' names no target; it begins the prompt"));
    }
    Ok(())
}

/// Reads the prompt of a verb from the words after its target, standard input or a file.
///
/// # Errors
/// When there is none or two, or it can't be read.
pub(crate) fn prompt(
    words: &[String],
    file: Option<&PathBuf>,
    cause: Cause,
) -> Result<String, Report> {
    let verb = cause.as_str();
    match (words.split_first(), file) {
        (None, Some(path)) => from_file(path),
        (Some(_), Some(_)) => {
            let message = format!("{verb} got a prompt and --file; give one of them");
            Err(Report::new(Code::Usage, message).next(format!("creel {verb} --help")))
        }
        (Some((first, [])), None) if first == "-" => from_stdin(),
        (Some((first, rest)), None) => Ok(joined(first, rest)),
        (None, None) => {
            let message = format!("{verb} needs a prompt: as an argument, `-` or --file");
            Err(Report::new(Code::Usage, message).next(format!("creel {verb} --help")))
        }
    }
}
