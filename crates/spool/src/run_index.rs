//! The run index, `<id>/runs.idx`: runs that fell out of the snapshot, one line each, in order.
//!
//! A cache of the log. A run in it never changes again, since a late return of one is refused. The
//! snapshot says how much of the file counts; each line has its own checksum, seeded with the
//! session's id.

use std::io;

use creel_record::SessionId;
use creel_record::line::{chain_seed, split};
use creel_record::run::Run;
use creel_sys::fs::{FsFile, OpenHow, write_all_at};
use serde::{Deserialize, Serialize};

use crate::file::{read_from, replace};
use crate::load::State;
use crate::store::Store;
use crate::walk::{Bounds, Start, Step, Walk};

#[derive(Serialize)]
struct LineOut<'a> {
    run: &'a Run,
}

#[derive(Deserialize)]
struct LineIn {
    run: Run,
}

/// Encodes a run as a line, newline included.
pub(crate) fn encode(id: SessionId, run: &Run) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(&LineOut { run }).expect("a run has no map in it");
    seal(&mut bytes, chain_seed(id));
    bytes
}

/// Ends a JSON object with the checksum of all before it, and a newline.
pub(crate) fn seal(bytes: &mut Vec<u8>, seed: u32) {
    bytes.pop();
    let crc = crc32c::crc32c_append(seed, bytes);
    bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
}

/// Checks a line without its newline; returns what its checksum covers.
pub(crate) fn unseal(line: &[u8], seed: u32) -> Option<&[u8]> {
    let parts = split(line)?;
    (crc32c::crc32c_append(seed, parts.covered) == parts.stored).then_some(parts.covered)
}

/// Decodes the first `count` runs; none when they are not all there and good.
fn decode(id: SessionId, bytes: &[u8], count: u64) -> Option<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    for _ in 0..count {
        let line = lines.next()?;
        unseal(line, chain_seed(id))?;
        let LineIn { run } = serde_json::from_slice(line).ok()?;
        if runs.last().is_some_and(|before| before.number >= run.number) {
            return None;
        }
        runs.push(run);
    }
    Some(runs)
}

/// Reads the first `count` runs; none when they are not all there and good.
pub(crate) fn read(store: &Store, id: SessionId, count: u64) -> io::Result<Option<Vec<Run>>> {
    let file = match store.fs().open(&store.session_dir(id).join(NAME), OpenHow::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    read_from(file.as_ref(), 0, usize::MAX - 1, &mut bytes)?;
    Ok(decode(id, &bytes, count))
}

/// Reads the runs that are good, up to the first that is not.
pub(crate) fn read_good(store: &Store, id: SessionId) -> io::Result<Vec<Run>> {
    let path = store.session_dir(id).join(NAME);
    let bytes = match crate::file::read_bounded(store.fs(), &path, usize::MAX - 1) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut runs = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(_) = unseal(line, chain_seed(id)) else { break };
        let Ok(LineIn { run }) = serde_json::from_slice(line) else { break };
        runs.push(run);
    }
    Ok(runs)
}

/// The name of the file.
pub(crate) const NAME: &str = "runs.idx";

/// Makes the index hold what a state says it does. What is there already is checked whole before
/// it is added to, and made again from the log when it is not good.
pub(crate) fn write(
    store: &Store,
    (id, log): (SessionId, &dyn FsFile),
    state: &mut State,
) -> io::Result<()> {
    if state.run_index.run_count == 0 {
        return Ok(());
    }
    let tail_len = state.index_tail.len() as u64;
    let base = state.run_index.len_bytes - tail_len;
    let path = store.session_dir(id).join(NAME);
    if tail_len == 0 && store.fs().stat(&path).is_ok_and(|stat| stat.len_bytes >= base) {
        return Ok(());
    }
    store.fs().create_dir_all(&store.session_dir(id))?;
    let file = store.fs().open(&path, OpenHow::Create)?;
    if tail_len > 0 && holds(id, file.as_ref(), base, state)? {
        if file.stat()?.len_bytes > base {
            file.set_len(base)?;
        }
        write_all_at(file.as_ref(), &state.index_tail, base)?;
    } else {
        drop(file);
        let bytes = from_log((id, log), state)?;
        replace(store.fs(), &path, &path.with_extension("idx.tmp"), &bytes)?;
    }
    state.index_tail.clear();
    Ok(())
}

/// True when the first `base` bytes are the runs before the state's tail.
fn holds(id: SessionId, file: &dyn FsFile, base: u64, state: &State) -> io::Result<bool> {
    if base == 0 {
        return Ok(true);
    }
    let len = usize::try_from(base).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    read_from(file, 0, len, &mut bytes)?;
    if bytes.len() < len || bytes[len - 1] != b'\n' {
        return Ok(false);
    }
    let added = state.index_tail.iter().filter(|byte| **byte == b'\n').count() as u64;
    let count = state.run_index.run_count - added;
    let lines = bytes[..len].iter().filter(|byte| **byte == b'\n').count() as u64;
    Ok(lines == count && decode(id, &bytes[..len], count).is_some())
}

/// Makes the whole index from the log.
fn from_log((id, log): (SessionId, &dyn FsFile), state: &State) -> io::Result<Vec<u8>> {
    let end = state.len_bytes();
    let bounds = Bounds { end, published_bytes: end };
    let mut walk = Walk::new(log, id, Start::of_log(id), bounds);
    let mut folded = State::default();
    while let Some(step) = walk.next()? {
        let Step::Good(good) = step else { return Err(unlike()) };
        folded.fold(&good).map_err(io::Error::other)?;
    }
    if folded.run_index == state.run_index { Ok(folded.index_tail) } else { Err(unlike()) }
}

fn unlike() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the log does not have the runs of the snapshot")
}
