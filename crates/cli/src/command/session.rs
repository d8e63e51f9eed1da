//! `creel session [ID] VERB`: what an agent says and keeps.

use clap::Subcommand;

use crate::context::Context;
use crate::ending::permitted;
use crate::exit::Exit;
use crate::kinship::Act;
use crate::report::Report;

mod artifact;
pub(crate) mod ask;
mod get;
mod note;
mod register;
pub(crate) mod returning;
mod set;

/// Say or keep something as a session
///
/// Within a session the id may be left out: the session that calls is meant. What is written to
/// another one is attributed to the caller; an agent returns for itself only.
#[derive(Debug, clap::Args)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub(crate) struct Args {
    /// The session; the calling one when left out
    id: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Register(register::Args),
    Set(set::Args),
    Get(get::Args),
    Return(returning::Args),
    Ask(ask::Args),
    Note(note::Args),
    Artifact(artifact::Args),
}

impl Verb {
    /// Returns what is done to the session beyond writing something down.
    fn act(&self) -> Option<Act> {
        match self {
            Self::Return(_) => Some(Act::Return),
            Self::Ask(_) => Some(Act::Ask),
            Self::Register(_) | Self::Set(_) | Self::Get(_) | Self::Note(_) | Self::Artifact(_) => {
                None
            }
        }
    }
}

/// Runs the verb.
///
/// # Errors
/// When no session is meant, the caller may not, the record refuses, or the store can't be used.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let own = context.own_session(args.id.as_deref())?;
    if let Some(act) = args.verb.act() {
        let (store, id) = &own;
        permitted(context, store, (&store.read(*id)?.snapshot.session, act))?;
    }
    match &args.verb {
        Verb::Register(args) => register::run(args, &own, context),
        Verb::Set(args) => set::run(args, &own, context),
        Verb::Get(args) => get::run(args, &own, context),
        Verb::Return(args) => returning::run(args, &own, context),
        Verb::Ask(args) => ask::run(args, &own, context),
        Verb::Note(args) => note::run(args, &own, context),
        Verb::Artifact(args) => artifact::run(args, &own, context),
    }
}
