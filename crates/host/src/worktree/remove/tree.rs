//! The files of a worktree on their way out: first out of sight, then away.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::worktree::surroundings::{FileError, is_absent, is_missing};

/// The two names, beside the worktree, that its files have while they are removed.
///
/// Under the first it is not proven yet that all of them were saved, so that whoever finds them
/// there puts them back; under the second it is, so that whoever finds them there removes them.
#[derive(Debug)]
pub(super) struct Aside {
    unproven: PathBuf,
    proven: PathBuf,
}

impl Aside {
    /// Returns the names for a worktree's path.
    pub(super) fn of(path: &Path) -> Self {
        let named = |ending: &str| {
            let mut name = OsString::from(".");
            name.push(path.file_name().unwrap_or_default());
            name.push(ending);
            path.with_file_name(name)
        };
        Self { unproven: named(".creel-removing"), proven: named(".creel-removed") }
    }

    /// Returns the first name.
    pub(super) fn unproven(&self) -> &Path {
        &self.unproven
    }

    /// Takes up what a killed removal left: puts back what was not proven saved.
    pub(super) fn take_up(&self, path: &Path) -> Result<(), FileError> {
        if is_absent(&self.unproven) { Ok(()) } else { self.give_back(path) }
    }

    /// Moves the files to the first name.
    pub(super) fn take(&self, path: &Path) -> Result<(), FileError> {
        fs::rename(path, &self.unproven).map_err(FileError::on("move", path))
    }

    /// Moves them back.
    pub(super) fn give_back(&self, path: &Path) -> Result<(), FileError> {
        if !is_absent(path) {
            let source = io::ErrorKind::AlreadyExists.into();
            return Err(FileError { what: "put the files back to", path: path.to_owned(), source });
        }
        fs::rename(&self.unproven, path).map_err(FileError::on("move", &self.unproven))
    }

    /// Moves them to the second name.
    pub(super) fn prove(&self) -> Result<(), FileError> {
        // What a killed removal left under that name was proven, too.
        self.clear()?;
        fs::rename(&self.unproven, &self.proven).map_err(FileError::on("move", &self.unproven))
    }

    /// Removes what is under the second name.
    pub(super) fn clear(&self) -> Result<(), FileError> {
        clear(&self.proven).map_err(FileError::on("remove", &self.proven))
    }
}

/// Removes a tree; its directories may be read-only.
fn clear(top: &Path) -> io::Result<()> {
    match fs::remove_dir_all(top) {
        Err(error) if is_missing(&error) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(top)?;
            fs::remove_dir_all(top)
        }
        removed => removed,
    }
}

/// Makes every directory of a tree one that its owner may change.
fn open_up(top: &Path) -> io::Result<()> {
    let mut open = vec![top.to_owned()];
    while let Some(dir) = open.pop() {
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Removes the directory above a worktree if it is one of ours that holds nothing any more.
pub(super) fn tidy_above(path: &Path) {
    let above = path.parent();
    let is_ours = above.and_then(Path::parent).is_some_and(|dir| dir.ends_with("creel/worktrees"));
    if let Some(above) = above.filter(|_| is_ours) {
        // Fails, as it should, while another worktree is in it.
        let _ = fs::remove_dir(above);
    }
}
