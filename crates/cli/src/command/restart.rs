//! `creel restart`.

use creel_record::{Cause, Mode, Session};

use crate::command::interactive::Showing;
use crate::context::Context;
use crate::exit::Exit;
use crate::hosting::ensure_host;
use crate::output::say;
use crate::report::Report;
use crate::starting::composition::NativeContext;
use crate::starting::follow_up::FollowUp;
use crate::starting::owed::Asker;
use crate::starting::{Credentials, Starter};

/// Start the agent of a session again, in the same directory
///
/// Adds one run to the session, which keeps its id. The agent's own conversation is continued where
/// that can be done; else it starts over with the session's first prompt, which is told. Refused
/// while a run is live.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session
    id: String,
    /// Start over, also when the conversation could be continued
    #[arg(long)]
    fresh: bool,
    /// Start although credentials are missing that the launch had
    #[arg(long)]
    without_credentials: bool,
    #[command(flatten)]
    showing: Showing,
}

/// Runs the verb.
///
/// # Errors
/// When a run is live, the session is discarded, or nothing could be started.
pub(crate) fn run(args: &Args, context: &mut Context) -> Result<Exit, Report> {
    let (store, id) = context.session(&args.id)?;
    context.may_write(&store)?;
    let session = store.read(id)?.snapshot.session;
    let is_interactive = session.mode == Mode::Interactive;
    let size = if is_interactive { args.showing.prepare("restart ID")? } else { None };
    let mut starter = Starter::new(context)?;
    ensure_host(context);
    if args.without_credentials {
        starter.credentials = Credentials::Optional;
    }
    starter.terminal_size = size.unwrap_or(starter.terminal_size);
    let asker = Asker { context, store: &store, starter: &starter };
    let wish = begin_again(&asker, &session, args.fresh)?;
    asker.follow_up(id, wish)?;
    if is_interactive {
        return args.showing.show(context, id);
    }
    context.output.line(&id.to_string())?;
    Ok(Exit::Done)
}

/// Returns the run that goes on where a session's last one ended; says so when it can't.
///
/// # Errors
/// When the record can't be read, or the target is gone.
pub(crate) fn begin_again(
    asker: &Asker<'_>,
    session: &Session,
    is_fresh: bool,
) -> Result<FollowUp, Report> {
    let target = asker.starter.target_of(asker.store, session)?.target;
    let continues = !is_fresh && target.can_resume() && session.native_session_id.is_some();
    let text = match (session.mode, continues) {
        // The person goes on; the agent knows where it was.
        (Mode::Interactive, true) => String::new(),
        (Mode::Interactive, false) => asker.store.text(session.id, session.prompt)?,
        (Mode::Headless | Mode::Subagent, _) => {
            asker.store.text(session.id, session.operator_prompt)?
        }
    };
    if !continues && !is_fresh && session.run_count > 0 {
        let why = match target.can_resume() {
            true => "no run of it told its own id of the conversation",
            false => "it keeps no conversation",
        };
        say(&format!("{} starts over: {why}", target.name()));
    }
    Ok(FollowUp {
        run_id: asker.context.run_id(),
        text,
        cause: Cause::Resume,
        native: if continues { NativeContext::Continue } else { NativeContext::Fresh },
        undiscards: false,
    })
}
