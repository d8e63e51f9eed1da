//! Directories of the model disk: what is there now, and what a power loss may leave.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::disk::inode::InodeNumber;

pub(super) type Entries = BTreeMap<OsString, InodeNumber>;

/// A directory: what processes see, what is on disk, and the way from one to the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    entries: Entries,
    durable: Entries,
    unsynced: Vec<DirectoryChange>,
}

/// A change that reaches the disk whole or not at all.
#[derive(Clone, Debug)]
pub(super) enum DirectoryChange {
    Added { name: OsString, inode: InodeNumber },
    Removed { name: OsString, inode: InodeNumber },
    Renamed { from: OsString, to: OsString, inode: InodeNumber },
}

impl Directory {
    /// A directory as found after a boot.
    pub(super) fn durable(entries: Entries) -> Self {
        Self { durable: entries.clone(), entries, unsynced: Vec::new() }
    }

    pub(super) fn entries(&self) -> &Entries {
        &self.entries
    }

    pub(super) fn inode(&self, name: &OsStr) -> Option<InodeNumber> {
        self.entries.get(name).copied()
    }

    pub(super) fn change(&mut self, change: DirectoryChange) {
        change.apply(&mut self.entries);
        self.unsynced.push(change);
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.entries.clone();
        self.unsynced.clear();
    }

    /// What is on disk when of the unsynced changes those are kept that `is_kept` picks.
    pub(super) fn lose(&self, mut is_kept: impl FnMut() -> bool) -> Entries {
        let mut entries = self.durable.clone();
        for change in &self.unsynced {
            if is_kept() {
                change.apply(&mut entries);
            }
        }
        entries
    }
}

impl DirectoryChange {
    /// Applies the change to entries that may have missed earlier ones.
    fn apply(&self, entries: &mut Entries) {
        match self {
            Self::Added { name, inode } => {
                entries.insert(name.clone(), *inode);
            }
            Self::Removed { name, inode } => remove_if(entries, name, *inode),
            Self::Renamed { from, to, inode } => {
                remove_if(entries, from, *inode);
                entries.insert(to.clone(), *inode);
            }
        }
    }
}

fn remove_if(entries: &mut Entries, name: &OsStr, inode: InodeNumber) {
    if entries.get(name) == Some(&inode) {
        entries.remove(name);
    }
}
