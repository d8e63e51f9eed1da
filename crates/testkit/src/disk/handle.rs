//! Open file descriptions, and the locks they hold.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use creel_sys::fs::{FsFile, LockMode, OpenHow, Stat};

use crate::disk::inode::{HandleNumber, InodeNumber, Inodes};
use crate::disk::lock;

/// `EBADF`: the file isn't open for that.
const EBADF: i32 = 9;
/// `EFBIG`: the offset is beyond what memory can hold.
const EFBIG: i32 = 27;

/// An open file; goes on working when its name is gone, until it is dropped.
#[derive(Debug)]
pub(super) struct DiskFile {
    inodes: Arc<Mutex<Inodes>>,
    handle: HandleNumber,
    inode: InodeNumber,
    how: OpenHow,
}

impl DiskFile {
    pub(super) fn new(
        inodes: Arc<Mutex<Inodes>>,
        handle: HandleNumber,
        (inode, how): (InodeNumber, OpenHow),
    ) -> Self {
        Self { inodes, handle, inode, how }
    }

    fn check_writable(&self) -> io::Result<()> {
        match self.how {
            OpenHow::Read => Err(io::Error::from_raw_os_error(EBADF)),
            _ => Ok(()),
        }
    }
}

impl FsFile for DiskFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let inodes = lock(&self.inodes);
        let content = inodes.file(self.inode)?.content();
        let rest = usize::try_from(offset).ok().and_then(|offset| content.get(offset..));
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.check_writable()?;
        let mut inodes = lock(&self.inodes);
        let file = inodes.file_mut(self.inode)?;
        let offset =
            if self.how == OpenHow::Append { file.content().len() } else { to_len(offset)? };
        file.write(offset, buf);
        Ok(buf.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        lock(&self.inodes).file_mut(self.inode)?.sync();
        Ok(())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        let len = to_len(len_bytes)?;
        lock(&self.inodes).file_mut(self.inode)?.resize(len);
        Ok(())
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(lock(&self.inodes).stat(self.inode))
    }

    fn set_read_only(&self, read_only: bool) -> io::Result<()> {
        lock(&self.inodes).file_mut(self.inode)?.set_read_only(read_only);
        Ok(())
    }

    fn try_lock(&self, mode: LockMode) -> io::Result<bool> {
        Ok(lock(&self.inodes).try_lock(self.inode, self.handle, mode))
    }

    /// Time stands still in the model: what isn't free now doesn't become so.
    fn lock(&self, mode: LockMode, _deadline: Duration) -> io::Result<bool> {
        self.try_lock(mode)
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        lock(&self.inodes).unlock(self.inode, self.handle);
    }
}

/// More than a model in memory should hold is refused, as a file system refuses what is too big.
fn to_len(len_bytes: u64) -> io::Result<usize> {
    const MAX_FILE_BYTES: u64 = 1 << 30;
    match usize::try_from(len_bytes) {
        Ok(len) if len_bytes <= MAX_FILE_BYTES => Ok(len),
        _ => Err(io::Error::from_raw_os_error(EFBIG)),
    }
}
