//! `creel store`: which stores this machine trusts.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use creel_api::store::StoreView;

use crate::codes::Code;
use crate::context::Context;
use crate::descent;
use crate::exit::Exit;
use crate::report::{Report, chain};
use crate::scope::{PROJECT_STORE, Scope, absolute};
use crate::terminal;
use crate::trust::{TrustList, TrustedStore};

/// List, trust and forget the stores of projects
///
/// A project's `.orb` is used, and swept, only while this machine trusts it: a cloned repository
/// must not be able to start anything.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the stores that are used unasked, and one found here that is not trusted
    List {
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
    },
    /// Trust the store in a directory
    ///
    /// Agents may not: it is refused within a session.
    Trust {
        /// The project's directory, or the store itself
        dir: PathBuf,
    },
    /// Trust the store in a directory no longer
    Forget {
        /// The project's directory, or the store itself, as it is listed
        dir: PathBuf,
    },
}

/// Runs the verb.
///
/// # Errors
/// When the list can't be read or written, there is no such store, or an agent asks for trust.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    match &args.verb {
        Verb::List { json } => list(*json, context),
        Verb::Trust { dir } => trust(dir, context),
        Verb::Forget { dir } => forget(dir, context),
    }
}

fn list(json: bool, context: &mut Context) -> Result<Exit, Report> {
    let machine = context.environment.machine_store()?;
    let trusted = TrustList::read(&context.environment.trust_list()?)?;
    let view = |path: &Path, basis: &str, is_there: bool| StoreView {
        root: path.display().to_string(),
        basis: basis.to_owned(),
        is_there,
    };
    let first = view(&machine, "machine", machine.is_dir());
    let rest = trusted.stores().iter().map(|s| view(&s.path, "trusted", s.is_there()));
    let passed_over = Scope::find(context.selection(), &context.environment)?.untrusted;
    let last = passed_over.as_ref().map(|dir| view(dir, "untrusted", true));
    let stores: Vec<StoreView> = std::iter::once(first).chain(rest).chain(last).collect();
    for store in stores {
        if json {
            context.output.json(&store)?;
            continue;
        }
        let state = match (store.is_there, store.basis.as_str()) {
            (_, "untrusted") => "  (found here: not used)",
            (true, _) => "",
            (false, "machine") => "  (not created yet)",
            (false, _) => "  (gone or replaced: not used)",
        };
        let root = terminal::line(&store.root, usize::MAX);
        context.output.line(&format!("{:<9} {root}{state}", store.basis))?;
    }
    Ok(Exit::Done)
}

fn trust(dir: &Path, context: &mut Context) -> Result<Exit, Report> {
    if let Some(session) = descent::calling_session(&context.environment)? {
        let message = format!("session {session} may not trust stores; nothing was changed");
        let next = format!("creel store trust {}   (a person, in a terminal)", dir.display());
        return Err(Report::new(Code::TrustByAgent, message).next(next));
    }
    let root = store_in(dir, context)?;
    let fail = |error: std::io::Error| {
        let message = format!("{} can't be used: {}", root.display(), chain(&error));
        Report::new(Code::StoreUnusable, message).next(format!("ls -ld {}", root.display()))
    };
    let store = TrustedStore::of(&root).map_err(fail)?;
    let path = store.path.display().to_string();
    let is_new = TrustList::add(&context.environment.trust_list()?, store)?;
    let word = if is_new { "Trusted" } else { "Already trusted" };
    context.output.line(&format!("{word}: {}", terminal::line(&path, usize::MAX)))?;
    Ok(Exit::Done)
}

/// Finds the store that a person means by a directory; makes it when asked to.
fn store_in(dir: &Path, context: &Context) -> Result<PathBuf, Report> {
    let dir = absolute(dir)?;
    let is_store = |root: &Path| root.join("manifest.json").is_file();
    let inner = dir.join(PROJECT_STORE);
    if is_store(&inner) || is_store(&dir) {
        return Ok(if is_store(&inner) { inner } else { dir });
    }
    let root = if dir.file_name() == Some(PROJECT_STORE.as_ref()) { dir.clone() } else { inner };
    if context.selection().create_store {
        context.create_at(&root)?;
        return Ok(root);
    }
    let message = format!("there is no store in {}", dir.display());
    Err(Report::new(Code::StoreMissing, message)
        .next(format!("creel store trust --create-store {}", dir.display())))
}

fn forget(dir: &Path, context: &mut Context) -> Result<Exit, Report> {
    let list = context.environment.trust_list()?;
    let dir = absolute(dir)?;
    let inner = dir.join(PROJECT_STORE);
    for root in [&inner, &dir] {
        // A store that is gone has no canonical path any more; it is listed under its last one.
        for path in [root.canonicalize().ok(), Some(root.clone())].into_iter().flatten() {
            if TrustList::remove(&list, &path)? {
                let text = terminal::line(&path.display().to_string(), usize::MAX);
                context.output.line(&format!("Forgotten: {text}"))?;
                return Ok(Exit::Done);
            }
        }
    }
    let message = format!("{} is no trusted store", dir.display());
    Err(Report::new(Code::StoreMissing, message).next("creel store list"))
}
