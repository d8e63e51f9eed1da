//! A store: where its files are, and what may be done with them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use creel_record::snapshot::SPACE_ID;
use creel_record::{SessionId, ThreadId};
use creel_sys::fs::Fs;

use crate::access::Access;
use crate::error::{OpenError, WriteError};
use crate::manifest;

/// How long a writer waits for another one: far longer than any write takes, so that only a
/// stopped process is ever reported.
pub const DEFAULT_LOCK_WAIT: Duration = Duration::from_secs(30);

/// Below this length a feed is never compacted: it is read in about a millisecond as it is.
pub const DEFAULT_FEED_ROOM_BYTES: u64 = 1024 * 1024;

/// A store of sessions below one orb root. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    root: PathBuf,
    spools: PathBuf,
    indexes: PathBuf,
    fs: Arc<dyn Fs>,
    boot_id: String,
    access: Access,
    lock_wait: Duration,
    feed_room_bytes: u64,
}

impl Store {
    /// Opens the store at `root`. `boot_id` dates the feed: one of another boot is rebuilt.
    ///
    /// # Errors
    /// When there is none, the root is no directory, or the manifest is of another kind. A newer
    /// schema opens with [`Access::Newer`], a store that can't be written with
    /// [`Access::ReadOnly`].
    pub fn open(root: &Path, fs: Arc<dyn Fs>, boot_id: &str) -> Result<Self, OpenError> {
        let access = manifest::open(fs.as_ref(), root)?;
        let spools = root.join("spaces").join(SPACE_ID).join("spools");
        let indexes = root.join("indexes");
        let (root, boot_id) = (root.to_owned(), boot_id.to_owned());
        let lock_wait = DEFAULT_LOCK_WAIT;
        let feed_room_bytes = DEFAULT_FEED_ROOM_BYTES;
        let inner =
            Inner { root, spools, indexes, fs, boot_id, access, lock_wait, feed_room_bytes };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens the store at `root`, made first where it is not there yet.
    ///
    /// # Errors
    /// As [`Store::open`], and when it can't be made.
    pub fn create(root: &Path, fs: Arc<dyn Fs>, boot_id: &str) -> Result<Self, OpenError> {
        match Self::open(root, Arc::clone(&fs), boot_id) {
            Err(OpenError::Missing { .. }) => {}
            other => return other,
        }
        let spools = root.join("spaces").join(SPACE_ID).join("spools");
        let is_missing = |dir: &&Path| {
            !dir.as_os_str().is_empty()
                && fs.stat(dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let above: Vec<&Path> =
            root.ancestors().take_while(is_missing).filter_map(Path::parent).collect();
        for dir in [&spools, &root.join("indexes")] {
            fs.create_dir_all(dir).map_err(OpenError::io("create", dir))?;
        }
        // Invariant: the directories are durable before the manifest, which makes them a store,
        // and the store is before anything in it is acknowledged.
        let within = spools.ancestors().skip(1).take(2).chain([root]);
        for dir in within.chain(above).filter(|dir| !dir.as_os_str().is_empty()) {
            fs.sync_dir(dir).map_err(OpenError::io("sync", dir))?;
        }
        manifest::create(fs.as_ref(), root)
            .map_err(OpenError::io("create", &root.join(manifest::NAME)))?;
        fs.sync_dir(root).map_err(OpenError::io("sync", root))?;
        Self::open(root, fs, boot_id)
    }

    /// Sets how long a writer waits for another one before it reports that the spool is busy.
    #[must_use]
    pub fn with_lock_wait(self, lock_wait: Duration) -> Self {
        Self { inner: Arc::new(Inner { lock_wait, ..Inner::clone(&self.inner) }) }
    }

    /// Sets the length below which the feed is never compacted.
    #[must_use]
    pub fn with_feed_room(self, feed_room_bytes: u64) -> Self {
        Self { inner: Arc::new(Inner { feed_room_bytes, ..Inner::clone(&self.inner) }) }
    }

    /// Returns the orb root.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// Returns what may be done with the store.
    pub fn access(&self) -> &Access {
        &self.inner.access
    }

    /// Returns the directory of the spools.
    pub fn spool_dir(&self) -> &Path {
        &self.inner.spools
    }

    /// Returns the directory of the feed, for those who watch it beside other things.
    pub fn index_dir(&self) -> &Path {
        &self.inner.indexes
    }

    /// Returns the directory of a session's other files. It is made when something is put there.
    pub fn session_dir(&self, id: SessionId) -> PathBuf {
        self.inner.spools.join(id.to_string())
    }

    /// Returns the directory of a run's files.
    pub fn run_dir(&self, id: SessionId, number: u64) -> PathBuf {
        self.session_dir(id).join("runs").join(number.to_string())
    }

    /// Returns the transcript of a thread.
    pub fn thread_path(&self, id: SessionId, thread: ThreadId) -> PathBuf {
        self.session_dir(id).join(format!("{thread}.jsonl"))
    }

    /// Returns the event log of a session.
    pub fn log_path(&self, id: SessionId) -> PathBuf {
        self.inner.spools.join(format!("{id}.jsonl"))
    }

    pub(crate) fn snapshot_path(&self, id: SessionId) -> PathBuf {
        self.inner.spools.join(format!("{id}.json"))
    }

    pub(crate) fn fs(&self) -> &dyn Fs {
        self.inner.fs.as_ref()
    }

    pub(crate) fn boot_id(&self) -> &str {
        &self.inner.boot_id
    }

    pub(crate) fn lock_wait(&self) -> Duration {
        self.inner.lock_wait
    }

    pub(crate) fn feed_room_bytes(&self) -> u64 {
        self.inner.feed_room_bytes
    }

    pub(crate) fn may_write(&self, id: SessionId) -> Result<(), WriteError> {
        match self.inner.access.denial() {
            None => Ok(()),
            Some(reason) => Err(WriteError::ReadOnly { id, reason: reason.to_owned() }),
        }
    }
}
