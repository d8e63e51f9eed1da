//! What a power loss does to what was not synced.

use std::collections::BTreeMap;

use crate::disk::SplitMix;
use crate::disk::directory::Directory;
use crate::disk::file::Fate;
use crate::disk::inode::{Inode, Inodes, ROOT};

/// How the unsynced changes of one inode fare. Chance alone would hardly ever keep, or drop, all
/// of many pieces, yet those are the usual cases on a real disk.
#[derive(Clone, Copy, Debug)]
enum Luck {
    AllKept,
    AllDropped,
    Mixed,
}

impl Luck {
    fn draw(random: &mut SplitMix) -> Self {
        match random.below(4) {
            0 => Self::AllKept,
            1 => Self::AllDropped,
            _ => Self::Mixed,
        }
    }

    fn fate(self, random: &mut SplitMix) -> Fate {
        match self {
            Self::AllKept => Fate::Kept,
            Self::AllDropped => Fate::Dropped,
            Self::Mixed => match random.below(4) {
                0 => Fate::Dropped,
                1 => Fate::Zeroed,
                _ => Fate::Kept,
            },
        }
    }
}

/// Returns what is on the disk after a power loss: all that can be reached from the root.
pub(super) fn after(before: &Inodes, random: &mut SplitMix) -> Inodes {
    let mut found = BTreeMap::new();
    let mut open = vec![ROOT];
    while let Some(number) = open.pop() {
        if found.contains_key(&number) {
            continue;
        }
        let luck = Luck::draw(random);
        let inode = match before.get(number) {
            Some(Inode::Directory(directory)) => {
                let entries = directory.lose(|| luck.fate(random) == Fate::Kept);
                open.extend(entries.values());
                Inode::Directory(Directory::durable(entries))
            }
            Some(Inode::File(file)) => Inode::File(file.lose(|| luck.fate(random))),
            None => continue,
        };
        found.insert(number, inode);
    }
    Inodes::new(found, before.next_inode())
}
