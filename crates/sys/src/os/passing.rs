//! Handing a descriptor to another process, over a socket that joins both.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Sends bytes and a descriptor with them, whole or not at all.
///
/// # Errors
/// When the other end doesn't take them at once.
pub fn send_with_fd(stream: &UnixStream, bytes: &[u8], fd: impl AsFd) -> io::Result<()> {
    let fds = [fd.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent = sendmsg(stream, &[IoSlice::new(bytes)], &mut ancillary, flags)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Reads a stream, and keeps the descriptors that come with its bytes.
#[derive(Debug)]
pub struct FdReader<'a> {
    stream: &'a UnixStream,
    /// Descriptors that came, close-on-exec.
    pub fds: Vec<OwnedFd>,
}

impl<'a> FdReader<'a> {
    /// Reads from `stream`.
    #[must_use]
    pub fn new(stream: &'a UnixStream) -> Self {
        Self { stream, fds: Vec::new() }
    }
}

impl Read for FdReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut buffers = [IoSliceMut::new(buffer)];
        let received = recvmsg(self.stream, &mut buffers, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.fds.extend(fds);
            }
        }
        Ok(received.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    #[test]
    fn a_descriptor_arrives_with_its_bytes_and_closes_on_exec() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"in the file").expect("writes");
        send_with_fd(&ours, b"a line\n", &file).expect("sends");
        (&ours).write_all(b"more").expect("sends");
        let mut reader = FdReader::new(&theirs);
        let mut bytes = [0; 64];
        let mut read = Vec::new();
        while read.len() < 11 {
            let count = reader.read(&mut bytes).expect("reads");
            read.extend_from_slice(&bytes[..count]);
        }
        assert_eq!(read, b"a line\nmore");
        let fd = reader.fds.pop().expect("a descriptor");
        let flags = rustix::io::fcntl_getfd(&fd).expect("flags");
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        let mut same = std::fs::File::from(fd);
        same.rewind().expect("seeks");
        let mut text = String::new();
        same.read_to_string(&mut text).expect("reads");
        assert_eq!(text, "in the file");
    }
}
