//! Open files of the model disk.

use crate::disk::SECTOR_BYTES;

/// A file: what processes see, what is on disk, and the way from one to the other.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    content: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<FileChange>,
    is_read_only: bool,
    was_read_only: bool,
}

#[derive(Clone, Debug)]
enum FileChange {
    Written { offset: usize, bytes: Vec<u8> },
    Resized { len: usize },
}

/// What becomes of a piece of an unsynced change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Dropped,
    Zeroed,
}

impl File {
    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    pub(super) fn set_read_only(&mut self, read_only: bool) {
        self.is_read_only = read_only;
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        write(&mut self.content, offset, bytes);
        self.unsynced.push(FileChange::Written { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn resize(&mut self, len: usize) {
        self.content.resize(len, 0);
        self.unsynced.push(FileChange::Resized { len });
    }

    pub(super) fn sync(&mut self) {
        self.durable.clone_from(&self.content);
        self.unsynced.clear();
    }

    /// The file as found after a power loss in which the pieces of unsynced changes had the fates
    /// that `fate` picks.
    pub(super) fn lose(&self, mut fate: impl FnMut() -> Fate) -> Self {
        let mut content = self.durable.clone();
        for change in &self.unsynced {
            match change {
                FileChange::Written { offset, bytes } => {
                    for (at, piece) in sectors(*offset, bytes) {
                        match fate() {
                            Fate::Kept => write(&mut content, at, piece),
                            Fate::Dropped => {}
                            Fate::Zeroed => write(&mut content, at, &vec![0; piece.len()]),
                        }
                    }
                }
                FileChange::Resized { len } => {
                    if fate() == Fate::Kept {
                        content.resize(*len, 0);
                    }
                }
            }
        }
        let is_read_only = match fate() {
            Fate::Kept => self.is_read_only,
            Fate::Dropped | Fate::Zeroed => self.was_read_only,
        };
        Self {
            durable: content.clone(),
            content,
            unsynced: Vec::new(),
            is_read_only,
            was_read_only: is_read_only,
        }
    }
}

fn write(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// Cuts a write at the borders of sectors.
fn sectors(offset: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let sector = usize::try_from(SECTOR_BYTES).expect("512 fits any usize");
    let mut at = offset;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let size = rest.len().min(sector - at % sector);
        let (piece, after) = rest.split_at(size);
        let start = at;
        at += size;
        rest = after;
        (size > 0).then_some((start, piece))
    })
}
