//! The file system as the spool sees it: few operations, each of which can fail or be the last one
//! before a crash.
//!
//! Production uses [`OsFs`](crate::os_fs::OsFs). Tests wrap it in
//! [`FaultFs`](crate::fault::FaultFs), or stand a written disk model in its place, so that every
//! operation listed here can be made to fail, or to be the last one, at every n.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How a file is opened. Files are created with mode 0600, and every descriptor is close-on-exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// For reading and writing, created when missing.
    Create,
    /// For reading and writing; fails with `AlreadyExists` when it is there.
    CreateNew,
    /// For appending (`O_APPEND`), created when missing.
    Append,
}

/// The identity of an inode; a path that is re-checked after locking must still have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// What `stat` tells about a path or an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes.
    pub len_bytes: u64,
    /// Inode identity.
    pub file_id: FileId,
    /// True for a directory.
    pub is_dir: bool,
    /// True for a regular file.
    pub is_file: bool,
    /// True when the owner's write bit is off (see [`FsFile::set_read_only`]).
    pub is_read_only: bool,
}

/// Shared or exclusive, as `flock` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Many readers.
    Shared,
    /// One holder.
    Exclusive,
}

/// File system operations on paths.
pub trait Fs: Send + Sync + fmt::Debug {
    /// Opens `path` as `how` says.
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Box<dyn FsFile>>;
    /// Renames within one directory, replacing the target. Durable only after [`Fs::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and its parents with mode 0700; an existing one is left as it is.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Stats a path, following links.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// The names in a directory, in no order.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<OsString>>;
}

/// Operations on an open file. Offsets and lengths are in bytes.
pub trait FsFile: Send + Sync + fmt::Debug {
    /// Reads up to `buf.len()` bytes at `offset`; 0 at the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at `offset`, or at the end of a file opened for appending; may be short.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;
    /// `fdatasync`.
    fn sync_data(&self) -> io::Result<()>;
    /// Truncates or extends.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;
    /// Stats the open file.
    fn stat(&self) -> io::Result<Stat>;
    /// Sets or clears the owner's write bit. The open descriptor stays usable.
    fn set_read_only(&self, read_only: bool) -> io::Result<()>;
    /// Takes a `flock` if it is free at once; false when another open file description holds it.
    fn try_lock(&self, mode: LockMode) -> io::Result<bool>;
    /// Waits for a `flock` without polling; false when `deadline` passed first.
    /// The lock is released when the file is dropped.
    fn lock(&self, mode: LockMode, deadline: Duration) -> io::Result<bool>;
}

/// Reads exactly `len` bytes at `offset`, or fails with `UnexpectedEof`.
pub fn read_exact_at(file: &dyn FsFile, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut buf = vec![0; len];
    let mut done = 0;
    while done < len {
        match file.read_at(&mut buf[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(buf)
}

/// Writes the whole of `buf` at `offset`; on an error some of it may be written.
pub fn write_all_at(file: &dyn FsFile, buf: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < buf.len() {
        match file.write_at(&buf[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
