//! The one task that takes notices in and acts on them, one after the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use creel_api::host::{HostStore, SessionEvent};
use creel_record::SessionId;
use creel_spool::{Changed, ReadError, RowFilter, Store, to_row};
use creel_sys::fs::{FileId, Fs};
use creel_sys::os_fs::OsFs;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::config::MAX_STORES;
use crate::host::Host;
use crate::http::doors::Doors;
use crate::instance::Instance;
use crate::notice::Notice;
use crate::pending::has_pending_wake;
use crate::refusal::chain;
use crate::runs::{Live, Runs};
use crate::say::say;
use crate::watching::Watcher;

/// Why the host ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was asked to.
    Asked,
    /// It has had nothing to look after for a while.
    Idle,
    /// The ground it stands on is gone.
    Displaced {
        /// What is gone.
        what: String,
    },
}

/// See the module.
pub(crate) struct Supervisor {
    host: Arc<Host>,
    instance: Instance,
    runtime_id: Option<FileId>,
    notices: mpsc::Receiver<Notice>,
    watchers: BTreeMap<PathBuf, Watcher>,
    dirs: Option<Watcher>,
    runs: Runs,
    doors: Doors,
}

impl Supervisor {
    pub(crate) fn new(
        host: Arc<Host>,
        instance: Instance,
        (notices, doors): (mpsc::Receiver<Notice>, Doors),
    ) -> Self {
        let runtime_id = OsFs.stat(host.config.runtime.path()).ok().map(|stat| stat.file_id);
        let runs = Runs::new(Arc::clone(&host));
        let watchers = BTreeMap::new();
        Self { host, instance, runtime_id, notices, watchers, dirs: None, runs, doors }
    }

    /// Lets requests that are under way be answered, and closes.
    pub(crate) async fn close(self) {
        self.host.shutdown.send_replace(true);
        self.doors.close().await;
    }

    /// Runs until the host shall end.
    pub(crate) async fn run(&mut self) -> Ending {
        self.watch_dirs();
        self.refresh_stores().await;
        self.runs.look_for_sockets();
        if let Some(what) = self.displaced() {
            return Ending::Displaced { what };
        }
        loop {
            let wait = self.wait();
            let ending = match tokio::time::timeout(wait, self.notices.recv()).await {
                Ok(Some(notice)) => self.take_in(notice).await,
                Ok(None) => Some(Ending::Asked),
                Err(_) => self.is_idle().await.then_some(Ending::Idle),
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    async fn take_in(&mut self, notice: Notice) -> Option<Ending> {
        match notice {
            Notice::Changed { root, changed } => self.changed(&root, changed).await,
            Notice::Unwatched { root, why } => self.unwatched(&root, why),
            Notice::Dirs => {
                if let Some(what) = self.displaced() {
                    return Some(Ending::Displaced { what });
                }
                self.mend_socket();
                self.refresh_stores().await;
                self.runs.look_for_sockets();
            }
            Notice::Greeted { run_id, greeted } => self.runs.greeted(run_id, greeted).await,
            Notice::Ended { run_id, how } => self.runs.ended(run_id, how).await,
            Notice::Again { run_id } => self.runs.again(run_id).await,
            Notice::TakenOver { session_id, run_id, error } => {
                self.runs.taken_over((session_id, run_id), error).await;
            }
            Notice::Stop => return Some(Ending::Asked),
        }
        None
    }

    /// Returns how long to wait for a notice: until nothing has happened for long enough.
    fn wait(&self) -> Duration {
        let Some(idle_exit) = self.host.config.idle_exit else { return creel_sys::MAX_WAIT };
        let left = (self.host.touched() + idle_exit).saturating_duration_since(Instant::now());
        // Past it something stood in the way, which is looked at again as rarely.
        if left.is_zero() { idle_exit } else { left }
    }

    async fn is_idle(&self) -> bool {
        let Some(idle_exit) = self.host.config.idle_exit else { return false };
        if !self.runs.is_empty()
            || self.host.has_readers()
            || self.host.touched().elapsed() < idle_exit
        {
            return false;
        }
        let stores = self.host.stores();
        let is_waiting = spawn_blocking(move || stores.iter().any(has_pending_wake)).await;
        // What can't be looked at may be waiting.
        !is_waiting.unwrap_or(true)
    }

    /// Tells what the host stands on and is gone.
    fn displaced(&self) -> Option<String> {
        if !self.instance.is_in_place() {
            return Some(format!("its lock in {}", self.host.config.state_dir.display()));
        }
        let path = self.host.config.runtime.path();
        let now = OsFs.stat(path).ok().map(|stat| stat.file_id);
        if now.is_none() || now != self.runtime_id {
            return Some(format!("the runtime directory {}", path.display()));
        }
        None
    }

    /// Listens anew when a cleaner took the socket.
    fn mend_socket(&mut self) {
        if std::fs::symlink_metadata(&self.host.socket).is_ok() {
            return;
        }
        let why = self.doors.rebind(&self.host).err();
        if why.is_none() {
            say!("{} was removed, and is there again", self.host.socket.display());
        }
        self.host.board.set_degraded("socket", why);
    }

    fn watch_dirs(&mut self) {
        let config = &self.host.config;
        let mut dirs = vec![config.state_dir.clone(), config.runtime.path().to_owned()];
        dirs.extend(config.trust_list.parent().map(Path::to_owned));
        match Watcher::of_dirs(&dirs, self.host.notices.clone()) {
            Ok(watcher) => self.dirs = Some(watcher),
            Err(why) => self.host.board.set_degraded("directories", Some(why)),
        }
    }

    /// Opens stores that came, and forgets those that went.
    async fn refresh_stores(&mut self) {
        let source = self.host.config.stores.clone();
        let named = spawn_blocking(move || (source.0)()).await;
        let mut roots = match named {
            Ok(Ok(roots)) => roots,
            Ok(Err(why)) => return self.host.board.set_degraded("list of stores", Some(why)),
            Err(error) => {
                return self.host.board.set_degraded("list of stores", Some(error.to_string()));
            }
        };
        self.host.board.set_degraded("list of stores", None);
        let beyond = roots.len().saturating_sub(MAX_STORES);
        let too_many = (beyond > 0).then(|| format!("{beyond} trusted stores are not watched"));
        self.host.board.set_degraded("number of stores", too_many);
        roots.truncate(MAX_STORES);

        let known = self.host.stores();
        let is_same = known.len() == roots.len()
            && known.iter().zip(&roots).all(|(store, root)| store.root() == root)
            && roots.iter().all(|root| self.watchers.contains_key(root));
        if is_same {
            return;
        }
        self.watchers.retain(|root, _| roots.contains(root));
        let mut stores = Vec::new();
        let mut fresh = Vec::new();
        for root in &roots {
            match known.iter().find(|store| store.root() == root) {
                Some(store) if self.watchers.contains_key(root) => stores.push(store.clone()),
                _ => match self.open(root) {
                    Ok(store) => {
                        fresh.push(store.clone());
                        stores.push(store);
                    }
                    Err(why) => self.host.board.set_degraded(&about(root), Some(why)),
                },
            }
        }
        let roots_left: Vec<PathBuf> = known.iter().map(|store| store.root().to_owned()).collect();
        for root in roots_left.iter().filter(|root| !roots.contains(root)) {
            self.host.board.set_degraded(&about(root), None);
            self.runs.forget_store(root);
        }
        self.host.set_stores(stores);
        self.show_stores();
        for store in fresh {
            self.scan(store).await;
        }
    }

    fn open(&mut self, root: &Path) -> Result<Store, String> {
        let boot_id = creel_sys::boot::boot_id().map_err(|error| error.to_string())?;
        let store = Store::open(root, Arc::new(OsFs), &boot_id).map_err(|error| chain(&error))?;
        match Watcher::of_store(&store, self.host.notices.clone()) {
            Ok(watcher) => {
                self.watchers.insert(root.to_owned(), watcher);
                self.host.board.set_degraded(&about(root), None);
            }
            // It is listed and scanned all the same, and looked at again with every other event.
            Err(why) => self.host.board.set_degraded(&about(root), Some(why)),
        }
        Ok(store)
    }

    fn show_stores(&self) {
        let view = |store: &Store| HostStore {
            root: store.root().display().to_string(),
            is_watched: self.watchers.contains_key(store.root()),
        };
        self.host.board.set_stores(self.host.stores().iter().map(view).collect());
    }

    fn unwatched(&mut self, root: &Path, why: String) {
        say!("store {} is not watched any more: {why}", root.display());
        self.watchers.remove(root);
        self.host.board.set_degraded(&about(root), Some(why));
        self.show_stores();
    }

    /// Looks for live runs among all sessions of a store.
    async fn scan(&mut self, store: Store) {
        let root = store.root().to_owned();
        let found = spawn_blocking(move || live_sessions(&store)).await;
        match found {
            Ok(Ok(ids)) => {
                for id in ids {
                    self.look(&root, id, Tell::Nobody).await;
                }
            }
            Ok(Err(error)) => self.host.board.set_degraded(&about(&root), Some(chain(&error))),
            Err(error) => self.host.board.set_degraded(&about(&root), Some(error.to_string())),
        }
    }

    async fn changed(&mut self, root: &Path, changed: Changed) {
        self.host.touch();
        if changed.is_gap {
            self.host.board.repeat_stores();
            if let Some(store) = self.store(root) {
                self.scan(store).await;
            }
        }
        for id in changed.ids {
            self.look(root, id, Tell::Readers).await;
        }
    }

    fn store(&self, root: &Path) -> Option<Store> {
        self.host.stores().into_iter().find(|store| store.root() == root)
    }

    /// Reads a session and takes in what it says.
    async fn look(&mut self, root: &Path, id: SessionId, tell: Tell) {
        let Some(store) = self.store(root) else { return };
        let read = spawn_blocking(move || match store.read(id) {
            Ok(published) => {
                let live = Live::of(published.session());
                Ok(Some((to_row(published.session(), published.flags()), live)))
            }
            Err(ReadError::NotFound { .. }) => Ok(None),
            Err(error) => Err(chain(&error)),
        })
        .await;
        match read {
            Ok(Ok(Some((row, live)))) => {
                if tell == Tell::Readers {
                    let store = root.display().to_string();
                    self.host.note_title(&row);
                    self.host.board.publish("session", &SessionEvent { store, session: row });
                }
                self.runs.recorded((root, id), live);
            }
            Ok(Ok(None)) => self.runs.recorded((root, id), None),
            // The session's own readers are told; the host has nothing to act on.
            Ok(Err(why)) => say!("session {id} can't be read: {why}"),
            Err(error) => say!("session {id} can't be read: {error}"),
        }
    }
}

/// Who is told of a session that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tell {
    Readers,
    Nobody,
}

fn about(root: &Path) -> String {
    format!("store {}", root.display())
}

fn live_sessions(store: &Store) -> Result<Vec<SessionId>, ReadError> {
    let rows = store.rows(RowFilter::All)?;
    let is_live = |row: &creel_spool::Row<'_>| {
        // A row that can't be parsed is of a newer build; its snapshot may be readable.
        row.parse().map_or(true, |row| row.current_run.is_some_and(|run| run.ended.is_none()))
    };
    Ok(rows.iter().filter(is_live).map(|row| row.id).collect())
}
