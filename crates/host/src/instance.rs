//! One host for each user and machine: a lock in the state directory.
//!
//! The lock is a flock. Who holds it is written inside for messages, and never a reason to break
//! it: it ends with its process.

use std::io;
use std::path::{Path, PathBuf};

use creel_sys::boot;
use creel_sys::flock_table;
use creel_sys::fs::{Fs, FsFile, LockMode, OpenHow, write_all_at};
use creel_sys::os_fs::{OsFile, OsFs};
use creel_sys::process::ProcessIdentity;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Bytes of an identity that are read.
const MAX_IDENTITY_BYTES: usize = 4096;

/// Why this process can't be the host.
#[derive(Debug, Error)]
pub enum InstanceError {
    /// Another process is.
    #[error("a host runs already ({})", who.as_ref().map_or("unknown".to_owned(), ToString::to_string))]
    Taken {
        /// It, when it wrote who it is.
        who: Option<Identity>,
    },
    /// The lock can't be used.
    #[error("can't {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Who holds the lock, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Its process id.
    pub pid: i32,
    /// Its start in clock ticks since boot.
    pub start_ticks: u64,
    /// The boot it started in.
    pub boot_id: String,
    /// The version of its program.
    pub version: String,
    /// Since when it runs, in milliseconds since the epoch.
    pub since_ms: u64,
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pid {}, version {}", self.pid, self.version)
    }
}

impl Identity {
    /// Returns the calling process's.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn own(version: &str) -> io::Result<Self> {
        let ProcessIdentity { pid, start_ticks, boot_id } = ProcessIdentity::current()?;
        let since_ms = boot::wall_time_ms();
        Ok(Self { pid, start_ticks, boot_id, version: version.to_owned(), since_ms })
    }

    /// Returns the process.
    pub fn process(&self) -> ProcessIdentity {
        let Self { pid, start_ticks, boot_id, .. } = self.clone();
        ProcessIdentity { pid, start_ticks, boot_id }
    }
}

/// The right to be the host. Held until it is dropped.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    file: OsFile,
}

impl Instance {
    /// Becomes the host of `state_dir`, which is made where there is none.
    ///
    /// # Errors
    /// When another process is, or the lock can't be used.
    pub fn take(state_dir: &Path, identity: &Identity) -> Result<Self, InstanceError> {
        let path = lock_path(state_dir);
        let failed = |what| {
            let path = path.clone();
            move |source| InstanceError::Io { what, path, source }
        };
        OsFs.create_dir_all(state_dir).map_err(failed("make the directory of"))?;
        let file = loop {
            let file = OsFs.open_file(&path, OpenHow::Create).map_err(failed("open"))?;
            if !file.try_lock(LockMode::Exclusive).map_err(failed("lock"))? {
                return Err(InstanceError::Taken { who: read(&path) });
            }
            // Somebody may have replaced the file between the two.
            if is_at(&file, &path) {
                break file;
            }
        };
        let text = serde_json::to_vec(identity).map_err(|e| failed("write")(e.into()))?;
        file.set_len(0).map_err(failed("write"))?;
        write_all_at(&file, &text, 0).map_err(failed("write"))?;
        Ok(Self { path, file })
    }

    /// Tells whether the lock still stands for the directory: it was neither moved nor replaced.
    pub fn is_in_place(&self) -> bool {
        is_at(&self.file, &self.path)
    }
}

/// Returns who holds the lock of `state_dir`; none when nobody does, or it doesn't say.
pub fn holder(state_dir: &Path) -> Option<Identity> {
    let path = lock_path(state_dir);
    let identity = read(&path)?;
    // The table doesn't list takers of another process namespace; those are seen by their pid.
    let is_held = flock_table::is_locked(&path).unwrap_or(false);
    (is_held || identity.process().is_alive().unwrap_or(false)).then_some(identity)
}

fn lock_path(state_dir: &Path) -> PathBuf {
    state_dir.join("lock")
}

fn is_at(file: &OsFile, path: &Path) -> bool {
    match (file.stat(), OsFs.stat(path)) {
        (Ok(held), Ok(named)) => held.file_id == named.file_id,
        _ => false,
    }
}

fn read(path: &Path) -> Option<Identity> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_IDENTITY_BYTES as u64).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity::own("1.2.3").expect("/proc")
    }

    #[test]
    fn there_is_one_at_a_time_and_the_second_is_told_who() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = dir.path().join("a/b");
        assert_eq!(holder(&state), None);
        let first = Instance::take(&state, &identity()).expect("it is free");
        let told = match Instance::take(&state, &identity()) {
            Err(error @ InstanceError::Taken { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let expected = format!("a host runs already (pid {}, version 1.2.3)", std::process::id());
        assert_eq!(told, expected);
        assert_eq!(holder(&state).map(|it| it.pid), Some(identity().pid));
        drop(first);
        Instance::take(&state, &identity()).expect("it is free again");
    }

    #[test]
    fn what_is_written_inside_breaks_and_makes_no_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        let dead = Identity { pid: 1, start_ticks: 1, boot_id: "x".to_owned(), ..identity() };
        std::fs::write(dir.path().join("lock"), serde_json::to_vec(&dead).expect("json"))
            .expect("writes");
        assert_eq!(holder(dir.path()), None);
        let first = Instance::take(dir.path(), &identity()).expect("nobody holds it");
        std::fs::write(dir.path().join("lock"), "garbage").expect("writes");
        let second = Instance::take(dir.path(), &identity());
        assert!(matches!(second, Err(InstanceError::Taken { who: None })), "{second:?}");
        assert!(first.is_in_place());
    }

    #[test]
    fn a_moved_or_replaced_lock_is_out_of_place() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = dir.path().join("s");
        let first = Instance::take(&state, &identity()).expect("it is free");
        std::fs::rename(&state, dir.path().join("t")).expect("moves");
        assert!(!first.is_in_place());
        Instance::take(&state, &identity()).expect("another directory, another lock");
        assert!(!first.is_in_place());
    }
}
