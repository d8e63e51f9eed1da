//! The host as its parts and its clients see it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use creel_api::host::{
    API_MAJOR, API_MINOR, HostStatus, LayoutEvent, MAX_LISTED_SESSIONS, StoreSessions,
};
use creel_api::layout::{AttachedSession, AttachedState, Layout, LayoutChange, LayoutView};
use creel_api::session::SessionRow;
use creel_record::SessionId;
use creel_spool::{Published, ReadError, RowFilter, Store};
use tokio::sync::{mpsc, watch};

use crate::board::SharedBoard;
use crate::config::Config;
use crate::instance::Identity;
use crate::layout::book::{Book, BookError};
use crate::layout::{Stored, sessions};
use crate::notice::Notice;
use crate::refusal::chain;
use crate::token::Token;

/// Everything that handlers of requests share with the supervisor.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) config: Config,
    pub(crate) identity: Identity,
    pub(crate) socket: PathBuf,
    pub(crate) token: Token,
    pub(crate) board: SharedBoard,
    pub(crate) notices: mpsc::Sender<Notice>,
    pub(crate) shutdown: watch::Sender<bool>,
    pub(crate) http: OnceLock<SocketAddr>,
    book: Mutex<Book>,
    stores: Mutex<Vec<Store>>,
    touched: Mutex<Instant>,
    readers: AtomicUsize,
}

/// What a host is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) config: Config,
    pub(crate) identity: Identity,
    pub(crate) socket: PathBuf,
    pub(crate) token: Token,
    pub(crate) board: SharedBoard,
    pub(crate) notices: mpsc::Sender<Notice>,
    pub(crate) book: Book,
}

impl Host {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts { config, identity, socket, token, board, notices, book } = parts;
        Arc::new(Self {
            config,
            identity,
            socket,
            token,
            board,
            notices,
            shutdown: watch::Sender::new(false),
            http: OnceLock::new(),
            book: Mutex::new(book),
            stores: Mutex::new(Vec::new()),
            touched: Mutex::new(Instant::now()),
            readers: AtomicUsize::new(0),
        })
    }

    pub(crate) fn status(&self) -> HostStatus {
        let snapshot = self.board.snapshot();
        HostStatus {
            is_running: true,
            pid: Some(self.identity.pid),
            start_ticks: Some(self.identity.start_ticks),
            boot_id: Some(self.identity.boot_id.clone()),
            version: Some(self.config.version.clone()),
            api: Some(format!("{API_MAJOR}.{API_MINOR}")),
            epoch: Some(self.board.epoch()),
            since: Some(time_text(self.identity.since_ms)),
            state_dir: self.config.state_dir.display().to_string(),
            socket: Some(self.socket.display().to_string()),
            http: self.http.get().map(|address| format!("http://{address}")),
            ends_when_idle: self.config.idle_exit.is_some(),
            holder_count: self.board.holder_count(),
            stores: snapshot.stores,
            degraded: snapshot.degraded,
        }
    }

    pub(crate) fn stores(&self) -> Vec<Store> {
        self.lock(&self.stores).clone()
    }

    pub(crate) fn set_stores(&self, stores: Vec<Store>) {
        *self.lock(&self.stores) = stores;
    }

    /// Finds a session in the stores. Reads files.
    pub(crate) fn find(&self, id: SessionId) -> Result<Option<(Store, Published)>, ReadError> {
        for store in self.stores() {
            match store.read(id) {
                Ok(published) => return Ok(Some((store, published))),
                Err(ReadError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Lists the sessions of a store, newest first. Reads files.
    pub(crate) fn list(store: &Store, filter: RowFilter, limit: usize) -> StoreSessions {
        let root = store.root().display().to_string();
        let rows = match store.rows(filter) {
            Ok(rows) => rows,
            Err(error) => {
                let error = Some(chain(&error));
                let (sessions, unreadable) = (Vec::new(), Vec::new());
                return StoreSessions { root, sessions, left_out: 0, unreadable, error };
            }
        };
        let sessions: Vec<SessionRow> = rows
            .iter()
            .take(limit.min(MAX_LISTED_SESSIONS))
            .filter_map(|row| row.parse().ok())
            .collect();
        let left_out = rows.len().saturating_sub(sessions.len()) as u64;
        let unreadable = rows.unreadable().iter().map(|(id, _)| id.to_string()).collect();
        StoreSessions { root, sessions, left_out, unreadable, error: None }
    }

    /// Returns the layout with what became of the sessions in it. Reads files.
    pub(crate) fn layout(&self) -> LayoutView {
        let stored = self.lock(&self.book).stored().clone();
        self.view_of(stored)
    }

    /// Changes the layout, durably, with the titles that its sessions have now. Writes files.
    ///
    /// # Errors
    /// When the change is refused or can't be written; nothing is changed then.
    pub(crate) fn change_layout(&self, wanted: &LayoutChange) -> Result<LayoutView, BookError> {
        let mut book = self.lock(&self.book);
        let mut stored = book.change(wanted)?.clone();
        let attached = sessions(&stored.layout);
        for id in &attached {
            if let Some(title) = self.title_of(id)
                && book.note_title(id, &title)?
            {
                stored = book.stored().clone();
            }
        }
        // Under the lock of the layout, so that events come in the order of revisions.
        self.board.publish("layout", &LayoutEvent { revision: stored.revision });
        drop(book);
        Ok(self.view_of(stored))
    }

    /// Notes the title of a session that may be in the layout. Writes files when it changed.
    pub(crate) fn note_title(&self, row: &SessionRow) {
        let Some(title) = &row.title else { return };
        let mut book = self.lock(&self.book);
        let noted = book.note_title(&row.id, title);
        drop(book);
        if let Err(error) = noted {
            self.board.set_degraded("layout", Some(chain(&error)));
        }
    }

    fn title_of(&self, id: &str) -> Option<String> {
        let (_, published) = self.find(id.parse().ok()?).ok()??;
        published.session().title.clone()
    }

    fn view_of(&self, Stored { revision, layout }: Stored) -> LayoutView {
        let sessions = self.attached(&layout);
        LayoutView { revision, layout, sessions }
    }

    fn attached(&self, layout: &Layout) -> Vec<AttachedSession> {
        let live: BTreeSet<String> =
            self.board.snapshot().runs.into_iter().map(|run| run.session_id).collect();
        let state = |id: &str| {
            if live.contains(id) {
                return AttachedState::Live;
            }
            match id.parse().map(|id| self.find(id)) {
                Ok(Ok(Some(_))) => AttachedState::Ended,
                _ => AttachedState::Gone,
            }
        };
        sessions(layout).into_iter().map(|id| AttachedSession { state: state(&id), id }).collect()
    }

    /// Notes that somebody asked for something.
    pub(crate) fn touch(&self) {
        *self.lock(&self.touched) = Instant::now();
    }

    /// Returns since when nobody asked for anything.
    pub(crate) fn touched(&self) -> Instant {
        *self.lock(&self.touched)
    }

    /// Counts a reader of events in, until what is returned is dropped.
    pub(crate) fn reader(self: &Arc<Self>) -> Reader {
        self.readers.fetch_add(1, Ordering::Relaxed);
        Reader { host: Arc::clone(self) }
    }

    pub(crate) fn has_readers(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who reads events.
#[derive(Debug)]
pub(crate) struct Reader {
    host: Arc<Host>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.host.readers.fetch_sub(1, Ordering::Relaxed);
        self.host.touch();
    }
}

/// Returns a time as the record prints it.
fn time_text(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    creel_record::Timestamp::from_millis(ms).to_string()
}
