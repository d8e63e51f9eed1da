//! Files of the model disk: written bytes, durable bytes, and the writes between.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use creel_sys::fs::{FileId, LockMode, OpenHow, Stat};

use crate::disk::directory::{Directory, DirectoryChange};
use crate::disk::file::File;
use crate::disk::path::{names, parent_and_name};

pub(super) type InodeNumber = u64;
pub(super) type HandleNumber = u64;

pub(super) const ROOT: InodeNumber = 2;

#[derive(Clone, Debug)]
pub(super) enum Inode {
    Directory(Directory),
    File(File),
}

/// All inodes of a disk and the locks on them.
#[derive(Clone, Debug)]
pub(super) struct Inodes {
    inodes: BTreeMap<InodeNumber, Inode>,
    next_inode: InodeNumber,
    next_handle: HandleNumber,
    locks: BTreeMap<InodeNumber, BTreeMap<HandleNumber, LockMode>>,
}

impl Default for Inodes {
    fn default() -> Self {
        Self::new(BTreeMap::from([(ROOT, Inode::Directory(Directory::default()))]), ROOT + 1)
    }
}

impl Inodes {
    pub(super) fn new(inodes: BTreeMap<InodeNumber, Inode>, next_inode: InodeNumber) -> Self {
        Self { inodes, next_inode, next_handle: 1, locks: BTreeMap::new() }
    }

    pub(super) fn get(&self, inode: InodeNumber) -> Option<&Inode> {
        self.inodes.get(&inode)
    }

    pub(super) fn next_inode(&self) -> InodeNumber {
        self.next_inode
    }

    pub(super) fn next_handle(&mut self) -> HandleNumber {
        self.next_handle += 1;
        self.next_handle
    }

    pub(super) fn find(&self, path: &Path) -> io::Result<InodeNumber> {
        self.walk(&names(path)?)
    }

    pub(super) fn open(&mut self, path: &Path, how: OpenHow) -> io::Result<InodeNumber> {
        match (self.find(path), how) {
            (Ok(_), OpenHow::CreateNew) => Err(io::ErrorKind::AlreadyExists.into()),
            (Ok(inode), OpenHow::Read) => Ok(inode),
            (Ok(inode), _) if self.file(inode)?.is_read_only() => {
                Err(io::ErrorKind::PermissionDenied.into())
            }
            (Ok(inode), _) => Ok(inode),
            (Err(error), OpenHow::Read | OpenHow::ReadWrite) => Err(error),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => Err(error),
            (Err(_), _) => {
                let (parent, name) = parent_and_name(path)?;
                let parent = self.walk(&parent)?;
                self.add(parent, name, Inode::File(File::default()))
            }
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (parent, from) = parent_and_name(from)?;
        let (other_parent, to) = parent_and_name(to)?;
        if parent != other_parent {
            let message = "the model renames within one directory only";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let parent = self.walk(&parent)?;
        let directory = self.directory(parent)?;
        let inode = directory.inode(from).ok_or(io::ErrorKind::NotFound)?;
        if let Some(replaced) = directory.inode(to) {
            self.file(replaced)?;
            if replaced == inode {
                return Ok(());
            }
        }
        let (from, to) = (from.to_owned(), to.to_owned());
        self.change(parent, DirectoryChange::Renamed { from, to, inode })
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let inode = self.find(path)?;
        self.file(inode)?;
        let (parent, name) = parent_and_name(path)?;
        let parent = self.walk(&parent)?;
        self.change(parent, DirectoryChange::Removed { name: name.to_owned(), inode })
    }

    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let mut at = ROOT;
        for name in names(path)? {
            at = match self.directory(at)?.inode(name) {
                Some(inode) => inode,
                None => self.add(at, name, Inode::Directory(Directory::default()))?,
            };
        }
        self.directory(at).map(|_| ())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let inode = self.find(path)?;
        self.directory_mut(inode)?.sync();
        Ok(())
    }

    pub(super) fn read_dir(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let inode = self.find(path)?;
        Ok(self.directory(inode)?.entries().keys().cloned().collect())
    }

    pub(super) fn stat(&self, inode: InodeNumber) -> Stat {
        let file_id = FileId { device: 1, inode };
        match self.inodes.get(&inode) {
            Some(Inode::File(file)) => Stat {
                len_bytes: file.content().len() as u64,
                file_id,
                is_dir: false,
                is_file: true,
                is_read_only: file.is_read_only(),
            },
            _ => Stat { len_bytes: 0, file_id, is_dir: true, is_file: false, is_read_only: false },
        }
    }

    pub(super) fn file(&self, inode: InodeNumber) -> io::Result<&File> {
        match self.inodes.get(&inode) {
            Some(Inode::File(file)) => Ok(file),
            Some(Inode::Directory(_)) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn file_mut(&mut self, inode: InodeNumber) -> io::Result<&mut File> {
        match self.inodes.get_mut(&inode) {
            Some(Inode::File(file)) => Ok(file),
            Some(Inode::Directory(_)) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Takes a lock as `flock` does: one in the other mode is given up first, also when the new
    /// one can't be had.
    pub(super) fn try_lock(
        &mut self,
        inode: InodeNumber,
        handle: HandleNumber,
        mode: LockMode,
    ) -> bool {
        let locks = self.locks.entry(inode).or_default();
        locks.remove(&handle);
        let is_free = match mode {
            LockMode::Shared => locks.values().all(|held| *held == LockMode::Shared),
            LockMode::Exclusive => locks.is_empty(),
        };
        if is_free {
            locks.insert(handle, mode);
        }
        is_free
    }

    pub(super) fn unlock(&mut self, inode: InodeNumber, handle: HandleNumber) {
        if let Some(locks) = self.locks.get_mut(&inode) {
            locks.remove(&handle);
        }
    }

    pub(super) fn unlock_all(&mut self) {
        self.locks.clear();
    }

    pub(super) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, inode)) = open.pop() {
            match self.inodes.get(&inode) {
                Some(Inode::File(file)) => {
                    files.insert(path, file.content().to_vec());
                }
                Some(Inode::Directory(directory)) => open.extend(
                    directory.entries().iter().map(|(name, inode)| (path.join(name), *inode)),
                ),
                None => {}
            }
        }
        files
    }

    fn walk(&self, names: &[&OsStr]) -> io::Result<InodeNumber> {
        names.iter().try_fold(ROOT, |at, name| {
            self.directory(at)?.inode(name).ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }

    fn add(
        &mut self,
        parent: InodeNumber,
        name: &OsStr,
        content: Inode,
    ) -> io::Result<InodeNumber> {
        let inode = self.next_inode;
        self.change(parent, DirectoryChange::Added { name: name.to_owned(), inode })?;
        self.next_inode += 1;
        self.inodes.insert(inode, content);
        Ok(inode)
    }

    fn change(&mut self, parent: InodeNumber, change: DirectoryChange) -> io::Result<()> {
        self.directory_mut(parent)?.change(change);
        Ok(())
    }

    fn directory(&self, inode: InodeNumber) -> io::Result<&Directory> {
        match self.inodes.get(&inode) {
            Some(Inode::Directory(directory)) => Ok(directory),
            Some(Inode::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn directory_mut(&mut self, inode: InodeNumber) -> io::Result<&mut Directory> {
        match self.inodes.get_mut(&inode) {
            Some(Inode::Directory(directory)) => Ok(directory),
            Some(Inode::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}
