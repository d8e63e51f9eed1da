//! Lines from a socket that is polled beside others.

use std::io::{ErrorKind, Read};

/// What came of reading what was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// The peer may say more.
    Open,
    /// The peer is gone, or sent a line over the bound.
    Closed,
}

/// Collects bytes to lines of bounded length.
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    max_bytes: usize,
}

impl Lines {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { buffer: Vec::new(), max_bytes }
    }

    /// Reads what is there from a stream that doesn't block, and hands each whole line to `take`.
    ///
    /// At most a few buffers are read, so that one busy peer does not keep the others waiting.
    pub(crate) fn fill(&mut self, stream: &mut impl Read, mut take: impl FnMut(&[u8])) -> Filled {
        const READS: usize = 16;
        for _ in 0..READS {
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk) {
                Ok(0) => return Filled::Closed,
                Ok(count) => {
                    self.buffer.extend_from_slice(&chunk[..count]);
                    while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                        take(&self.buffer[..end]);
                        self.buffer.drain(..=end);
                    }
                    if self.buffer.len() > self.max_bytes {
                        return Filled::Closed;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Filled::Open,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Filled::Closed,
            }
        }
        Filled::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], expected: &[&str], filled: Filled) {
        let mut lines = Lines::new(8);
        let mut taken = Vec::new();
        let mut input = input;
        let got = lines.fill(&mut input, |line| {
            taken.push(String::from_utf8_lossy(line).into_owned());
        });
        assert_eq!((taken, got), (expected.iter().map(ToString::to_string).collect(), filled));
    }

    #[test]
    fn lines_come_whole_and_within_their_bound() {
        check(b"a\nbc\nd", &["a", "bc"], Filled::Closed);
        check(b"", &[], Filled::Closed);
        check(b"123456789", &[], Filled::Closed);
        check(b"\n\n", &["", ""], Filled::Closed);
    }
}
