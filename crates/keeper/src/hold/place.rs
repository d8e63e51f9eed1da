//! The run's place in the runtime directory: the name under which its socket is found.
//!
//! Somebody may remove the name or the directory (a cleaner of temporary files does), move it away
//! or put something else there. The listening socket lives on, but nobody finds it any more. The
//! holder, which owns the socket, makes a new one under the name and hands it to its keeper; it
//! never reads from either.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::keeper::socket_name;
use creel_sys::Deadline;
use creel_sys::runtime_dir::{RuntimeDir, RuntimeDirError};
use creel_sys::socket::{BindError, bind_listener};
use creel_sys::watch::NameWatch;
use thiserror::Error;

use crate::say::say;

/// Pause before the name is tried again while something stands in its way; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// Why there is no socket.
#[derive(Debug, Error)]
pub(super) enum PlaceError {
    /// No place for the socket.
    #[error("can't make a place for the run's socket")]
    RuntimeDir(#[source] RuntimeDirError),
    /// The socket can't be made.
    #[error("can't open the run's socket")]
    Bind(#[source] BindError),
}

/// The place.
#[derive(Debug)]
pub(super) struct Place {
    run_id: String,
    path: PathBuf,
    /// The file that the name stood for when the socket was made.
    file: Option<(u64, u64)>,
    watch: Option<NameWatch>,
    retry: Option<Deadline>,
    pause: Duration,
}

impl Place {
    /// Takes the place and listens there.
    pub(super) fn take(run_id: &str) -> Result<(Self, UnixListener), PlaceError> {
        let (path, listener) = listen(run_id)?;
        let run_id = run_id.to_owned();
        let mut place =
            Self { run_id, path, file: None, watch: None, retry: None, pause: FIRST_PAUSE };
        place.begin();
        Ok((place, listener))
    }

    /// Readable once somebody may have taken the name away.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        self.retry
    }

    /// Looks whether the name still leads to the socket; returns a new one when it did not.
    pub(super) fn look(&mut self) -> Option<UnixListener> {
        if let Some(watch) = &self.watch
            && let Err(error) = watch.drain()
        {
            say!("creel hold: can't watch the run's socket: {error}");
            self.watch = None;
        }
        if self.retry.is_some_and(|retry| !retry.is_past()) {
            return None;
        }
        if self.file.is_some() && id_of(&self.path).ok() == self.file {
            return None;
        }
        match listen(&self.run_id) {
            Ok((path, listener)) => {
                say!("creel hold: the run's socket was gone; it is there again");
                self.path = path;
                self.begin();
                Some(listener)
            }
            Err(error) => {
                if self.retry.is_none() {
                    say!("creel hold: {}", crate::word::chain(&error));
                }
                self.retry = Some(Deadline::after(self.pause));
                self.pause = (self.pause * 2).min(LAST_PAUSE);
                None
            }
        }
    }

    fn begin(&mut self) {
        self.retry = None;
        self.pause = FIRST_PAUSE;
        self.watch = NameWatch::new(&self.path)
            .inspect_err(|error| say!("creel hold: {}", crate::word::chain(error)))
            .ok();
        // After the watch, so that a change in between is seen by one of both.
        self.file = id_of(&self.path).ok();
    }

    /// Gives the name up.
    pub(super) fn leave(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            say!("creel hold: can't remove {}: {error}", self.path.display());
        }
    }
}

fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    let stat = std::fs::symlink_metadata(path)?;
    Ok((stat.dev(), stat.ino()))
}

fn listen(run_id: &str) -> Result<(PathBuf, UnixListener), PlaceError> {
    let path = RuntimeDir::open()
        .and_then(|dir| dir.socket_path(&socket_name(run_id)))
        .map_err(PlaceError::RuntimeDir)?;
    let listener = bind_listener(&path).map_err(PlaceError::Bind)?;
    Ok((path, listener))
}
