//! The store that a verb uses, and the session in it that is meant.

use std::path::Path;
use std::sync::Arc;

use creel_record::command::Verdict;
use creel_record::snapshot::SPACE_ID;
use creel_record::{Fact, Refusal, Session, SessionId};
use creel_spool::{Access, Change, Committed, OpenError, Store, TransactError, Visibility};
use creel_sys::boot;
use creel_sys::os_fs::OsFs;

use crate::codes::Code;
use crate::context::Context;
use crate::convert::{refused, write_failure_in};
use crate::lookup::find;
use crate::output::say;
use crate::report::Report;
use crate::scope::Basis;
use crate::trust::TrustList;

/// What a command of the record came to.
#[derive(Debug)]
pub(crate) struct Recorded<A> {
    /// What was there already; none when an event was appended.
    pub(crate) already: Option<A>,
    /// The session as it is now.
    pub(crate) session: Session,
}

impl Context {
    /// Opens the store; a missing machine store is none, since nobody has used it yet.
    ///
    /// # Errors
    /// When the scope can't be told, or the store can't be opened.
    pub(crate) fn store_if_any(&mut self) -> Result<Option<Store>, Report> {
        let scope = self.scope()?;
        if self.selection().create_store && scope.basis.is_named() {
            return self.create_at(&scope.root).map(Some);
        }
        match open(&scope.root) {
            Ok(store) => Ok(Some(store)),
            Err(OpenError::Missing { root }) if has_sessions(&root) => Err(headless(&root)),
            Err(OpenError::Missing { .. }) if scope.basis == Basis::Machine => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store that must be there, since a session in it is named.
    ///
    /// # Errors
    /// As [`Context::store_if_any`], and when there is none.
    pub(crate) fn store(&mut self) -> Result<Store, Report> {
        self.store_if_any()?.ok_or_else(|| {
            Report::new(Code::UnknownId, "the machine store holds no session yet")
                .next("creel launch TARGET PROMPT")
        })
    }

    /// Opens the store for a new session; the machine store is made when it is not there yet.
    ///
    /// # Errors
    /// As [`Context::store_if_any`], and when it can't be made.
    pub(crate) fn store_for_new(&mut self) -> Result<Store, Report> {
        match self.store_if_any()? {
            Some(store) => Ok(store),
            None => {
                let root = self.scope()?.root;
                self.create_at(&root)
            }
        }
    }

    /// Opens the store at `root`.
    ///
    /// # Errors
    /// When there is none, or it can't be opened.
    pub(crate) fn store_at(&self, root: &Path) -> Result<Store, Report> {
        Ok(open(root)?)
    }

    /// Opens the store at `root`, made first where it is not there yet.
    ///
    /// # Errors
    /// When it can't be made, or something else stands there.
    pub(crate) fn create_at(&self, root: &Path) -> Result<Store, Report> {
        let boot_id = boot_id()?;
        Ok(Store::create(root, Arc::new(OsFs), &boot_id)?)
    }

    /// Opens the store and finds the session in it that a verb acts on: the one that was typed,
    /// else the caller's own.
    ///
    /// # Errors
    /// When neither is given, or no or several sessions are meant.
    pub(crate) fn own_session(
        &mut self,
        typed: Option<&str>,
    ) -> Result<(Store, SessionId), Report> {
        let typed = self.own_or(typed)?;
        self.session(&typed)
    }

    /// Opens the store and finds the session in it that was typed.
    ///
    /// # Errors
    /// When no or several sessions are meant.
    pub(crate) fn session(&mut self, typed: &str) -> Result<(Store, SessionId), Report> {
        let store = self.store()?;
        let id = find(&store, typed)?;
        Ok((store, id))
    }

    /// Opens the store for maintenance of the session that was typed, or of all sessions; none
    /// when there is no store yet.
    ///
    /// # Errors
    /// When no or several sessions are meant, or the store can't be read.
    pub(crate) fn sessions(
        &mut self,
        typed: Option<&str>,
    ) -> Result<Option<(Store, Vec<SessionId>)>, Report> {
        if let Some(typed) = typed {
            let (store, id) = self.session(typed)?;
            return Ok(Some((store, vec![id])));
        }
        let Some(store) = self.store_if_any()? else { return Ok(None) };
        let ids = store.ids()?;
        Ok(Some((store, ids)))
    }

    /// Tells whether this user vouches for the store, so that what it says about processes may be
    /// acted on unasked: the machine store and trusted ones.
    ///
    /// # Errors
    /// When the environment names no home, or the list of trusted stores can't be read.
    pub(crate) fn sweeps(&self, store: &Store) -> Result<bool, Report> {
        let is_machine = store.root() == self.environment.machine_store()?;
        Ok(is_machine || TrustList::read(&self.environment.trust_list()?)?.trusts(store.root()))
    }

    /// Refuses a store that may not be written, before anything is tried.
    ///
    /// # Errors
    /// When it may not.
    pub(crate) fn may_write(&self, store: &Store) -> Result<(), Report> {
        let (code, reason) = match store.access() {
            Access::ReadWrite => return Ok(()),
            Access::ReadOnly { reason } => (Code::ReadOnlyStore, reason),
            Access::Newer { reason } => (Code::NewerStore, reason),
        };
        let message = format!("nothing was changed: {reason}");
        // An agent that finds the store read-only is in a sandbox, and has another way out.
        let next = match (&self.environment.session_id, code) {
            (Some(_), Code::ReadOnlyStore) => {
                "the tool of the same name of the MCP server `creel`".to_owned()
            }
            (_, Code::NewerStore) => {
                format!("the creel that wrote it, or one newer than {}", env!("CARGO_PKG_VERSION"))
            }
            _ => format!("ls -ld {}", store.root().display()),
        };
        Err(Report::new(code, message).next(next))
    }

    /// Runs a command of the record on a session, and appends what it comes to.
    ///
    /// A change that is durable and not yet visible is told to the person, and no failure.
    ///
    /// # Errors
    /// When the record refuses, or the event can't be written.
    pub(crate) fn record<A>(
        &self,
        store: &Store,
        id: SessionId,
        command: impl Fn(&Session) -> Result<Verdict<A>, Refusal>,
    ) -> Result<Recorded<A>, Report> {
        self.may_write(store)?;
        let checked = |session: &Session| {
            command(session).map_err(|refusal| refused(&refusal, &id.to_string()))
        };
        let committed = store.transact(id, |session| match checked(session)? {
            Verdict::Append(fact) => Ok(Change::Append(self.draft(fact)?, None)),
            Verdict::Already(answer) => Ok(Change::Nothing(Some(answer))),
        });
        let Committed { value, session, visibility, .. } =
            committed.map_err(|error| failed(store, error))?;
        if let Visibility::NotYetVisible(reason) = visibility {
            say(&format!(
                "creel: written, but not yet visible: {reason} (creel rebuild-session-snapshots {id})"
            ));
        }
        Ok(Recorded { already: value, session })
    }

    /// Appends a fact that no rule has to be asked about.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn append(
        &self,
        store: &Store,
        id: SessionId,
        fact: impl Fn(&Session) -> Result<Fact, Refusal>,
    ) -> Result<Session, Report> {
        let verdict = |session: &Session| fact(session).map(Verdict::<()>::Append);
        Ok(self.record(store, id, verdict)?.session)
    }
}

fn failed(store: &Store, error: TransactError<Report>) -> Report {
    match error {
        TransactError::Refused(report) => report,
        TransactError::Write(error) => write_failure_in(store, &error),
    }
}

/// Tells whether a directory without a manifest holds sessions all the same.
fn has_sessions(root: &Path) -> bool {
    let spools = root.join("spaces").join(SPACE_ID).join("spools");
    std::fs::read_dir(spools).is_ok_and(|mut entries| entries.next().is_some())
}

/// Reports a store whose manifest was lost: it is not empty, and nobody but a person says so.
fn headless(root: &Path) -> Report {
    let message = format!(
        "{} is missing, although the store holds sessions; nothing was changed",
        root.join("manifest.json").display()
    );
    Report::new(Code::StoreUnusable, message)
        .next(format!("creel --orb-root {} --create-store list", root.display()))
}

fn open(root: &Path) -> Result<Store, OpenError> {
    let boot_id = creel_sys::boot::boot_id().map_err(|source| OpenError::Io {
        what: "tell the boot of",
        path: root.to_owned(),
        source,
    })?;
    Store::open(root, Arc::new(OsFs), &boot_id)
}

fn boot_id() -> Result<String, Report> {
    boot::boot_id().map_err(|error| Report::of(Code::Internal, &error).next("creel scope"))
}
