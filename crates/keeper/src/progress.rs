//! How far keepers have read an agent's terminal: a few bytes of shared memory that outlive each of
//! them, so that a keeper knows whether the one before it died with bytes in its hands.
//!
//! What a terminal gave can't be read twice. A keeper says before it reads that it is about to, and
//! says once the bytes are safe how far it is; one that was killed in between leaves the first
//! word, and its successor marks a loss.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};

const LEN_BYTES: usize = 16;
const BUSY: u64 = 1;
const SETTLED: u64 = 2;

/// How a keeper left off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// No keeper has read anything.
    Fresh,
    /// Everything up to here is read and kept.
    At(u64),
    /// It may have read something that is nowhere.
    Unknown,
}

/// The memory.
#[derive(Debug)]
pub(crate) struct Progress {
    fd: OwnedFd,
}

impl Progress {
    /// Makes it, for a holder.
    pub(crate) fn create() -> io::Result<Self> {
        let fd = memfd_create("creel-progress", MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, LEN_BYTES as u64)?;
        Ok(Self { fd })
    }

    /// Takes the one of the holder, in a keeper.
    pub(crate) fn inherited(fd: OwnedFd) -> Self {
        Self { fd }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Says that bytes are about to be read.
    pub(crate) fn begin(&self) -> io::Result<()> {
        pwrite(&self.fd, &BUSY.to_ne_bytes(), 8)?;
        Ok(())
    }

    /// Says that everything up to `offset` is kept.
    pub(crate) fn settle(&self, offset: u64) -> io::Result<()> {
        let mut bytes = [0; LEN_BYTES];
        bytes[..8].copy_from_slice(&offset.to_ne_bytes());
        bytes[8..].copy_from_slice(&SETTLED.to_ne_bytes());
        pwrite(&self.fd, &bytes, 0)?;
        Ok(())
    }

    pub(crate) fn read(&self) -> io::Result<Left> {
        let mut bytes = [0; LEN_BYTES];
        let count = pread(&self.fd, &mut bytes, 0)?;
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(number)
        };
        Ok(match number(8) {
            _ if count < LEN_BYTES => Left::Unknown,
            0 => Left::Fresh,
            SETTLED => Left::At(number(0)),
            _ => Left::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_keeper_that_was_not_at_work_leaves_nothing_unknown() {
        let progress = Progress::create().expect("memory");
        let check = |expected| assert_eq!(progress.read().expect("reads"), expected);
        check(Left::Fresh);
        progress.begin().expect("writes");
        check(Left::Unknown);
        progress.settle(7).expect("writes");
        check(Left::At(7));
        progress.begin().expect("writes");
        check(Left::Unknown);
    }
}
