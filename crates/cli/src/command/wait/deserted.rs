//! Sessions that nobody works on although something is to be done: a run whose holder died and whose
//! end nobody has recorded, and a run that is owed and that nobody starts.

use creel_record::{Owed, Session, SessionId, decide};
use creel_spool::Store;
use creel_sys::process::ProcessHandle;

use crate::collecting::{holder_lives, holder_of, last_holder};
use crate::context::Context;
use crate::report::Report;
use crate::starting::Starter;
use crate::starting::birth::Settled;
use crate::starting::owed::Asker;
use crate::starting::right::{self, Doubt, Patience};

/// Does what is to be done for every such session among `ids`; returns the living holders of the
/// others, and whether one may have changed.
///
/// Keepers do all of this for their own sessions; it is left to whoever waits when they were
/// killed.
///
/// # Errors
/// When a session can't be read, what is left of a run can't be proven dead, or what is owed can't
/// be started.
pub(crate) fn see_to(
    context: &Context,
    store: &Store,
    ids: &[SessionId],
) -> Result<(bool, Vec<ProcessHandle>), Report> {
    let mut has_changed = false;
    let mut holders = Vec::new();
    for id in ids {
        let session = store.read(*id)?.snapshot.session;
        match decide(&session, context.now()) {
            Owed::Nothing => {}
            Owed::LiveRun if holder_lives(&session) => holders.extend(holder_of(&session)),
            Owed::LiveRun => {
                let taken = right::win(store, *id, (Doubt::Refuse, Patience::AfterDeath))?;
                has_changed |= taken.is_some();
            }
            Owed::StartIntended | Owed::Reprompt { .. } | Owed::Wake { .. } => {
                // A holder stays until it is decided what follows its run.
                match last_holder(&session) {
                    Some(holder) => holders.push(holder),
                    None => {
                        start_owed(context, store, &session)?;
                        has_changed = true;
                    }
                }
            }
        }
    }
    Ok((has_changed, holders))
}

fn start_owed(context: &Context, store: &Store, session: &Session) -> Result<(), Report> {
    let starter = Starter::new(context)?;
    let asker = Asker { context, store, starter: &starter };
    if asker.settle(session.id, (Doubt::Refuse, Patience::Never))? == Settled::Held {
        right::wait_for_lease(store, session.id)?;
    }
    Ok(())
}
