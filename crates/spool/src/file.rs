//! Whole small files.

use std::io;
use std::path::Path;

use creel_sys::fs::{Fs, FsFile, OpenHow, write_all_at};

/// Reads a file to its end, but no more than `max_bytes` and one.
pub(crate) fn read_bounded(fs: &dyn Fs, path: &Path, max_bytes: usize) -> io::Result<Vec<u8>> {
    let file = fs.open(path, OpenHow::Read)?;
    let mut bytes = Vec::new();
    read_from(file.as_ref(), 0, max_bytes, &mut bytes)?;
    Ok(bytes)
}

/// Appends what a file holds from `offset` on to `bytes`, until it has over `max_bytes`.
pub(crate) fn read_from(
    file: &dyn FsFile,
    offset: u64,
    max_bytes: usize,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    const FIRST: usize = 16 * 1024;
    // What is asked for is cleared first. A step that doubled without end would clear as much
    // again as a large file has, and touch that memory.
    const MOST: usize = 1024 * 1024;
    let start = bytes.len();
    let mut step = FIRST;
    loop {
        let done = bytes.len() - start;
        if done > max_bytes {
            return Ok(());
        }
        // Room that is there is filled before more is made: whoever knows the length reserves it.
        let spare = bytes.capacity() - bytes.len();
        let room = if spare == 0 { step } else { step.min(spare) };
        let want = room.min(max_bytes + 1 - done);
        bytes.resize(start + done + want, 0);
        let read = file.read_at(&mut bytes[start + done..], offset + done as u64);
        let count = match &read {
            Ok(count) => *count,
            Err(_) => 0,
        };
        bytes.truncate(start + done + count);
        match read {
            Ok(0) => return Ok(()),
            Ok(_) => step = step.saturating_mul(2).min(MOST),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Opens a file that is made anew: what a writer that died left at the path is removed.
pub(crate) fn create_anew(fs: &dyn Fs, path: &Path) -> io::Result<Box<dyn FsFile>> {
    match fs.open(path, OpenHow::CreateNew) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs.remove_file(path)?;
            fs.open(path, OpenHow::CreateNew)
        }
        other => other,
    }
}

/// Replaces a file by way of a temporary one beside it; nothing is synced.
pub(crate) fn replace(fs: &dyn Fs, path: &Path, tmp: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = create_anew(fs, tmp)?;
    write_all_at(file.as_ref(), bytes, 0)?;
    drop(file);
    fs.rename(tmp, path)
}

/// Creates a file that no other one is overwritten by, and makes it durable.
pub(crate) fn keep(fs: &dyn Fs, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = fs.open(path, OpenHow::CreateNew)?;
    write_all_at(file.as_ref(), bytes, 0)?;
    file.sync_data()
}

/// Finds the first number for which no file is there.
pub(crate) fn first_free(
    fs: &dyn Fs,
    name: impl Fn(u64) -> std::path::PathBuf,
) -> io::Result<(u64, std::path::PathBuf)> {
    for number in 1..u64::MAX {
        let path = name(number);
        match fs.stat(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((number, path)),
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
