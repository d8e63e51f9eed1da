//! `creel worktree`: places for agents to work in, and what is left of them.

use std::path::PathBuf;

use clap::Subcommand;
use creel_host::git::Git;
use creel_host::worktree::{Repo, Worktree, list, resolve};

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::report::{Report, chain};
use crate::scope::absolute;

pub(crate) mod create;
mod inhabitants;
mod list;
mod ps;
mod refusal;
mod rescue;
mod rm;
mod show;
mod view;

/// Make, list and remove worktrees, and get back what was in removed ones
///
/// A worktree is a directory of its own with a branch of its own, of the same repository. Works
/// with those that others made, too, and needs no running host.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Create(create::Args),
    List(list::Args),
    Ps(ps::Args),
    Show(show::Args),
    Rm(rm::Args),
    Rescue(rescue::Args),
}

/// Runs the verb.
///
/// # Errors
/// What the verb reports.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    match &args.verb {
        Verb::Create(args) => create::run(args, context),
        Verb::List(args) => list::run(args, context),
        Verb::Ps(args) => ps::run(args, context),
        Verb::Show(args) => show::run(args, context),
        Verb::Rm(args) => rm::run(args, context),
        Verb::Rescue(args) => rescue::run(args, context),
    }
}

/// Which repository is meant.
#[derive(Clone, Debug, clap::Args)]
struct Place {
    /// The repository, by any directory in it (default: the current one)
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
}

impl Place {
    /// Returns where the caller stands, or says to.
    fn here(&self) -> Result<PathBuf, Report> {
        absolute(self.repo.as_deref().unwrap_or_else(|| ".".as_ref()))
    }

    fn open(&self) -> Result<Repo, Report> {
        let git = Git::new(|name| std::env::var_os(name));
        Ok(Repo::open(git, &self.here()?)?)
    }

    /// Finds the worktree that was typed, among all of the repository.
    fn find(&self, repo: &Repo, typed: &str) -> Result<Worktree, Report> {
        let cwd = absolute(".".as_ref())?;
        resolve(&list(repo)?, typed, &cwd).cloned().ok_or_else(|| {
            let message = format!("{} has no worktree '{typed}'", repo.common().display());
            Report::new(Code::UnknownWorktree, message).next("creel worktree list")
        })
    }
}

/// Parses a worktree's name, with one like it as the next step.
fn name(typed: &str) -> Result<creel_host::worktree::Name, Report> {
    typed.parse().map_err(|error: creel_host::worktree::NameError| {
        let next = match &error.suggestion {
            Some(name) => format!("the same command with '{name}'"),
            None => "the same command with another name".to_owned(),
        };
        Report::new(Code::Usage, chain(&error)).next(next)
    })
}
