//! Version 2 control groups: a name tag that a process can't shed by forking.
//!
//! All of it is optional. Where there is no such hierarchy or it isn't ours to write,
//! [`Unavailable`] says why, and the callers rely on process sessions and environments.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use thiserror::Error;

use crate::os::process::is_gone;

/// What the names of our groups begin with.
const NAME_PREFIX: &str = "creel-";

/// Why there is no cgroup to use.
#[derive(Debug, Error)]
pub enum Unavailable {
    /// No `cgroup2` mount.
    #[error("no cgroup2 file system is mounted")]
    NotMounted,
    /// The calling process is in no group below the mount.
    #[error("this process has no place in the cgroup2 hierarchy")]
    NotPlaced,
    /// `/proc` or the hierarchy can't be read.
    #[error("can't read {}", path.display())]
    Unreadable {
        /// What was read.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The group is not ours to make.
    #[error("can't make the cgroup {}", path.display())]
    NotWritable {
        /// What was to be made.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// One control group, by its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    dir: PathBuf,
}

impl Cgroup {
    /// Returns the group of the calling process, also in a hybrid hierarchy.
    pub fn own() -> Result<Self, Unavailable> {
        let mounts = read(Path::new("/proc/self/mountinfo"))?;
        let membership = read(Path::new("/proc/self/cgroup"))?;
        let mount = Mount::find(&mounts).ok_or(Unavailable::NotMounted)?;
        let dir = mount.place(&membership).ok_or(Unavailable::NotPlaced)?;
        if !dir.join("cgroup.procs").exists() {
            return Err(Unavailable::NotPlaced);
        }
        Ok(Self { dir })
    }

    /// Returns the group whose directory is `dir`, e.g. one that was noted earlier.
    #[must_use]
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Returns the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the group that holds the outermost run's group around this one; `None` outside of
    /// any run's.
    #[must_use]
    pub fn outside_of_runs(&self) -> Option<Self> {
        let is_run = |dir: &&Path| {
            dir.file_name().is_some_and(|name| {
                name.as_encoded_bytes().starts_with(NAME_PREFIX.as_bytes())
                    && !name.as_encoded_bytes().ends_with(b".scope")
                    && !name.as_encoded_bytes().ends_with(b".service")
            })
        };
        let run = self.dir.ancestors().filter(is_run).last()?;
        Some(Self { dir: run.parent()?.to_owned() })
    }

    /// Makes the group `creel-<name>` below this one; one that is there already is taken.
    pub fn create_child(&self, name: &str) -> Result<Self, Unavailable> {
        let path = self.dir.join(format!("{NAME_PREFIX}{name}"));
        let made = match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        let child = Self { dir: path };
        match made.and_then(|()| child.join_file()) {
            Ok(_) => Ok(child),
            Err(source) => Err(Unavailable::NotWritable { path: child.dir, source }),
        }
    }

    /// Opens `cgroup.procs` for a child to write itself into before it runs its program.
    pub fn join_file(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(self.dir.join("cgroup.procs"), flags, Mode::empty())?)
    }

    /// Moves the calling process into this group.
    pub fn join(&self) -> io::Result<()> {
        rustix::io::write(self.join_file()?, b"0")?;
        Ok(())
    }

    /// Returns the pids in this group and all below it; none when it is gone. Zombies count until
    /// they are reaped.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        let mut pids = Vec::new();
        for dir in self.dirs()? {
            match fs::read_to_string(dir.join("cgroup.procs")) {
                // 0 stands for a process of another pid namespace, which has no pid here.
                Ok(text) => pids.extend(
                    text.lines().filter_map(|line| line.parse().ok()).filter(|pid: &i32| *pid != 0),
                ),
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(pids)
    }

    /// Tells whether a living process is in this group or below it; false when the group is gone.
    pub fn is_populated(&self) -> io::Result<bool> {
        match fs::read_to_string(self.dir.join("cgroup.events")) {
            Ok(text) => Ok(text.lines().any(|line| line == "populated 1")),
            // The root of a hierarchy has no such file, and is never empty.
            Err(error) if is_missing(&error) => Ok(self.dir.join("cgroup.procs").exists()),
            Err(error) => Err(error),
        }
    }

    /// Removes the group and all below it, none of which may hold a process. One that is gone is
    /// removed.
    pub fn remove(&self) -> io::Result<()> {
        for dir in self.dirs()?.into_iter().rev() {
            match fs::remove_dir(&dir) {
                Err(error) if !is_missing(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// This directory and all below it, parents first.
    fn dirs(&self) -> io::Result<Vec<PathBuf>> {
        let mut dirs = vec![self.dir.clone()];
        let mut next = 0;
        while let Some(dir) = dirs.get(next).cloned() {
            next += 1;
            match subdirs(&dir) {
                Ok(below) => dirs.extend(below),
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(dirs)
    }
}

fn subdirs(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// A group that was removed while a file of it was open answers `ENODEV`.
fn is_missing(error: &io::Error) -> bool {
    is_gone(error) || error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

fn read(path: &Path) -> Result<Vec<u8>, Unavailable> {
    fs::read(path).map_err(|source| Unavailable::Unreadable { path: path.to_owned(), source })
}

/// A mount of the hierarchy, perhaps of a part of it.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    root: PathBuf,
    at: PathBuf,
}

impl Mount {
    /// Finds the first `cgroup2` mount in the text of `/proc/self/mountinfo`.
    fn find(mountinfo: &[u8]) -> Option<Self> {
        mountinfo.split(|byte| *byte == b'\n').find_map(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
            // Optional fields end with a lone dash; the type follows it.
            let dash = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
            (*fields.get(dash + 1)? == b"cgroup2")
                .then(|| Self { root: unescape(fields[3]), at: unescape(fields[4]) })
        })
    }

    /// Returns the directory of the group that the text of `/proc/self/cgroup` names.
    fn place(&self, membership: &[u8]) -> Option<PathBuf> {
        let path = membership
            .split(|byte| *byte == b'\n')
            .find_map(|line| line.strip_prefix(b"0::"))
            .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))?;
        // Outside of our namespace's or mount's part of the hierarchy there is nothing to open.
        let below = path.strip_prefix(&self.root).ok()?;
        let is_inside =
            below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        is_inside.then(|| self.at.join(below))
    }
}

/// Undoes the kernel's octal escapes of space, tab, newline and backslash.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests;
