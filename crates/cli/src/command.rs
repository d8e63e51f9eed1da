//! The verbs, one file each. The match in [`run`] only dispatches.

use clap::{Parser, Subcommand};

use crate::context::Context;
use crate::exit::Exit;
use crate::report::Report;
use crate::scope::Selection;

pub(crate) mod attach;
pub(crate) mod close;
pub(crate) mod completions;
pub(crate) mod detach;
pub(crate) mod discard;
pub(crate) mod doctor;
pub(crate) mod end;
pub(crate) mod events;
pub(crate) mod heal;
pub(crate) mod host;
pub(crate) mod inspect;
pub(crate) mod interactive;
pub(crate) mod interrupt;
pub(crate) mod kill;
pub(crate) mod launch;
pub(crate) mod layout;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod park;
pub(crate) mod peek;
pub(crate) mod plan;
pub(crate) mod rebuild;
pub(crate) mod reconcile;
pub(crate) mod reference;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod restart;
pub(crate) mod result;
pub(crate) mod resume;
pub(crate) mod scope;
pub(crate) mod session;
pub(crate) mod shell;
pub(crate) mod store;
pub(crate) mod switch;
pub(crate) mod terminal;
pub(crate) mod verify;
pub(crate) mod wait;
pub(crate) mod worktree;

/// Run coding agents in durable sessions
///
/// Every session is a record on this machine: what it was asked, what each turn returned, whether
/// it is finished. An id may be given as any unambiguous prefix of at least four characters.
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing matched, 4 refused and nothing changed,
/// 5 unusable environment, 6 store of another revision, 7 timed out and still pending,
/// 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "creel", version, propagate_version = true, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub(crate) struct CommandLine {
    /// Which store.
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Launch(launch::Args),
    Interactive(interactive::Args),
    Shell(shell::Args),
    Attach(attach::Args),
    Switch(switch::Args),
    Restart(restart::Args),
    Detach(detach::Args),
    #[command(subcommand)]
    Terminal(terminal::Verb),
    Request(request::Args),
    Resume(resume::Args),
    Session(session::Args),
    Respond(respond::Args),
    Result(result::Args),
    Wait(wait::Args),
    List(list::Args),
    Inspect(inspect::Args),
    Peek(peek::Args),
    Events(events::Args),
    Interrupt(interrupt::Args),
    Park(park::Args),
    Close(close::Args),
    End(end::Args),
    Kill(kill::Args),
    Discard(discard::Args),
    Reconcile(reconcile::Args),
    Verify(verify::Args),
    Heal(heal::Args),
    RebuildSessionSnapshots(rebuild::Args),
    Scope(scope::Args),
    Store(store::Args),
    Worktree(worktree::Args),
    Host(host::Args),
    Layout(layout::Args),
    Doctor(doctor::Args),
    Mcp(mcp::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Plan(plan::Args),
    #[command(hide = true)]
    Reference(reference::Args),
}

/// Runs a verb.
///
/// # Errors
/// What the verb reports.
pub(crate) fn run(verb: &Verb, context: &mut Context) -> Result<Exit, Report> {
    match verb {
        Verb::Launch(args) => launch::run(args, context),
        Verb::Interactive(args) => interactive::run(args, context),
        Verb::Shell(args) => shell::run(args, context),
        Verb::Attach(args) => attach::run(args, context),
        Verb::Switch(args) => switch::run(args, context),
        Verb::Restart(args) => restart::run(args, context),
        Verb::Detach(args) => detach::run(args, context),
        Verb::Terminal(verb) => terminal::run(verb, context),
        Verb::Request(args) => request::run(args, context),
        Verb::Resume(args) => resume::run(args, context),
        Verb::Session(args) => session::run(args, context),
        Verb::Respond(args) => respond::run(args, context),
        Verb::Result(args) => result::run(args, context),
        Verb::Wait(args) => wait::run(args, context),
        Verb::List(args) => list::run(args, context),
        Verb::Inspect(args) => inspect::run(args, context),
        Verb::Peek(args) => peek::run(args, context),
        Verb::Events(args) => events::run(args, context),
        Verb::Interrupt(args) => interrupt::run(args, context),
        Verb::Park(args) => park::run(args, context),
        Verb::Close(args) => close::run(args, context),
        Verb::End(args) => end::run(args, context),
        Verb::Kill(args) => kill::run(args, context),
        Verb::Discard(args) => discard::run(args, context),
        Verb::Reconcile(args) => reconcile::run(args, context),
        Verb::Verify(args) => verify::run(args, context),
        Verb::Heal(args) => heal::run(args, context),
        Verb::RebuildSessionSnapshots(args) => rebuild::run(args, context),
        Verb::Scope(args) => scope::run(args, context),
        Verb::Store(args) => store::run(args, context),
        Verb::Worktree(args) => worktree::run(args, context),
        Verb::Host(args) => host::run(args, context),
        Verb::Layout(args) => layout::run(args, context),
        Verb::Doctor(args) => doctor::run(args, context),
        Verb::Mcp(args) => mcp::run(args, context),
        Verb::Completions(args) => completions::run(args, context),
        Verb::Man(args) => man::run(args, context),
        Verb::Plan(args) => plan::run(args, context),
        Verb::Reference(args) => reference::run(args, context),
    }
}
