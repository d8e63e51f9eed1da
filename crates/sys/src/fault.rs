//! A file system that fails, or ends the process, at the n-th operation that changes something.
//!
//! Counted are: writes, syncs of files and directories, renames, changes of length or of the
//! read-only mark, removals, and opens and makings of directories that create something. Reads,
//! stats and locks are not counted.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fs::{Fs, FsFile, LockMode, OpenHow, Stat};

mod script;

pub use script::{Fault, FaultErrno};
use script::{Script, Step};

/// A [`Fs`] that hands everything to another one and applies faults on the way. Clones share
/// their count and their fault.
#[derive(Clone, Debug)]
pub struct FaultFs {
    inner: Arc<dyn Fs>,
    script: Arc<Script>,
}

impl FaultFs {
    /// Wraps `inner`; counts and logs, and does nothing else until it is armed.
    #[must_use]
    pub fn new(inner: Arc<dyn Fs>) -> Self {
        Self { inner, script: Arc::default() }
    }

    /// Wraps `inner` with the fault that the variable `CREEL_FAULT` describes, e.g. `kill:7`
    /// (see [`Fault`]); with none when it is not set.
    #[cfg(feature = "test-hooks")]
    pub fn from_env(inner: Arc<dyn Fs>) -> io::Result<Self> {
        let faulty = Self::new(inner);
        if let Some(spec) = std::env::var_os("CREEL_FAULT") {
            faulty.script.arm_spec(&spec.to_string_lossy())?;
        }
        Ok(faulty)
    }

    /// Applies `fault` at the n-th operation from now, counted from 1; forgets the count, the
    /// log and any earlier fault.
    pub fn arm(&self, at: u64, fault: Fault) {
        self.script.arm(at..=at, fault);
    }

    /// Applies `fault` at every operation from the n-th on, until [`FaultFs::clear`].
    pub fn arm_from(&self, at: u64, fault: Fault) {
        self.script.arm(at..=u64::MAX, fault);
    }

    /// Ends all faults, a crash included; count and log go on.
    pub fn clear(&self) {
        self.script.clear();
    }

    /// Returns how many operations were counted since the last arming.
    #[must_use]
    pub fn op_count(&self) -> u64 {
        self.script.count()
    }

    /// Returns a line for each counted operation, the last ones when there were very many.
    #[must_use]
    pub fn op_log(&self) -> Vec<String> {
        self.script.log()
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.stat(path).is_ok()
    }
}

impl Fs for FaultFs {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Box<dyn FsFile>> {
        self.script.check_running()?;
        let open = || self.inner.open(path, how);
        let may_create = matches!(how, OpenHow::Create | OpenHow::CreateNew | OpenHow::Append);
        let inner = if may_create && !self.exists(path) {
            self.script.run(format_args!("create {}", path.display()), open)?
        } else {
            open()?
        };
        Ok(Box::new(FaultFile { inner, path: path.to_owned(), script: Arc::clone(&self.script) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let line = format_args!("rename {} {}", from.display(), to.display());
        self.script.run(line, || self.inner.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let line = format_args!("remove_file {}", path.display());
        self.script.run(line, || self.inner.remove_file(path))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.script.check_running()?;
        let create = || self.inner.create_dir_all(path);
        if self.exists(path) {
            return create();
        }
        self.script.run(format_args!("create_dir_all {}", path.display()), create)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let line = format_args!("sync_dir {}", path.display());
        self.script.run(line, || self.inner.sync_dir(path))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.script.check_running()?;
        self.inner.stat(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.script.check_running()?;
        self.inner.read_dir(path)
    }
}

#[derive(Debug)]
struct FaultFile {
    inner: Box<dyn FsFile>,
    path: PathBuf,
    script: Arc<Script>,
}

impl FaultFile {
    fn run<T>(
        &self,
        line: fmt::Arguments<'_>,
        op: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.script.run(format_args!("{line} {}", self.path.display()), op)
    }
}

impl FsFile for FaultFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.script.check_running()?;
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        let line = format!("write {} at {offset} {}", buf.len(), self.path.display());
        let half = || self.inner.write_at(&buf[..buf.len() / 2], offset);
        match self.script.step_write(line, buf.len())? {
            Step::Go => self.inner.write_at(buf, offset),
            Step::GoThenFail(errno) => {
                self.inner.write_at(buf, offset)?;
                Err(errno.into())
            }
            Step::Half => half(),
            Step::HalfThenKill => {
                half()?;
                script::kill_self()
            }
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.run(format_args!("sync_data"), || self.inner.sync_data())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.run(format_args!("set_len {len_bytes}"), || self.inner.set_len(len_bytes))
    }

    fn stat(&self) -> io::Result<Stat> {
        self.script.check_running()?;
        self.inner.stat()
    }

    fn set_read_only(&self, read_only: bool) -> io::Result<()> {
        let line = format_args!("set_read_only {read_only}");
        self.run(line, || self.inner.set_read_only(read_only))
    }

    fn try_lock(&self, mode: LockMode) -> io::Result<bool> {
        self.script.check_running()?;
        self.inner.try_lock(mode)
    }

    fn lock(&self, mode: LockMode, deadline: Duration) -> io::Result<bool> {
        self.script.check_running()?;
        self.inner.lock(mode, deadline)
    }
}

#[cfg(test)]
mod tests;
