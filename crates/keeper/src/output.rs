//! The output log of a run: what its agent wrote to both streams, in the order it arrived.
//!
//! A directory of segments. Each holds raw bytes and nothing else, and is named by the position in
//! the agent's output at which it begins, in 20 digits. Where a segment begins after the end of
//! the one before it, the bytes between are lost: dropped for the bound, or not written in time.
//! A name that ends in `.restart` says that an unknown number of bytes before it is lost as well.
//! The oldest segments are removed so that all together keep the bound.

mod read;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use creel_sys::fs::Fs;

pub use read::{Piece, since, tail};
pub(crate) use write::OutputLog;

const RESTART: &str = ".restart";

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    /// Position of its first byte in the agent's output.
    base: u64,
    len_bytes: u64,
    /// True when an unknown number of bytes before it is lost.
    is_restart: bool,
}

impl Segment {
    fn end(&self) -> u64 {
        self.base.saturating_add(self.len_bytes)
    }

    fn path(&self, dir: &Path) -> PathBuf {
        let mark = if self.is_restart { RESTART } else { "" };
        dir.join(format!("{:020}{mark}", self.base))
    }
}

/// Lists the segments in a directory, oldest first; files of other names are left alone.
fn segments(fs: &dyn Fs, dir: &Path) -> io::Result<Vec<Segment>> {
    let names = match fs.read_dir(dir) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for name in names {
        let Some(name) = name.to_str() else { continue };
        let (digits, is_restart) = match name.strip_suffix(RESTART) {
            Some(digits) => (digits, true),
            None => (name, false),
        };
        let Some(base) = position(digits) else { continue };
        match fs.stat(&dir.join(name)) {
            Ok(stat) => found.push(Segment { base, len_bytes: stat.len_bytes, is_restart }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_by_key(|segment| (segment.base, segment.is_restart));
    Ok(found)
}

fn position(digits: &str) -> Option<u64> {
    let is_plain = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}
