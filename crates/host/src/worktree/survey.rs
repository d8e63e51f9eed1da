//! What lies in a worktree that git doesn't tell of: other repositories, stores.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::surroundings::is_missing;

/// Entries that are looked at: a tree with more is not removed by us.
const MAX_ENTRIES: usize = 20_000_000;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Directories that hold a `.git`, the top left out.
    pub(crate) repositories: Vec<PathBuf>,
    /// Directories named `.orb`, or that hold a store's manifest.
    pub(crate) stores: Vec<PathBuf>,
}

impl Survey {
    /// Walks a tree; links are not followed, and git's own directories not entered.
    pub(crate) fn of(top: &Path) -> io::Result<Self> {
        let mut survey = Self::default();
        let mut open = vec![top.to_owned()];
        let mut count = 0_usize;
        while let Some(dir) = open.pop() {
            let entries = match fs::read_dir(&dir) {
                Ok(entries) => entries,
                Err(error) if is_missing(&error) => continue,
                Err(error) => return Err(error),
            };
            let mut holds_manifest = false;
            let mut holds_spaces = false;
            for entry in entries {
                let entry = entry?;
                count += 1;
                if count > MAX_ENTRIES {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                let name = entry.file_name();
                let is_dir = entry.file_type()?.is_dir();
                if name == ".git" {
                    if dir != top {
                        survey.repositories.push(dir.clone());
                    }
                    continue;
                }
                holds_manifest |= name == "manifest.json";
                holds_spaces |= name == "spaces" && is_dir;
                if is_dir {
                    if name == ".orb" {
                        survey.stores.push(entry.path());
                    }
                    open.push(entry.path());
                }
            }
            if holds_manifest && holds_spaces && !survey.stores.contains(&dir) {
                survey.stores.push(dir);
            }
        }
        survey.repositories.sort();
        survey.stores.sort();
        Ok(survey)
    }
}

/// Lists the files below a directory, as paths that begin with `prefix`; links are not followed.
pub(crate) fn files_below(tree: &Path, prefix: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![prefix.to_owned()];
    while let Some(dir) = open.pop() {
        let entries = match fs::read_dir(tree.join(&dir)) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                found.push(path);
            } else if entry.file_name() != ".git" {
                open.push(path);
            }
            if found.len() > MAX_ENTRIES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }
    found.sort();
    Ok(found)
}
