//! Small files of the host's own: whole or not there, checked, bounded.
//!
//! One line `creel-state 1 CRC LEN`, then the body. A file that isn't one is set aside under a name
//! of its own and reported; the host goes on as if there had been none.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use creel_sys::fs::{Fs, FsFile, OpenHow, write_all_at};
use creel_sys::os_fs::OsFs;

/// Bytes of a body: far more than the largest layout takes.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

const MAGIC: &str = "creel-state 1";

/// The first line is shorter.
const MAX_HEADER_BYTES: usize = 64;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// Nothing.
    Missing,
    /// A sound body.
    Good(Vec<u8>),
    /// Something else, which was set aside.
    SetAside {
        /// Where it is now.
        to: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Reads a state file; one that is damaged is set aside.
pub(crate) fn load(path: &Path) -> io::Result<Loaded> {
    let mut bytes = Vec::new();
    let limit = (MAX_BODY_BYTES + MAX_HEADER_BYTES + 1) as u64;
    match std::fs::File::open(path) {
        Ok(file) => file.take(limit).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Loaded::Missing),
        Err(error) => return Err(error),
    };
    match body(&bytes) {
        Ok(body) => Ok(Loaded::Good(body.to_vec())),
        Err(why) => Ok(Loaded::SetAside { to: set_aside(path)?, why }),
    }
}

/// Moves a file out of the way, over what was moved before: only the last one is kept.
pub(crate) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let to = beside(path, ".damaged");
    std::fs::rename(path, &to)?;
    Ok(to)
}

/// Replaces a state file: after this returns, a crash finds the new one, before it the old one.
pub(crate) fn store(path: &Path, body: &[u8]) -> io::Result<()> {
    if body.len() > MAX_BODY_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = format!("{MAGIC} {:08x} {}\n", crc32c::crc32c(body), body.len()).into_bytes();
    bytes.extend_from_slice(body);
    let fresh = beside(path, ".new");
    match OsFs.remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = OsFs.open_file(&fresh, OpenHow::CreateNew)?;
    write_all_at(&file, &bytes, 0)?;
    file.sync_data()?;
    OsFs.rename(&fresh, path)?;
    OsFs.sync_dir(path.parent().unwrap_or(Path::new("/")))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(suffix);
    path.with_file_name(name)
}

fn body(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let end = bytes.iter().take(MAX_HEADER_BYTES).position(|byte| *byte == b'\n');
    let (header, body) = bytes.split_at(end.ok_or("it has no header")?);
    let body = &body[1..];
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    let rest = header.strip_prefix(MAGIC).ok_or("it is no state file of this version")?;
    let (crc, len) = rest.trim_start().split_once(' ').ok_or("its header is cut")?;
    if len.parse() != Ok(body.len()) {
        return Err("its length is not what its header says");
    }
    if u32::from_str_radix(crc, 16) != Ok(crc32c::crc32c(body)) {
        return Err("its checksum does not match");
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Result<&[u8], &'static str>) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x");
        std::fs::write(&path, bytes).expect("writes");
        let expected = match expected {
            Ok(body) => Loaded::Good(body.to_vec()),
            Err(why) => Loaded::SetAside { to: dir.path().join("x.damaged"), why },
        };
        assert_eq!(load(&path).expect("reads"), expected);
        if let Loaded::SetAside { to, .. } = expected {
            assert_eq!(std::fs::read(to).expect("is kept"), bytes);
            assert_eq!(load(&path).expect("reads"), Loaded::Missing);
        }
    }

    #[test]
    fn what_was_stored_is_loaded_and_whatever_else_is_set_aside() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x");
        assert_eq!(load(&path).expect("reads"), Loaded::Missing);
        store(&path, b"one").expect("stores");
        store(&path, b"two\n2").expect("stores");
        let bytes = std::fs::read(&path).expect("reads");
        check(&bytes, Ok(b"two\n2"));
        for cut in 0..bytes.len() {
            let loaded = body(&bytes[..cut]);
            assert!(loaded.is_err(), "{cut}");
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(body(&bad).is_err(), "{at}");
        }
        check(b"", Err("it has no header"));
        check(b"{}\n", Err("it is no state file of this version"));
        check(b"creel-state 1 00000000 0", Err("it has no header"));
    }

    #[test]
    fn a_leftover_of_a_killed_writer_is_no_hindrance() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x");
        std::fs::write(dir.path().join("x.new"), "half").expect("writes");
        store(&path, b"one").expect("stores");
        assert_eq!(load(&path).expect("reads"), Loaded::Good(b"one".to_vec()));
    }
}
