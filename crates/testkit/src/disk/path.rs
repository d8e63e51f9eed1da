//! Paths of the model disk.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path};

/// Returns the names on the way to `path`, from the root. The model has no links, and no working
/// directory but the root.
pub(super) fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(io::ErrorKind::InvalidInput.into());
            }
        }
    }
    Ok(names)
}

/// Returns the names of the parent directory, and the last name; the root has neither.
pub(super) fn parent_and_name(path: &Path) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut names = names(path)?;
    let name = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((names, name))
}
