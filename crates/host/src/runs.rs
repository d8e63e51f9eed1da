//! The runs that the host knows: by the record, by their sockets, and whether both agree.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use creel_api::host::{RunContact, RunEntry};
use creel_api::keeper::socket_name;
use creel_record::{RunId, Session, SessionId};
use creel_spool::{ReadError, Store};
use creel_sys::boot::machine_id;
use creel_sys::flock_table;
use creel_sys::process::ProcessIdentity;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};

use crate::board::MAX_RUNS;
use crate::contact::{Contact, Ended, Greeted, MAX_ASKS, run_of, run_sockets};
use crate::deaths::Deaths;
use crate::host::Host;
use crate::notice::Notice;
use crate::refusal::chain;
use crate::takeover::Takeovers;

/// How long after a silent run is looked at again when nothing tells of it: its lease is held by
/// whoever starts or ends it, which is over in this time.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// How often a lost run is taken over until it waits for a change of its session.
const MAX_TAKEOVERS: u32 = 3;

/// A run that the record says is live, on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    run_id: RunId,
    number: u64,
    holder: Option<ProcessIdentity>,
}

impl Live {
    /// Returns a session's live run; none when another machine runs it, which alone can judge it.
    pub(crate) fn of(session: &Session) -> Option<Self> {
        let run = session.live_run().filter(|run| run.machine_id == machine_id())?;
        let holder = run.holder.as_ref().map(|facts| ProcessIdentity {
            pid: facts.pid,
            start_ticks: facts.start_ticks,
            boot_id: facts.boot_id.clone(),
        });
        Some(Self { run_id: run.id, number: run.number, holder })
    }
}

#[derive(Debug)]
struct Tracked {
    session_id: SessionId,
    root: Option<PathBuf>,
    number: u64,
    holder: Option<ProcessIdentity>,
    has_line: bool,
    takeovers: u32,
}

/// What came of a look at a run whose keeper does not answer.
enum Judged {
    /// The record says that it is over.
    Over,
    /// Somebody holds its lease.
    Held(Option<ProcessIdentity>),
    /// Nobody does, and the record says that it runs.
    Lost,
    /// It can't be told.
    Unknown(String),
}

/// See the module.
pub(crate) struct Runs {
    host: Arc<Host>,
    tracked: BTreeMap<RunId, Tracked>,
    tasks: JoinSet<()>,
    takeovers: Takeovers,
    deaths: Option<Deaths>,
}

impl Runs {
    pub(crate) fn new(host: Arc<Host>) -> Self {
        let takeovers = Takeovers::new(&host);
        let deaths = match Deaths::start(host.notices.clone()) {
            Ok(deaths) => Some(deaths),
            Err(error) => {
                host.board.set_degraded("deaths of holders", Some(error.to_string()));
                None
            }
        };
        Self { host, tracked: BTreeMap::new(), tasks: JoinSet::new(), takeovers, deaths }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tracked.is_empty() && self.takeovers.is_empty()
    }

    /// Takes in which run of a session is live by the record.
    pub(crate) fn recorded(&mut self, (root, id): (&Path, SessionId), live: Option<Live>) {
        let is_over = |(run_id, tracked): (&RunId, &Tracked)| {
            let is_of_it = tracked.session_id == id && tracked.root.as_deref() == Some(root);
            let is_live = live.as_ref().is_some_and(|live| live.run_id == *run_id);
            (is_of_it && !is_live).then_some(*run_id)
        };
        let over: Vec<RunId> = self.tracked.iter().filter_map(is_over).collect();
        for run_id in over {
            self.forget(run_id);
        }
        let Some(Live { run_id, number, holder }) = live else { return };
        let has_line = self.tracked.get(&run_id).is_some_and(|tracked| tracked.has_line);
        let root = Some(root.to_owned());
        let tracked = Tracked { session_id: id, root, number, holder, has_line, takeovers: 0 };
        self.track(run_id, tracked);
    }

    /// Contacts runs whose sockets are there and that have no line yet.
    pub(crate) fn look_for_sockets(&mut self) {
        let dir = self.host.config.runtime.path();
        let sockets = match run_sockets(dir) {
            Ok(sockets) => sockets,
            Err(error) => {
                return self.host.board.set_degraded("runtime directory", Some(error.to_string()));
            }
        };
        self.host.board.set_degraded("runtime directory", None);
        for path in sockets {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(run_id) = run_of(name) else { continue };
            match self.tracked.get(&run_id) {
                Some(tracked) if tracked.has_line => {}
                Some(_) => self.contact(run_id),
                // Whose it is, it has to say itself.
                None => self.ask_who(run_id, path),
            }
        }
        while self.tasks.try_join_next().is_some() {}
    }

    fn track(&mut self, run_id: RunId, tracked: Tracked) {
        let has_line = tracked.has_line;
        if self.tracked.len() >= MAX_RUNS && !self.tracked.contains_key(&run_id) {
            let why = format!("more than {MAX_RUNS} runs live; the others are not looked after");
            return self.host.board.set_degraded("number of runs", Some(why));
        }
        let before = self.tracked.get(&run_id);
        // Also one whose store came to be known only now.
        let is_new = before.is_none_or(|before| before.root.is_none() && tracked.root.is_some());
        let entry = RunEntry {
            run_id: run_id.to_string(),
            run_number: tracked.number,
            session_id: tracked.session_id.to_string(),
            store: tracked.root.as_ref().map(|root| root.display().to_string()),
            contact: if has_line { RunContact::Live } else { RunContact::Looking },
        };
        self.tracked.insert(run_id, tracked);
        if is_new {
            self.host.board.set_run(run_id, entry);
        }
        if !has_line {
            self.contact(run_id);
        }
    }

    fn forget(&mut self, run_id: RunId) {
        self.tracked.remove(&run_id);
        self.host.board.remove_run(run_id);
        self.host.board.set_degraded(&about(run_id), None);
    }

    pub(crate) fn forget_store(&mut self, root: &Path) {
        let of_it = |(run_id, tracked): (&RunId, &Tracked)| {
            (tracked.root.as_deref() == Some(root)).then_some(*run_id)
        };
        let gone: Vec<RunId> = self.tracked.iter().filter_map(of_it).collect();
        for run_id in gone {
            self.forget(run_id);
        }
    }

    /// Opens a line to a run's keeper.
    fn contact(&mut self, run_id: RunId) {
        let Some(tracked) = self.tracked.get_mut(&run_id) else { return };
        let path = match self.host.config.runtime.socket_path(&socket_name(&run_id.to_string())) {
            Ok(path) => path,
            Err(error) => {
                return self.host.board.set_degraded(&about(run_id), Some(chain(&error)));
            }
        };
        tracked.has_line = true;
        let (sender, asks) = mpsc::channel(MAX_ASKS);
        self.host.board.set_asks(run_id, Some(sender));
        let notices = self.host.notices.clone();
        self.tasks.spawn(async move {
            let how = match Contact::open(&path).await {
                Ok((contact, greeted)) => {
                    if notices.send(Notice::Greeted { run_id, greeted }).await.is_err() {
                        return;
                    }
                    contact.serve(asks).await
                }
                Err(how) => how,
            };
            // Without a supervisor there is nobody to tell.
            let _ = notices.send(Notice::Ended { run_id, how }).await;
        });
    }

    /// Asks a socket that no known run has whose it is.
    fn ask_who(&mut self, run_id: RunId, path: PathBuf) {
        let notices = self.host.notices.clone();
        self.tasks.spawn(async move {
            // A dead socket is what a dead holder left; whoever takes its session over removes it.
            if let Ok((_, greeted)) = Contact::open(&path).await {
                let _ = notices.send(Notice::Greeted { run_id, greeted }).await;
            }
        });
    }

    /// Takes in who greeted: known runs are live when their lease is held, unknown ones are looked
    /// for in the stores.
    pub(crate) async fn greeted(&mut self, run_id: RunId, greeted: Greeted) {
        if greeted.run_id != run_id {
            let why = format!("the socket of run {run_id} is served by run {}", greeted.run_id);
            return self.host.board.set_degraded(&about(run_id), Some(why));
        }
        let Some(tracked) = self.tracked.get(&run_id) else {
            return self.adopt(greeted).await;
        };
        if tracked.session_id != greeted.session_id {
            let why = format!("run {run_id} is served for session {}", greeted.session_id);
            return self.host.board.set_degraded(&about(run_id), Some(why));
        }
        let contact = match self.judge(run_id).await {
            _ if tracked_root(&self.tracked, run_id).is_none() => RunContact::Unregistered,
            Judged::Held(_) => RunContact::Live,
            // It says goodbye just now, or the record is behind; the line's end tells.
            Judged::Over | Judged::Lost | Judged::Unknown(_) => RunContact::Silent,
        };
        self.host.board.set_contact(run_id, contact);
        if contact == RunContact::Live {
            self.host.board.set_degraded(&about(run_id), None);
        }
    }

    async fn adopt(&mut self, greeted: Greeted) {
        let host = Arc::clone(&self.host);
        let session_id = greeted.session_id;
        let found = spawn_blocking(move || host.find(session_id)).await;
        let (root, holder) = match found {
            Ok(Ok(Some((store, published)))) => {
                let live = Live::of(published.session());
                let Some(live) = live.filter(|live| live.run_id == greeted.run_id) else { return };
                (Some(store.root().to_owned()), live.holder)
            }
            Ok(Ok(None)) => (None, None),
            Ok(Err(_)) | Err(_) => return,
        };
        let number = greeted.run_number;
        let tracked = Tracked { session_id, root, number, holder, has_line: false, takeovers: 0 };
        self.track(greeted.run_id, tracked);
    }

    /// Takes in that the line to a keeper ended.
    pub(crate) async fn ended(&mut self, run_id: RunId, how: Ended) {
        while self.tasks.try_join_next().is_some() {}
        let Some(tracked) = self.tracked.get_mut(&run_id) else { return };
        tracked.has_line = false;
        self.host.board.set_asks(run_id, None);
        if tracked.root.is_none() {
            return self.forget(run_id);
        }
        let why = match how {
            Ended::Stranger(why) => Some(format!("the keeper of run {run_id} is not used: {why}")),
            Ended::Nobody | Ended::Closed => None,
        };
        self.host.board.set_degraded(&about(run_id), why);
        if how == Ended::Closed {
            // Its keeper may have been killed, and the next one greets.
            return self.contact(run_id);
        }
        self.settle(run_id).await;
    }

    /// Looks at a run again that was silent.
    pub(crate) async fn again(&mut self, run_id: RunId) {
        if self.tracked.get(&run_id).is_some_and(|tracked| !tracked.has_line) {
            self.settle(run_id).await;
        }
    }

    /// Acts on a run whose keeper does not answer.
    async fn settle(&mut self, run_id: RunId) {
        let judged = self.judge(run_id).await;
        let Some(tracked) = self.tracked.get_mut(&run_id) else { return };
        match judged {
            Judged::Over => self.forget(run_id),
            Judged::Held(holder) => {
                if let Some(holder) = holder {
                    tracked.holder = Some(holder);
                }
                let holder = tracked.holder.clone();
                self.host.board.set_contact(run_id, RunContact::Silent);
                self.wait_for_end(run_id, holder.as_ref());
            }
            Judged::Lost => {
                tracked.takeovers += 1;
                let may_try = tracked.takeovers <= MAX_TAKEOVERS;
                let place = tracked.root.clone().map(|root| (root, tracked.session_id, run_id));
                self.host.board.set_contact(run_id, RunContact::LostUnrecorded);
                if let Some(place) = place.filter(|_| may_try) {
                    self.takeovers.add(place);
                }
            }
            Judged::Unknown(why) => {
                self.host.board.set_contact(run_id, RunContact::Silent);
                self.host.board.set_degraded(&about(run_id), Some(why));
                self.wait_for_end(run_id, None);
            }
        }
    }

    async fn judge(&self, run_id: RunId) -> Judged {
        let Some(tracked) = self.tracked.get(&run_id) else { return Judged::Over };
        let Some(root) = tracked.root.clone() else { return Judged::Held(None) };
        let (host, id) = (Arc::clone(&self.host), tracked.session_id);
        let judged = spawn_blocking(move || {
            let Some(store) = host.stores().into_iter().find(|store| store.root() == root) else {
                return Judged::Over;
            };
            let published = match store.read(id) {
                Ok(published) => published,
                Err(ReadError::NotFound { .. }) => return Judged::Over,
                Err(error) => return Judged::Unknown(chain(&error)),
            };
            let live = Live::of(published.session()).filter(|live| live.run_id == run_id);
            let Some(live) = live else { return Judged::Over };
            match is_held(&store, id, live.holder.as_ref()) {
                Ok(true) => Judged::Held(live.holder),
                Ok(false) => Judged::Lost,
                Err(error) => Judged::Unknown(error.to_string()),
            }
        });
        judged.await.unwrap_or_else(|error| Judged::Unknown(error.to_string()))
    }

    /// Looks at a run again when its holder has ended, or after a while.
    fn wait_for_end(&self, run_id: RunId, holder: Option<&ProcessIdentity>) {
        if let Some(deaths) = &self.deaths {
            deaths.add(run_id, holder, LOOK_AGAIN_AFTER);
        }
    }

    /// Takes in what a takeover came to.
    pub(crate) async fn taken_over(
        &mut self,
        (_, run_id): (SessionId, RunId),
        error: Option<String>,
    ) {
        self.takeovers.done();
        if let Judged::Over = self.judge(run_id).await {
            return self.forget(run_id);
        }
        let Some(tracked) = self.tracked.get(&run_id) else { return };
        let why = error.unwrap_or_else(|| "it is still there".to_owned());
        let text = format!(
            "run {} of session {} is lost and could not be recorded as such: {why}",
            tracked.number, tracked.session_id
        );
        self.host.board.set_degraded(&about(run_id), Some(text));
        if tracked.takeovers < MAX_TAKEOVERS {
            self.wait_for_end(run_id, None);
        }
    }
}

/// Tells whether somebody has the lease, without touching it. The table of locks doesn't list a
/// taker of another process namespace; a holder is seen by its pid. An agent holds no lease: one
/// that lives on without holder and keeper is what a takeover ends.
fn is_held(store: &Store, id: SessionId, holder: Option<&ProcessIdentity>) -> io::Result<bool> {
    if flock_table::is_locked(&store.lease_path(id))? {
        return Ok(true);
    }
    holder.map_or(Ok(false), ProcessIdentity::is_alive)
}

fn tracked_root(tracked: &BTreeMap<RunId, Tracked>, run_id: RunId) -> Option<&Path> {
    tracked.get(&run_id)?.root.as_deref()
}

fn about(run_id: RunId) -> String {
    format!("run {run_id}")
}
