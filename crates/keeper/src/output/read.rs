//! Reading the output log, while it is written or afterwards.

use std::io;
use std::path::Path;

use creel_sys::fs::{Fs, OpenHow};
use creel_sys::os_fs::OsFs;

use super::segments;

/// A part of the agent's output without a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Position of the first byte in the agent's output.
    pub offset: u64,
    /// The bytes of both streams as they arrived.
    pub bytes: Vec<u8>,
    /// True when an unknown number of bytes before this piece is lost. A loss of known length
    /// shows in the offsets.
    pub follows_unknown_loss: bool,
}

/// Reads the last `max_bytes` bytes of the output log of the run in `run_dir/output`, oldest piece
/// first; nothing when there is no log.
///
/// # Errors
/// When the log can't be read.
pub fn tail(output_dir: &Path, max_bytes: u64) -> io::Result<Vec<Piece>> {
    read_back(output_dir, (max_bytes, 0))
}

/// Reads what the output log in `output_dir` holds behind the position `offset`, oldest piece
/// first.
///
/// # Errors
/// When the log can't be read.
pub fn since(output_dir: &Path, offset: u64) -> io::Result<Vec<Piece>> {
    read_back(output_dir, (u64::MAX, offset))
}

/// Reads from the end until so many bytes are read, or a position is reached.
fn read_back(output_dir: &Path, (max_bytes, first): (u64, u64)) -> io::Result<Vec<Piece>> {
    let all = segments(&OsFs, output_dir)?;
    let mut left = max_bytes;
    let mut newest_first = Vec::new();
    for segment in all.iter().rev() {
        if left == 0 || segment.end() <= first {
            break;
        }
        let file = match OsFs.open(&segment.path(output_dir), OpenHow::Read) {
            Ok(file) => file,
            // Dropped for the bound since it was listed; so are the older ones.
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        };
        let wanted = segment.len_bytes.min(left).min(segment.end() - first);
        let skipped = segment.len_bytes - wanted;
        let mut bytes = vec![0; usize::try_from(wanted).map_err(io::Error::other)?];
        let mut done = 0;
        while done < bytes.len() {
            match file.read_at(&mut bytes[done..], skipped + done as u64)? {
                0 => break,
                count => done += count,
            }
        }
        bytes.truncate(done);
        left -= wanted;
        newest_first.push(Piece {
            offset: segment.base + skipped,
            bytes,
            follows_unknown_loss: segment.is_restart && skipped == 0,
        });
    }
    Ok(join(newest_first.into_iter().rev()))
}

/// Joins pieces that continue each other.
fn join(pieces: impl Iterator<Item = Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last)
                if !piece.follows_unknown_loss
                    && last.offset + last.bytes.len() as u64 == piece.offset =>
            {
                last.bytes.extend_from_slice(&piece.bytes);
            }
            _ if piece.bytes.is_empty() => {}
            _ => joined.push(piece),
        }
    }
    joined
}
