//! Waiting for changes of the store, by the feed.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use creel_record::SessionId;
use creel_sys::Deadline;
use creel_sys::fs::{FileId, FsFile, OpenHow};
use creel_sys::watch::{DirWatch, Waited, WatchError};
use thiserror::Error;

use crate::access::Access;
use crate::feed::line::{self, Line};
use crate::feed::{make_dir, path, peek};
use crate::file::read_from;
use crate::store::Store;

/// How long an announced change may stay without its row until it is reported all the same: its
/// writer may have died in between.
const MAX_UNSETTLED: Duration = Duration::from_secs(1);

/// The feed can't be watched.
#[derive(Debug, Error)]
pub enum FeedWatchError {
    /// The directory can't be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The file can't be read.
    #[error("can't read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What changed. A hint: what a session is, and up to which event, its snapshot says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Sessions that changed, or may have.
    pub ids: Vec<SessionId>,
    /// True when any session may have changed: the feed was made anew in between.
    pub is_gap: bool,
}

impl Changed {
    /// True when nothing changed.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && !self.is_gap
    }
}

/// A watch on the feed. To miss nothing: make the watch, look at the sessions, and only then wait.
#[derive(Debug)]
pub struct FeedWatch {
    store: Store,
    dir: DirWatch,
    at: Option<Place>,
    unsettled: BTreeSet<SessionId>,
}

#[derive(Debug)]
struct Place {
    file: Box<dyn FsFile>,
    file_id: FileId,
    generation: u64,
    offset: u64,
}

/// Where to begin in a feed that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// Behind everything in it.
    AtEnd,
    /// Behind the lines it was made with.
    AfterBase,
}

impl Store {
    /// Watches the feed for changes from now on. Its directory is made where there is none.
    ///
    /// # Errors
    /// When no watch is left or the feed can't be read.
    pub fn watch(&self) -> Result<FeedWatch, FeedWatchError> {
        let dir = watch_dir(self)?;
        let mut watch =
            FeedWatch { store: self.clone(), dir, at: None, unsettled: BTreeSet::new() };
        watch.at = watch.open(Begin::AtEnd).map_err(|source| watch.failed(source))?;
        Ok(watch)
    }
}

/// Watches the directory of the feed.
fn watch_dir(store: &Store) -> Result<DirWatch, FeedWatchError> {
    match DirWatch::new(store.index_dir()) {
        Err(WatchError::Io { source, path })
            if source.kind() == io::ErrorKind::NotFound && *store.access() == Access::ReadWrite =>
        {
            make_dir(store).map_err(|source| FeedWatchError::Io { path, source })?;
            Ok(DirWatch::new(store.index_dir())?)
        }
        other => Ok(other?),
    }
}

/// Readable when the feed may have changed; then wait with no deadline.
impl AsFd for FeedWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

impl FeedWatch {
    /// Waits until something changed since the last call; nothing when `deadline` passed first.
    ///
    /// # Errors
    /// When the directory can't be watched or the feed can't be read.
    pub fn wait(&mut self, deadline: Duration) -> Result<Changed, FeedWatchError> {
        let deadline = Deadline::after(deadline);
        loop {
            let changed = self.look().map_err(|source| self.failed(source))?;
            if !changed.is_empty() {
                return Ok(changed);
            }
            let within = if self.unsettled.is_empty() {
                deadline
            } else {
                deadline.min(Deadline::after(MAX_UNSETTLED))
            };
            let waited = match self.dir.wait(within.remaining()) {
                Err(WatchError::Gone { .. }) => return self.begin_again(),
                other => other?,
            };
            if waited == Waited::TimedOut {
                if !self.unsettled.is_empty() && !deadline.is_past() {
                    let ids = std::mem::take(&mut self.unsettled).into_iter().collect();
                    return Ok(Changed { ids, is_gap: false });
                }
                if deadline.is_past() {
                    return self.look().map_err(|source| self.failed(source));
                }
            }
        }
    }

    /// Watches the directory that has the name now; any session may have changed meanwhile.
    fn begin_again(&mut self) -> Result<Changed, FeedWatchError> {
        self.dir = watch_dir(&self.store)?;
        self.at = self.open(Begin::AtEnd).map_err(|source| self.failed(source))?;
        self.unsettled.clear();
        Ok(Changed { ids: Vec::new(), is_gap: true })
    }

    fn failed(&self, source: io::Error) -> FeedWatchError {
        FeedWatchError::Io { path: path(&self.store), source }
    }

    fn open(&self, begin: Begin) -> io::Result<Option<Place>> {
        let file = match self.store.fs().open(&path(&self.store), OpenHow::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stat = file.stat()?;
        let (generation, base_end) = match peek(file.as_ref())? {
            Some((header, len)) => (header.generation, len + header.base_bytes),
            None => (0, 0),
        };
        let offset = match begin {
            Begin::AtEnd => stat.len_bytes,
            Begin::AfterBase => base_end,
        };
        Ok(Some(Place { file, file_id: stat.file_id, generation, offset }))
    }

    /// Reads what was added, through replacements of the file.
    fn look(&mut self) -> io::Result<Changed> {
        let mut ids = BTreeSet::new();
        let mut is_gap = false;
        loop {
            if let Some(place) = &mut self.at {
                is_gap |= place.read(&mut ids, &mut self.unsettled)?;
            }
            let named = self.store.fs().stat(&path(&self.store)).ok();
            let is_same = match (&self.at, &named) {
                (Some(place), Some(stat)) => place.file_id == stat.file_id,
                (None, None) => true,
                (Some(_) | None, _) => false,
            };
            if is_same {
                break;
            }
            let before = self.at.as_ref().map(|place| place.generation);
            self.at = self.open(Begin::AfterBase)?;
            let after = self.at.as_ref().map(|place| place.generation);
            is_gap |= before.is_none() || before.map(|before| before.wrapping_add(1)) != after;
            if self.at.is_none() {
                break;
            }
        }
        Ok(Changed { ids: ids.into_iter().collect(), is_gap })
    }
}

impl Place {
    /// Reads the lines after the offset; true when the file was cut.
    fn read(
        &mut self,
        ids: &mut BTreeSet<SessionId>,
        unsettled: &mut BTreeSet<SessionId>,
    ) -> io::Result<bool> {
        let is_cut = self.file.stat()?.len_bytes < self.offset;
        if is_cut {
            self.offset = 0;
        }
        let mut bytes = Vec::new();
        read_from(self.file.as_ref(), self.offset, usize::MAX - 1, &mut bytes)?;
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        self.offset += end as u64;
        for text in bytes[..end].split(|byte| *byte == b'\n') {
            match line::decode(text) {
                Some(Line::Row(row)) => {
                    unsettled.remove(&row.id);
                    ids.insert(row.id);
                }
                Some(Line::Dirty(id)) => {
                    unsettled.insert(id);
                }
                Some(Line::Header(_)) | None => {}
            }
        }
        Ok(is_cut)
    }
}
