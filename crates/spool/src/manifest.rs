//! `manifest.json`: what kind of store a directory is, and of which schema.

use std::io;
use std::path::Path;

use creel_record::snapshot::SCHEMA_VERSION;
use creel_sys::fs::{Fs, LockMode, OpenHow, write_all_at};
use serde::Deserialize;

use crate::access::Access;
use crate::error::OpenError;
use crate::file::read_bounded;
use crate::store::DEFAULT_LOCK_WAIT;

/// The name of the file, and the sign that a directory is a store.
pub(crate) const NAME: &str = "manifest.json";
const KIND: &str = "orb-spool-tree-store";
/// A manifest has two short members; more is no manifest.
const MAX_MANIFEST_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: String,
    kind: String,
}

/// Reads the manifest of `root` and tells what may be done with the store.
pub(crate) fn open(fs: &dyn Fs, root: &Path) -> Result<Access, OpenError> {
    match fs.stat(root) {
        Ok(stat) if !stat.is_dir => return Err(OpenError::NotADirectory { root: root.to_owned() }),
        Ok(_) => {}
        Err(error) => return Err(missing_or(error, root, root)),
    }
    let path = root.join(NAME);
    let bytes = read_bounded(fs, &path, MAX_MANIFEST_BYTES)
        .map_err(|error| missing_or(error, root, &path))?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|source| OpenError::Manifest { path, source })?;
    if manifest.kind != KIND {
        return Err(OpenError::Foreign { root: root.to_owned(), kind: manifest.kind });
    }
    Ok(access(fs, root, &manifest.schema_version))
}

fn missing_or(error: io::Error, root: &Path, path: &Path) -> OpenError {
    match error.kind() {
        io::ErrorKind::NotFound => OpenError::Missing { root: root.to_owned() },
        io::ErrorKind::NotADirectory => OpenError::NotADirectory { root: root.to_owned() },
        _ => OpenError::io("read", path)(error),
    }
}

fn access(fs: &dyn Fs, root: &Path, schema_version: &str) -> Access {
    if is_newer(schema_version) {
        let reason = format!(
            "the store has schema {schema_version}, newer than {SCHEMA_VERSION} of this build"
        );
        return Access::Newer { reason };
    }
    match fs.open(&root.join(NAME), OpenHow::ReadWrite) {
        Ok(_) => Access::ReadWrite,
        Err(error) => Access::ReadOnly { reason: format!("the store can't be written: {error}") },
    }
}

/// True for a schema that this build does not write; one that it can't parse is as good as newer.
fn is_newer(found: &str) -> bool {
    let parse = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    match (parse(found), parse(SCHEMA_VERSION)) {
        (Some(found), Some(ours)) => found > ours,
        _ => true,
    }
}

/// Writes the manifest of a new store, durably but for its directory entry. One that another
/// creator made meanwhile stays as it is.
pub(crate) fn create(fs: &dyn Fs, root: &Path) -> io::Result<()> {
    let (path, tmp) = (root.join(NAME), root.join("manifest.json.tmp"));
    let text = format!("{{\"schemaVersion\":\"{SCHEMA_VERSION}\",\"kind\":\"{KIND}\"}}\n");
    loop {
        let file = fs.open(&tmp, OpenHow::Create)?;
        if !file.lock(LockMode::Exclusive, DEFAULT_LOCK_WAIT)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // A faster creator renamed the file that was waited for.
        let is_ours = match fs.stat(&tmp) {
            Ok(named) => named.file_id == file.stat()?.file_id,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        match (fs.stat(&path), is_ours) {
            (Ok(_), true) => return fs.remove_file(&tmp),
            (Ok(_), false) => return Ok(()),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            (Err(_), false) => continue,
            (Err(_), true) => {}
        }
        file.set_len(0)?;
        write_all_at(file.as_ref(), text.as_bytes(), 0)?;
        file.sync_data()?;
        return fs.rename(&tmp, &path);
    }
}
