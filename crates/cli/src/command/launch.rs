//! `creel launch`.

use creel_record::Cause;
use creel_spool::Store;

use crate::codes::Code;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting::ensure_host;
use crate::report::{Report, chain};
use crate::starting::Starter;
use crate::starting::arguments::StartArguments;
use crate::starting::creation::{NewIds, launch_key};
use crate::starting::owed::Asker;

/// Start a session of its own and return at once
///
/// Prints the session's id. The session is a peer: nobody waits for it, and it has no parent, also
/// when an agent launches it. Nothing of a prompt given by `-` or --file travels in arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    start: StartArguments,
    /// Launch at most once under this key, for ever: the same launch again prints the same id
    ///
    /// The key belongs to the store. Other arguments under the same key are refused.
    #[arg(long)]
    key: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// When no target is available, the key stands for another launch, or nothing could be started.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let store = context.store_for_new()?;
    context.may_write(&store)?;
    let starter = Starter::new(context)?;
    ensure_host(context);
    let continues = args.start.continued(&store)?;
    let order = args.start.order(Cause::Launch, &starter.catalog, continues)?;
    let root = canonical_root(&store)?;
    let key = args.key.as_deref().map(|key| launch_key(key, &order));
    let ids = NewIds::new(context, &root, key);
    let asker = Asker { context, store: &store, starter: &starter };
    let session = asker.create(&order, &ids, None)?;
    let id = session.id;
    asker.start_first(session)?;
    context.output.line(&id.to_string())?;
    Ok(Exit::Done)
}

/// Keys belong to a store wherever it is reached from, so that its path must be one.
fn canonical_root(store: &Store) -> Result<String, Report> {
    let root = store.root();
    let canonical = root.canonicalize().map_err(|error| {
        let message = format!("the store {} can't be found: {}", root.display(), chain(&error));
        Report::new(Code::StoreUnusable, message).next("creel scope")
    })?;
    Ok(canonical.to_string_lossy().into_owned())
}
