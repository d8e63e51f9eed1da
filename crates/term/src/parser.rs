//! The state machine that finds characters, controls and sequences in a stream of bytes.
//!
//! It follows the well-known state diagram for DEC terminals with UTF-8 text: 7-bit controls only,
//! an operating system command ends with BEL, and any string ends with ESC, whatever follows. It
//! keeps the bytes of a sequence that is not complete, so that a redraw can hand them on.
//!
//! Invariants:
//! - The same calls are made for the same stream, however it is cut into chunks; only characters
//!   may come in more or fewer pieces.
//! - Nothing that is kept grows beyond [`MAX_STRING_BYTES`].

use crate::csi::Csi;

/// Longest operating system command, device control string or application command that is read.
/// Longer ones are dropped whole; what agents send (titles, status, clipboard) is far below.
pub const MAX_STRING_BYTES: usize = 64 * 1024;

/// Longest control sequence that is read. Thirty-two parameters of five digits fit.
const MAX_CSI_BYTES: usize = 256;

/// A buffer larger than this is given back after its string: most strings are short.
const KEEP_CAPACITY_BYTES: usize = 4096;

/// How a command was ended; answers end the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminator {
    Bell,
    StringTerminator,
}

impl Terminator {
    pub(crate) fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Bell => b"\x07",
            Self::StringTerminator => b"\x1b\\",
        }
    }
}

/// What the parser finds.
pub(crate) trait Sink {
    /// Tells how many bytes of the stream were consumed; called before everything but `print`.
    fn reached(&mut self, offset_bytes: u64);
    fn print(&mut self, text: &str);
    fn control(&mut self, byte: u8);
    fn escape(&mut self, intermediate: u8, last: u8);
    fn csi(&mut self, csi: &Csi);
    fn osc(&mut self, payload: &[u8], terminator: Terminator);
    fn dcs(&mut self, payload: &[u8]);
    fn apc(&mut self, payload: &[u8]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    EscapeIntermediate,
    CsiParam,
    CsiIntermediate,
    CsiIgnore,
    Osc,
    Dcs,
    Apc,
    /// A string whose content means nothing, or that became too long. Only a command can be ended
    /// by BEL.
    OscIgnore,
    StringIgnore,
}

/// The parser.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    state: State,
    /// The bytes of the sequence so far, without controls that took effect inside it.
    pending: Vec<u8>,
    offset_bytes: u64,
}

impl Parser {
    pub(crate) fn new() -> Self {
        Self { state: State::Ground, pending: Vec::new(), offset_bytes: 0 }
    }

    /// Returns how many bytes were fed.
    pub(crate) fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Returns bytes that bring another parser into this state.
    pub(crate) fn pending(&self) -> &[u8] {
        match self.state {
            State::CsiIgnore => b"\x1b[0<",
            // No command starts with a letter, so that whatever follows is unknown, and ignored.
            State::OscIgnore => b"\x1b]x",
            State::StringIgnore => b"\x1b^",
            _ => &self.pending,
        }
    }

    /// Returns the bytes that the parser keeps, for the accounts.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pending.capacity()
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn feed<S: Sink>(&mut self, sink: &mut S, bytes: &[u8]) {
        let start = self.offset_bytes;
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            self.offset_bytes = start + at as u64;
            at += match self.state {
                State::Ground => self.ground(sink, rest),
                State::Osc | State::Dcs | State::Apc | State::OscIgnore | State::StringIgnore => {
                    self.string(sink, rest)
                }
                _ => {
                    self.sequence(sink, rest[0]);
                    1
                }
            };
        }
        self.offset_bytes = start + bytes.len() as u64;
    }

    /// Takes text and a control from the start of `bytes`; returns how many bytes it took.
    fn ground<S: Sink>(&mut self, sink: &mut S, bytes: &[u8]) -> usize {
        let first = bytes[0];
        if self.pending.is_empty() && (first < 0x20 || first == 0x7f) {
            return self.ground_control(sink, bytes);
        }
        let (len, is_ascii) = text_len(bytes);
        if self.pending.is_empty() && is_ascii {
            sink.print(ascii(&bytes[..len]));
            return len;
        }
        if !self.pending.is_empty() {
            return self.cut_character(sink, &bytes[..len]);
        }
        self.characters(sink, &bytes[..len], len < bytes.len())
    }

    fn ground_control<S: Sink>(&mut self, sink: &mut S, bytes: &[u8]) -> usize {
        if bytes[0] != 0x1b {
            sink.reached(self.offset_bytes + 1);
            sink.control(bytes[0]);
            return 1;
        }
        // Nearly every sequence is whole in its chunk: no byte of it needs to be kept.
        if bytes.get(1) == Some(&b'[') {
            let body = &bytes[2..];
            let len = body.iter().take(MAX_CSI_BYTES - 2).take_while(|b| (0x20..0x40).contains(*b));
            let len = len.count();
            if let Some(last) = body.get(len).filter(|byte| (0x40..0x7f).contains(*byte))
                && is_plain(&body[..len])
            {
                debug_assert!(*last >= 0x40);
                sink.reached(self.offset_bytes + 3 + len as u64);
                if let Some(csi) = Csi::parse(&body[..=len]) {
                    sink.csi(&csi);
                }
                return 3 + len;
            }
        }
        self.state = State::Escape;
        self.pending.push(0x1b);
        1
    }

    /// Takes characters that are not all ASCII.
    fn characters<S: Sink>(&mut self, sink: &mut S, text: &[u8], is_cut: bool) -> usize {
        let mut at = 0;
        while at < text.len() {
            let error = match std::str::from_utf8(&text[at..]) {
                Ok(valid) => {
                    sink.print(valid);
                    return text.len();
                }
                Err(error) => error,
            };
            let valid_until = at + error.valid_up_to();
            sink.print(std::str::from_utf8(&text[at..valid_until]).unwrap_or_default());
            match error.error_len() {
                Some(len) => {
                    // A stray byte in the range of 8-bit controls is one, and we know none.
                    if !(len == 1 && text[valid_until] <= 0x9f) {
                        sink.print("\u{fffd}");
                    }
                    at = valid_until + len;
                }
                None if is_cut => {
                    sink.print("\u{fffd}");
                    return text.len();
                }
                None => {
                    self.pending.extend_from_slice(&text[valid_until..]);
                    return text.len();
                }
            }
        }
        text.len()
    }

    /// Completes a character that began in an earlier chunk. `text` may be empty: then a control
    /// follows, and the character stays cut.
    fn cut_character<S: Sink>(&mut self, sink: &mut S, text: &[u8]) -> usize {
        let had = self.pending.len();
        let Some(next) = text.first() else {
            self.pending.clear();
            sink.print("\u{fffd}");
            return 0;
        };
        self.pending.push(*next);
        match std::str::from_utf8(&self.pending) {
            Ok(character) => sink.print(character),
            Err(error) => match error.error_len() {
                None => return 1,
                Some(_) => {
                    // The new byte does not belong to the character: it is read again.
                    debug_assert!(had < self.pending.len());
                    self.pending.clear();
                    sink.print("\u{fffd}");
                    return 0;
                }
            },
        }
        self.pending.clear();
        1
    }

    /// Takes one byte of an escape or control sequence.
    fn sequence<S: Sink>(&mut self, sink: &mut S, byte: u8) {
        match byte {
            0x1b => self.begin(),
            0x18 | 0x1a => {
                self.end();
                sink.reached(self.offset_bytes + 1);
                sink.control(byte);
            }
            0x00..=0x1f => {
                sink.reached(self.offset_bytes + 1);
                sink.control(byte);
            }
            0x7f.. => (),
            _ => self.sequence_byte(sink, byte),
        }
    }

    fn sequence_byte<S: Sink>(&mut self, sink: &mut S, byte: u8) {
        self.pending.push(byte);
        self.state = match (self.state, byte) {
            (State::Escape, b'[') => State::CsiParam,
            (State::Escape, b']') => State::Osc,
            (State::Escape, b'P') => State::Dcs,
            (State::Escape, b'_') => State::Apc,
            (State::Escape, b'X' | b'^') => State::StringIgnore,
            (State::Escape | State::EscapeIntermediate, 0x20..=0x2f) => State::EscapeIntermediate,
            (State::Escape | State::EscapeIntermediate, _) => return self.escape(sink, byte),
            (State::CsiParam | State::CsiIntermediate, 0x40..) => return self.csi(sink),
            (State::CsiParam, 0x3c..=0x3f) if self.pending.len() > 3 => State::CsiIgnore,
            (State::CsiParam, 0x30..=0x3f) => State::CsiParam,
            (State::CsiParam | State::CsiIntermediate, 0x20..=0x2f) => State::CsiIntermediate,
            (State::CsiIgnore, 0x40..) => return self.end(),
            _ => State::CsiIgnore,
        };
        let is_sequence = !matches!(self.state, State::Osc | State::Dcs | State::Apc);
        if is_sequence && self.pending.len() > MAX_CSI_BYTES {
            self.state = State::CsiIgnore;
        }
        if self.state == State::CsiIgnore {
            self.pending.clear();
        }
    }

    fn escape<S: Sink>(&mut self, sink: &mut S, last: u8) {
        let intermediate = match self.pending.as_slice() {
            [_, _] => Some(0),
            [_, one, _] => Some(*one),
            _ => None,
        };
        self.end();
        sink.reached(self.offset_bytes + 1);
        if let Some(intermediate) = intermediate {
            sink.escape(intermediate, last);
        }
    }

    fn csi<S: Sink>(&mut self, sink: &mut S) {
        let csi = Csi::parse(&self.pending[2..]);
        self.end();
        sink.reached(self.offset_bytes + 1);
        if let Some(csi) = csi {
            sink.csi(&csi);
        }
    }

    /// Takes bytes of a string; returns how many.
    fn string<S: Sink>(&mut self, sink: &mut S, bytes: &[u8]) -> usize {
        let is_command = matches!(self.state, State::Osc | State::OscIgnore);
        let is_content = |byte: &u8| !matches!(byte, 0x18 | 0x1a | 0x1b | 0x07);
        // In pieces, so that the limit is noticed before much is kept.
        let len = bytes.iter().take(4096).take_while(|byte| is_content(byte)).count();
        let content = &bytes[..len];
        if len > 0 {
            self.keep(content);
            return len;
        }
        match bytes[0] {
            0x07 if !is_command => self.keep(b"\x07"),
            0x18 | 0x1a => self.end(),
            byte => {
                sink.reached(self.offset_bytes + 1);
                self.string_ended(sink, byte);
            }
        }
        1
    }

    /// Adds to a string what it may hold: a command has no controls in it.
    fn keep(&mut self, content: &[u8]) {
        match self.state {
            State::OscIgnore | State::StringIgnore => return,
            State::Osc => {
                self.pending.extend(content.iter().filter(|byte| **byte >= 0x20));
            }
            _ => self.pending.extend_from_slice(content),
        }
        if self.pending.len() > MAX_STRING_BYTES + 2 {
            let is_command = self.state == State::Osc;
            self.state = if is_command { State::OscIgnore } else { State::StringIgnore };
            self.pending = Vec::new();
        }
    }

    fn string_ended<S: Sink>(&mut self, sink: &mut S, byte: u8) {
        let state = self.state;
        let string = std::mem::take(&mut self.pending);
        self.state = State::Ground;
        let payload = string.get(2..).unwrap_or_default();
        let terminator = if byte == 0x07 { Terminator::Bell } else { Terminator::StringTerminator };
        match state {
            State::Osc => sink.osc(payload, terminator),
            State::Dcs => sink.dcs(payload),
            State::Apc => sink.apc(payload),
            _ => (),
        }
        self.pending = string;
        if byte == 0x1b {
            self.begin();
        } else {
            self.end();
        }
    }

    fn begin(&mut self) {
        self.end();
        self.state = State::Escape;
        self.pending.push(0x1b);
    }

    fn end(&mut self) {
        self.state = State::Ground;
        self.pending.clear();
        if self.pending.capacity() > KEEP_CAPACITY_BYTES {
            self.pending = Vec::new();
        }
    }
}

/// Tells whether the bytes between introducer and last byte are in order: a marker only in front,
/// and no parameter after an intermediate.
fn is_plain(body: &[u8]) -> bool {
    let rest = match body.first() {
        Some(0x3c..=0x3f) => &body[1..],
        _ => body,
    };
    let params = rest.iter().take_while(|byte| (0x30..0x3c).contains(*byte)).count();
    rest[params..].iter().all(|byte| *byte < 0x30)
}

/// Returns how many bytes from the start are no controls, and whether all of those are ASCII.
fn text_len(bytes: &[u8]) -> (usize, bool) {
    let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
    let mut all = 0_u8;
    let mut len = 0;
    // Sixteen at once: the compiler makes a few instructions of it.
    for block in bytes.chunks_exact(16) {
        let (has_control, any) = block
            .iter()
            .fold((false, 0_u8), |(has, any), byte| (has | is_control(*byte), any | *byte));
        if has_control {
            break;
        }
        all |= any;
        len += block.len();
    }
    for byte in &bytes[len..] {
        if is_control(*byte) {
            break;
        }
        all |= byte;
        len += 1;
    }
    (len, all < 0x80)
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
