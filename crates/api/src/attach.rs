//! What a viewer of a run's terminal and its keeper say to each other, once the keeper has answered
//! the viewer's `attach` with `attached`: frames, both ways.
//!
//! A frame is the length of what follows in four bytes (big-endian), a kind in one byte, and the
//! kind's members. Numbers are big-endian. A frame of an unknown kind is passed over, members
//! behind the known ones are ignored.
//!
//! To the viewer: a [`ToViewer::Redraw`] makes any terminal show the agent's screen as it was at a
//! position of the agent's output; every [`ToViewer::Output`] behind it begins where the frame
//! before it ended. A viewer that can't keep up is given another redraw, never a gap.

use thiserror::Error;

use crate::plan::TerminalSize;

/// The version of the frames that this build speaks.
pub const ATTACH_VERSION: u32 = 1;

/// The longest frame in bytes behind its length. Longer texts are cut into several frames.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;

/// The most text in a frame of output or input, in bytes: what is left beside the other members.
pub const MAX_TEXT_BYTES: usize = MAX_FRAME_BYTES - 64;

const LENGTH_BYTES: usize = 4;

/// What a keeper sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToViewer {
    /// What to write so that a terminal shows the screen. The first frame of one says where it
    /// stands; those that follow it, up to the last, continue its bytes.
    Redraw {
        /// Position in the agent's output that the screen is of.
        offset: u64,
        /// The size of the agent's terminal.
        size: TerminalSize,
        /// Whether it is the first frame of a redraw.
        is_first: bool,
        /// Whether it is the last frame of a redraw.
        is_last: bool,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Output of the agent, without the questions to its terminal, which the keeper answers.
    Output {
        /// Position in the agent's output at which it begins.
        offset: u64,
        /// Position at which it ends.
        end: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The size of the agent's terminal changed.
    Size(TerminalSize),
    /// The agent has ended; nothing but the end of the connection follows.
    Exit {
        /// Its exit code, when it exited.
        code: Option<i32>,
        /// The signal that killed it, when one did.
        signal: Option<i32>,
    },
    /// Something for the person to read, in one line.
    Notice(String),
    /// How far an input is.
    Ack {
        /// The input's number.
        seq: u64,
        /// How far.
        stage: Stage,
    },
    /// The viewer was detached, and why; nothing follows.
    Detached(String),
    /// A frame of a newer keeper.
    Unknown(u8),
}

/// How far an input has come, each proven by what the keeper did or saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The keeper has it, and will write it.
    Accepted,
    /// All of it is written to the agent's terminal.
    Written,
    /// The agent's screen shows its text once more than before.
    Echoed,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 3] = [Self::Accepted, Self::Written, Self::Echoed];

    /// Returns its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Written => "written",
            Self::Echoed => "echoed",
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Accepted => 1,
            Self::Written => 2,
            Self::Echoed => 3,
        }
    }
}

/// What a viewer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromViewer {
    /// Keys for the agent.
    Input {
        /// A number of the viewer's own, which acknowledgements repeat.
        seq: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The viewer's terminal has this size now.
    Resize(TerminalSize),
    /// The viewer leaves.
    Detach,
    /// The viewer wants the screen anew.
    Redraw,
    /// A frame of a newer viewer.
    Unknown(u8),
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// It has no kind, or is over the bound.
    #[error("a frame of {len_bytes} bytes; from 1 to {MAX_FRAME_BYTES} are taken")]
    Length {
        /// The length it says it has.
        len_bytes: u32,
    },
    /// It ends before its members do, or one of them has a value that none can have.
    #[error("a frame of kind {kind} is not one")]
    Malformed {
        /// Its kind.
        kind: u8,
    },
}

/// Appends frames of one direction to a buffer.
pub trait Frame: Sized {
    /// Appends the frame. Text over [`MAX_TEXT_BYTES`] must have been cut before.
    fn encode(&self, to: &mut Vec<u8>);

    /// Reads a frame of a kind and its members.
    ///
    /// # Errors
    /// [`FrameError::Malformed`].
    fn decode(kind: u8, members: &[u8]) -> Result<Self, FrameError>;
}

/// Takes whole frames from the beginning of `buffer`; what is left is an unfinished one.
///
/// # Errors
/// When the bytes are no frames; the buffer is of no more use then.
pub fn take_frame<F: Frame>(buffer: &mut Vec<u8>) -> Result<Option<F>, FrameError> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let len_bytes = u32::from_be_bytes(*length);
    let len = usize::try_from(len_bytes).unwrap_or(usize::MAX);
    if len == 0 || len > MAX_FRAME_BYTES {
        return Err(FrameError::Length { len_bytes });
    }
    let Some(body) = buffer.get(LENGTH_BYTES..LENGTH_BYTES + len) else { return Ok(None) };
    let (kind, members) = body.split_first().ok_or(FrameError::Length { len_bytes })?;
    let frame = F::decode(*kind, members)?;
    buffer.drain(..LENGTH_BYTES + len);
    Ok(Some(frame))
}

impl Frame for ToViewer {
    fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Redraw { offset, size, is_first, is_last, bytes } => {
                let ends = u8::from(*is_first) | u8::from(*is_last) << 1;
                put(to, 1, &[&offset.to_be_bytes(), &size_bytes(*size), &[ends], bytes]);
            }
            Self::Output { offset, end, bytes } => {
                put(to, 2, &[&offset.to_be_bytes(), &end.to_be_bytes(), bytes]);
            }
            Self::Size(size) => put(to, 3, &[&size_bytes(*size)]),
            Self::Exit { code, signal } => put(to, 4, &[&maybe(*code), &maybe(*signal)]),
            Self::Notice(text) => put(to, 5, &[text.as_bytes()]),
            Self::Ack { seq, stage } => put(to, 6, &[&seq.to_be_bytes(), &[stage.number()]]),
            Self::Detached(text) => put(to, 7, &[text.as_bytes()]),
            Self::Unknown(kind) => put(to, *kind, &[]),
        }
    }

    fn decode(kind: u8, members: &[u8]) -> Result<Self, FrameError> {
        let mut from = Members { kind, rest: members };
        Ok(match kind {
            1 => {
                let (offset, size, ends) = (from.u64()?, from.size()?, from.u8()?);
                let (is_first, is_last) = (ends & 1 != 0, ends & 2 != 0);
                Self::Redraw { offset, size, is_first, is_last, bytes: from.rest.to_vec() }
            }
            2 => {
                let (offset, end) = (from.u64()?, from.u64()?);
                Self::Output { offset, end, bytes: from.rest.to_vec() }
            }
            3 => Self::Size(from.size()?),
            4 => Self::Exit { code: from.maybe()?, signal: from.maybe()? },
            5 => Self::Notice(from.text()?),
            6 => {
                let (seq, number) = (from.u64()?, from.u8()?);
                let stage = Stage::ALL.into_iter().find(|stage| stage.number() == number);
                Self::Ack { seq, stage: stage.ok_or(FrameError::Malformed { kind })? }
            }
            7 => Self::Detached(from.text()?),
            kind => Self::Unknown(kind),
        })
    }
}

impl Frame for FromViewer {
    fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Input { seq, bytes } => put(to, 1, &[&seq.to_be_bytes(), bytes]),
            Self::Resize(size) => put(to, 2, &[&size_bytes(*size)]),
            Self::Detach => put(to, 3, &[]),
            Self::Redraw => put(to, 4, &[]),
            Self::Unknown(kind) => put(to, *kind, &[]),
        }
    }

    fn decode(kind: u8, members: &[u8]) -> Result<Self, FrameError> {
        let mut from = Members { kind, rest: members };
        Ok(match kind {
            1 => Self::Input { seq: from.u64()?, bytes: from.rest.to_vec() },
            2 => Self::Resize(from.size()?),
            3 => Self::Detach,
            4 => Self::Redraw,
            kind => Self::Unknown(kind),
        })
    }
}

fn put(to: &mut Vec<u8>, kind: u8, members: &[&[u8]]) {
    let len: usize = 1 + members.iter().map(|member| member.len()).sum::<usize>();
    // A frame over the bound is refused by its reader, as it shall be.
    to.extend(u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
    to.push(kind);
    for member in members {
        to.extend_from_slice(member);
    }
}

fn size_bytes(size: TerminalSize) -> [u8; 4] {
    let ([a, b], [c, d]) = (size.columns.to_be_bytes(), size.lines.to_be_bytes());
    [a, b, c, d]
}

fn maybe(number: Option<i32>) -> Vec<u8> {
    let mut bytes = vec![u8::from(number.is_some())];
    bytes.extend(number.unwrap_or(0).to_be_bytes());
    bytes
}

struct Members<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl Members<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let malformed = FrameError::Malformed { kind: self.kind };
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, FrameError> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u64(&mut self) -> Result<u64, FrameError> {
        self.take().map(u64::from_be_bytes)
    }

    fn maybe(&mut self) -> Result<Option<i32>, FrameError> {
        let is_there = self.u8()? != 0;
        let number = self.take().map(i32::from_be_bytes)?;
        Ok(is_there.then_some(number))
    }

    fn size(&mut self) -> Result<TerminalSize, FrameError> {
        let columns = self.take().map(u16::from_be_bytes)?;
        let lines = self.take().map(u16::from_be_bytes)?;
        TerminalSize::checked(columns.into(), lines.into())
            .map_err(|_| FrameError::Malformed { kind: self.kind })
    }

    fn text(&mut self) -> Result<String, FrameError> {
        let text = std::str::from_utf8(self.rest);
        text.map(str::to_owned).map_err(|_| FrameError::Malformed { kind: self.kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes frames and reads them back byte by byte; returns the hex of them all.
    fn check<F: Frame + PartialEq + std::fmt::Debug>(frames: &[F]) -> String {
        let mut encoded = Vec::new();
        for frame in frames {
            frame.encode(&mut encoded);
        }
        let mut buffer = Vec::new();
        let mut read = Vec::new();
        for byte in &encoded {
            buffer.push(*byte);
            read.extend(take_frame::<F>(&mut buffer).expect("a frame"));
        }
        assert_eq!(read, frames);
        assert_eq!(buffer, b"");
        encoded.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    const SIZE: TerminalSize = TerminalSize { columns: 80, lines: 24 };

    #[test]
    fn frames_survive_their_bytes_however_they_arrive() {
        let (is_first, is_last) = (true, false);
        check(&[
            ToViewer::Redraw { offset: 7, size: SIZE, is_first, is_last, bytes: b"a".to_vec() },
            ToViewer::Output { offset: 7, end: 9, bytes: b"\x1b[0m".to_vec() },
            ToViewer::Size(SIZE),
            ToViewer::Exit { code: Some(-1), signal: None },
            ToViewer::Notice("n".to_owned()),
            ToViewer::Ack { seq: u64::MAX, stage: Stage::Echoed },
            ToViewer::Detached("d".to_owned()),
            ToViewer::Unknown(200),
        ]);
        check(&[
            FromViewer::Input { seq: 1, bytes: vec![0x1c; MAX_TEXT_BYTES] },
            FromViewer::Resize(SIZE),
            FromViewer::Detach,
            FromViewer::Redraw,
            FromViewer::Unknown(9),
        ]);
    }

    #[test]
    fn frames_keep_their_bytes() {
        assert_eq!(
            check(&[FromViewer::Input { seq: 1, bytes: b"hi".to_vec() }]),
            "0000000b0100000000000000016869"
        );
        assert_eq!(
            check(&[ToViewer::Output { offset: 1, end: 3, bytes: b"hi".to_vec() }]),
            "0000001302000000000000000100000000000000036869"
        );
    }

    fn refused(bytes: &[u8], expected: FrameError) {
        assert_eq!(take_frame::<FromViewer>(&mut bytes.to_vec()), Err(expected));
    }

    #[test]
    fn what_is_no_frame_is_an_error_and_no_wait() {
        refused(&[0; 4], FrameError::Length { len_bytes: 0 });
        refused(b"GET / HTTP", FrameError::Length { len_bytes: u32::from_be_bytes(*b"GET ") });
        refused(&[0, 0, 0, 2, 1, 0], FrameError::Malformed { kind: 1 });
        refused(&[0, 0, 0, 5, 2, 0, 0, 0, 0], FrameError::Malformed { kind: 2 });
    }
}
