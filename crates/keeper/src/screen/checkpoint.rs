//! The last screen that a keeper wrote down: what to feed a terminal so that it shows it, and the
//! position in the agent's output that it stands for.
//!
//! A line that says what it is, a line of JSON, and the bytes. It is replaced by a rename; one that
//! is damaged, or of another version, counts as none.

use std::io;
use std::path::{Path, PathBuf};

use creel_api::plan::TerminalSize;
use creel_sys::fs::{Fs, OpenHow, read_exact_at, write_all_at};
use serde::{Deserialize, Serialize};

const FIRST_LINE: &[u8] = b"creel screen 1\n";

/// The most bytes of a screen and its history: four times the bound of history, since a redraw
/// spells colours out.
const MAX_BYTES: u64 = 16 << 20;

/// The longest second line in bytes.
const MAX_HEAD_BYTES: usize = 1024;

/// Returns where the checkpoint of a run is.
pub(crate) fn path(run_dir: &Path) -> PathBuf {
    run_dir.join("checkpoint")
}

/// A screen that was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Position in the agent's output.
    pub(crate) offset: u64,
    pub(crate) size: TerminalSize,
    /// Why the screen may not be what the agent drew.
    pub(crate) doubt: Option<String>,
    /// What shows it.
    pub(crate) redraw: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    offset: u64,
    size: TerminalSize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doubt: Option<String>,
    len_bytes: u64,
    crc: u32,
}

/// Replaces the checkpoint of a run.
pub(crate) fn write(fs: &dyn Fs, run_dir: &Path, checkpoint: &Checkpoint) -> io::Result<()> {
    let len_bytes = checkpoint.redraw.len() as u64;
    if len_bytes > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let Checkpoint { offset, size, doubt, redraw } = checkpoint;
    let (offset, size, doubt) = (*offset, *size, doubt.clone());
    let head = Head { offset, size, doubt, len_bytes, crc: crc32c::crc32c(redraw) };
    let mut bytes = FIRST_LINE.to_vec();
    bytes.extend(serde_json::to_vec(&head)?);
    bytes.push(b'\n');
    bytes.extend_from_slice(redraw);
    let new = run_dir.join("checkpoint.new");
    let file = fs.open(&new, OpenHow::Create)?;
    file.set_len(0)?;
    write_all_at(file.as_ref(), &bytes, 0)?;
    drop(file);
    fs.rename(&new, &path(run_dir))
}

/// Reads the checkpoint of a run; none when there is none that can be used.
pub(crate) fn read(fs: &dyn Fs, run_dir: &Path) -> Option<Checkpoint> {
    let path = path(run_dir);
    let len = fs.stat(&path).ok()?.len_bytes;
    if len > MAX_BYTES + (FIRST_LINE.len() + MAX_HEAD_BYTES) as u64 {
        return None;
    }
    let file = fs.open(&path, OpenHow::Read).ok()?;
    let bytes = read_exact_at(file.as_ref(), 0, usize::try_from(len).ok()?).ok()?;
    decode(&bytes)
}

fn decode(bytes: &[u8]) -> Option<Checkpoint> {
    let rest = bytes.strip_prefix(FIRST_LINE)?;
    let end = rest.iter().take(MAX_HEAD_BYTES).position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(&rest[..end]).ok()?;
    let redraw = &rest[end + 1..];
    let is_whole = redraw.len() as u64 == head.len_bytes && crc32c::crc32c(redraw) == head.crc;
    let size = TerminalSize::checked(head.size.columns.into(), head.size.lines.into()).ok()?;
    is_whole.then(|| Checkpoint {
        offset: head.offset,
        size,
        doubt: head.doubt,
        redraw: redraw.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use creel_sys::os_fs::OsFs;

    use super::*;

    fn example() -> Checkpoint {
        let size = TerminalSize { columns: 80, lines: 24 };
        Checkpoint { offset: 7, size, doubt: None, redraw: b"\x1b[Hhello\n".to_vec() }
    }

    /// Writes a checkpoint, damages its file, and reads it.
    fn check(damage: impl FnOnce(&mut Vec<u8>), expected: Option<&Checkpoint>) {
        let dir = tempfile::tempdir().expect("a directory");
        write(&OsFs, dir.path(), &example()).expect("writes");
        let mut bytes = std::fs::read(path(dir.path())).expect("a file");
        damage(&mut bytes);
        std::fs::write(path(dir.path()), bytes).expect("a file");
        assert_eq!(read(&OsFs, dir.path()).as_ref(), expected);
    }

    #[test]
    fn a_checkpoint_is_read_whole_or_not_at_all() {
        check(|_| {}, Some(&example()));
        check(|bytes| bytes[0] ^= 1, None);
        check(|bytes| bytes.push(0), None);
        check(|bytes| bytes.truncate(bytes.len() - 1), None);
        check(|bytes| *bytes.last_mut().expect("a byte") ^= 1, None);
        check(Vec::clear, None);
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(read(&OsFs, dir.path()), None);
    }

    #[test]
    fn a_newer_checkpoint_replaces_the_older_one() {
        let dir = tempfile::tempdir().expect("a directory");
        write(&OsFs, dir.path(), &example()).expect("writes");
        let newer = Checkpoint { offset: 9, redraw: Vec::new(), ..example() };
        write(&OsFs, dir.path(), &newer).expect("writes");
        assert_eq!(read(&OsFs, dir.path()), Some(newer));
        assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 1);
    }
}
