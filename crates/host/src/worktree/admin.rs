//! The directories in which git keeps what belongs to one worktree alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::surroundings::{is_missing, read_small};

/// Bytes of a path at most; Linux takes 4096.
const MAX_PATH_BYTES: u64 = 8192;

/// Returns the directory of each linked worktree by the worktree's path, as git recorded it.
pub(crate) fn admins(common: &Path) -> io::Result<BTreeMap<PathBuf, PathBuf>> {
    let mut found = BTreeMap::new();
    let entries = match fs::read_dir(common.join("worktrees")) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => return Ok(found),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let admin = entry?.path();
        if let Some(path) = tree_of(&admin)? {
            found.insert(path, admin);
        }
    }
    Ok(found)
}

/// Returns the path of the worktree that a directory is about; `None` when it says none.
pub(crate) fn tree_of(admin: &Path) -> io::Result<Option<PathBuf>> {
    let Some(text) = read_small(&admin.join("gitdir"), MAX_PATH_BYTES)? else { return Ok(None) };
    let link = admin.join(path_in(text));
    Ok(plain(&link).parent().map(Path::to_owned))
}

/// Returns the directory that the `.git` file in a tree points to; `None` when there is no such
/// file.
pub(crate) fn pointed_to(tree: &Path) -> io::Result<Option<PathBuf>> {
    let link = tree.join(".git");
    match fs::symlink_metadata(&link) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    let text = read_small(&link, MAX_PATH_BYTES)?.unwrap_or_default();
    let Some(rest) = text.strip_prefix(b"gitdir: ") else { return Ok(None) };
    Ok(Some(plain(&tree.join(path_in(rest.to_vec())))))
}

/// Git ends such files with a newline, and takes whitespace at the end off.
fn path_in(mut bytes: Vec<u8>) -> PathBuf {
    bytes.truncate(bytes.trim_ascii_end().len());
    OsString::from_vec(bytes).into()
}

/// Resolves `..` by the text alone: the directories may be gone.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}
