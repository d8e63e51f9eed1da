//! The processes of the machine as `/proc` shows them at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::fs::FileId;
use crate::os::process::{is_gone, read_entry};

/// The most of an environment or command line that is read. The kernel's own bound on both
/// together is a quarter of the stack limit, 6 MiB at most.
pub const MAX_ENVIRON_BYTES: u64 = 8 * 1024 * 1024;

/// What `/proc/<pid>/stat` tells about one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEntry {
    /// Process id.
    pub pid: i32,
    /// Parent; 0 for the first process and for threads of the kernel.
    pub ppid: i32,
    /// Process group.
    pub pgid: i32,
    /// Session: the pid its leader has or had.
    pub sid: i32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    /// State letter of proc_pid_stat(5).
    pub state: char,
    /// Threads left, the first one counted even when it is a zombie.
    pub thread_count: u32,
    /// True for a thread of the kernel, which has neither program nor environment.
    pub is_kernel_thread: bool,
    /// Name of the program, cut to 15 bytes by the kernel.
    pub comm: String,
}

impl ProcessEntry {
    /// Tells whether nothing of the process runs any more.
    ///
    /// A first thread that left its other threads behind is a zombie too, but not dead.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        match self.state {
            'X' | 'x' => true,
            'Z' => self.thread_count <= 1,
            _ => false,
        }
    }
}

/// The value of one variable in the environment a process was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environ {
    /// It is set; bytes that are not UTF-8 are replaced.
    Value(String),
    /// It is not set.
    Absent,
    /// There is none at this moment: the process has ended, or is just starting a program.
    Gone,
    /// The kernel doesn't let us see.
    Unreadable,
}

/// The identity of an executable: one file, or what an upgrade left in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExeIdentity {
    /// Device and inode.
    pub file_id: FileId,
    /// The path it was started from.
    pub path: PathBuf,
}

impl ExeIdentity {
    /// Returns the executable of the calling process.
    pub fn own() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        exe(pid)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Tells whether both are the same file or were started from the same path.
    #[must_use]
    pub fn is_same_program(&self, other: &Self) -> bool {
        self.file_id == other.file_id || self.path == other.path
    }
}

/// A snapshot of every process. Processes that start or end while it is taken may be missing.
#[derive(Clone, Debug, Default)]
pub struct ProcessTable {
    entries: BTreeMap<i32, ProcessEntry>,
    vanished: BTreeSet<i32>,
}

impl ProcessTable {
    /// Reads `/proc`.
    pub fn read() -> io::Result<Self> {
        Self::read_each(|_| ())
    }

    /// Reads `/proc` and shows each entry to `seen` as soon as it is read.
    ///
    /// The youngest come first: those that fork and end at once are gone soonest.
    pub(super) fn read_each(mut seen: impl FnMut(&ProcessEntry)) -> io::Result<Self> {
        let mut table = Self::default();
        let mut pids: Vec<i32> = Vec::new();
        for dir in fs::read_dir("/proc")? {
            pids.extend(dir?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
        }
        pids.sort_unstable();
        for pid in pids.into_iter().rev() {
            match read_entry(pid)? {
                Some(entry) => {
                    seen(&entry);
                    table.entries.insert(pid, entry);
                }
                None => {
                    table.vanished.insert(pid);
                }
            }
        }
        Ok(table)
    }

    /// Returns the pids that were there and had ended before they could be looked at.
    #[must_use]
    pub fn vanished(&self) -> &BTreeSet<i32> {
        &self.vanished
    }

    /// Returns the entries in the order of their pids, zombies included.
    pub fn entries(&self) -> impl Iterator<Item = &ProcessEntry> {
        self.entries.values()
    }

    /// Returns the entry of `pid`.
    #[must_use]
    pub fn entry(&self, pid: i32) -> Option<&ProcessEntry> {
        self.entries.get(&pid)
    }

    /// Returns the children of `pid`, their children, and so on; not `pid` itself.
    #[must_use]
    pub fn descendants_of(&self, pid: i32) -> BTreeSet<i32> {
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for entry in self.entries.values() {
            children.entry(entry.ppid).or_default().push(entry.pid);
        }
        let mut found = BTreeSet::new();
        let mut open = vec![pid];
        while let Some(parent) = open.pop() {
            for child in children.get(&parent).into_iter().flatten() {
                // The set also ends a loop that reused pids may have drawn in the snapshot.
                if *child != pid && found.insert(*child) {
                    open.push(*child);
                }
            }
        }
        found
    }
}

/// Returns the value of `name` in the environment `pid` was started with.
#[must_use]
pub fn environ_value(pid: i32, name: &str) -> Environ {
    let path = format!("/proc/{pid}/environ");
    let found = match read_bounded(&path) {
        // Within `exec` the old environment is gone and the new one isn't there yet; the arguments
        // come with it. Without them nothing was started; with them it can be read by now.
        Ok(bytes) if bytes.is_empty() && cmdline(pid).is_empty() => return Environ::Gone,
        Ok(bytes) if bytes.is_empty() => read_bounded(&path),
        found => found,
    };
    let bytes = match found {
        Ok(bytes) => bytes,
        Err(error) if is_gone(&error) => return Environ::Gone,
        Err(_) => return Environ::Unreadable,
    };
    bytes
        .split(|byte| *byte == 0)
        .find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .map_or(Environ::Absent, |value| {
            Environ::Value(String::from_utf8_lossy(value).into_owned())
        })
}

/// Returns the executable of `pid`; `None` when it has ended, is a thread of the kernel, or can't
/// be seen.
pub fn exe(pid: i32) -> io::Result<Option<ExeIdentity>> {
    let link = format!("/proc/{pid}/exe");
    let found = fs::metadata(&link).and_then(|stat| Ok((stat, fs::read_link(&link)?)));
    match found {
        Ok((stat, path)) => Ok(Some(ExeIdentity {
            file_id: FileId { device: stat.dev(), inode: stat.ino() },
            path: without_deleted(path),
        })),
        Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the arguments of `pid`, the program's name first; empty when it has ended, is a thread
/// of the kernel, or can't be seen.
#[must_use]
pub fn cmdline(pid: i32) -> Vec<OsString> {
    let Ok(mut bytes) = read_bounded(&format!("/proc/{pid}/cmdline")) else { return Vec::new() };
    if bytes.pop_if(|byte| *byte == 0).is_none() && bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|arg| OsString::from_vec(arg.to_vec())).collect()
}

fn read_bounded(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_ENVIRON_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The kernel marks the path of a program that was replaced on disk.
fn without_deleted(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|path| path.strip_suffix(" (deleted)")) {
        Some(before) => PathBuf::from(before),
        None => path,
    }
}

#[cfg(test)]
mod tests;
