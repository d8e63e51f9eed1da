//! An agent's output in whole sequences; and for viewers, without those that ask their terminal
//! something.
//!
//! The keeper answers what programs ask of their terminal. If the question reached a viewer's
//! terminal as well, its answer would come back as keys. A sequence is held back until it is whole,
//! also from the keeper's own screen, so that a redraw may stand before every piece that is let
//! through.

/// The longest sequence that is held back, in bytes. What is longer (an image, or garbage) is left
/// out.
const MAX_HELD_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    /// Inside of a character, with so many bytes to come.
    Character(u8),
    Escape,
    /// Behind an escape and an intermediate.
    Intermediate,
    Control,
    /// In a string (OSC, DCS, APC, PM, SOS).
    String,
    /// In a string, behind an escape.
    StringEscape,
    /// In a sequence that is left out.
    Skipped,
    SkippedEscape,
}

/// What was let through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// For the keeper's own screen.
    pub(crate) whole: Vec<u8>,
    /// For viewers.
    pub(crate) shown: Vec<u8>,
}

impl Passed {
    fn put(&mut self, bytes: &[u8]) {
        self.whole.extend_from_slice(bytes);
        self.shown.extend_from_slice(bytes);
    }
}

/// The filter.
#[derive(Debug)]
pub(crate) struct Sieve {
    state: State,
    held: Vec<u8>,
    /// Bytes that were taken in and belong to the sequence in the making.
    pending_bytes: u64,
}

impl Default for Sieve {
    fn default() -> Self {
        Self { state: State::Ground, held: Vec::new(), pending_bytes: 0 }
    }
}

impl Sieve {
    /// Returns how many of the last bytes that were taken in are held back.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.pending_bytes
    }

    /// Takes bytes in and returns what is whole by now.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Passed {
        let mut shown = Passed {
            whole: Vec::with_capacity(bytes.len()),
            shown: Vec::with_capacity(bytes.len()),
        };
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            if self.state == State::Ground {
                let plain = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
                if plain > 0 {
                    shown.put(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            rest = behind;
            self.pending_bytes += 1;
            self.step(byte, &mut shown);
        }
        shown
    }

    fn step(&mut self, byte: u8, shown: &mut Passed) {
        // What a control inside of a sequence cuts off means nothing to any terminal.
        if matches!(byte, 0x18 | 0x1a) && !matches!(self.state, State::Ground | State::Character(_))
        {
            return self.drop_held();
        }
        match self.state {
            State::Ground => self.begin(byte, shown),
            State::Character(left) => {
                if byte & 0xc0 != 0x80 {
                    self.let_through(shown);
                    self.pending_bytes = 1;
                    return self.begin_or_plain(byte, shown);
                }
                self.held.push(byte);
                match left {
                    1 => self.let_through(shown),
                    _ => self.state = State::Character(left - 1),
                }
            }
            State::Escape => {
                self.held.push(byte);
                self.state = match byte {
                    b'[' => State::Control,
                    b']' | b'P' | b'_' | b'^' | b'X' => State::String,
                    0x20..=0x2f => State::Intermediate,
                    0x1b => return self.restart(),
                    _ => return self.finish(shown),
                };
            }
            State::Intermediate | State::Control => {
                if byte == 0x1b {
                    return self.restart();
                }
                if self.held.len() >= MAX_HELD_BYTES {
                    return self.drop_held();
                }
                self.held.push(byte);
                let first_final = if self.state == State::Control { 0x40 } else { 0x30 };
                if (first_final..=0x7e).contains(&byte) {
                    self.finish(shown);
                }
            }
            State::String => self.string(byte, shown),
            State::StringEscape => {
                self.held.push(byte);
                match byte {
                    b'\\' => self.finish(shown),
                    // An escape that ends no string begins another sequence.
                    _ => {
                        self.restart();
                        self.pending_bytes = 2;
                        self.step_again(byte, shown);
                    }
                }
            }
            State::Skipped => match byte {
                0x07 => self.drop_held(),
                0x1b => self.state = State::SkippedEscape,
                _ => {}
            },
            State::SkippedEscape => match byte {
                b'\\' => self.drop_held(),
                _ => {
                    self.restart();
                    self.pending_bytes = 2;
                    self.step_again(byte, shown);
                }
            },
        }
    }

    /// Takes a byte whose pending count is right already.
    fn step_again(&mut self, byte: u8, shown: &mut Passed) {
        self.step(byte, shown);
    }

    fn begin_or_plain(&mut self, byte: u8, shown: &mut Passed) {
        if is_plain(byte) {
            shown.put(&[byte]);
            self.pending_bytes = 0;
        } else {
            self.begin(byte, shown);
        }
    }

    fn begin(&mut self, byte: u8, shown: &mut Passed) {
        self.held.push(byte);
        self.state = match byte {
            0x1b => State::Escape,
            0xc2..=0xdf => State::Character(1),
            0xe0..=0xef => State::Character(2),
            0xf0..=0xf4 => State::Character(3),
            // ENQ asks for an answerback.
            0x05 => {
                shown.whole.push(byte);
                return self.drop_held();
            }
            _ => return self.let_through(shown),
        };
    }

    fn string(&mut self, byte: u8, shown: &mut Passed) {
        if self.held.len() >= MAX_HELD_BYTES {
            self.held.clear();
            self.state = if byte == 0x1b { State::SkippedEscape } else { State::Skipped };
            if byte == 0x07 {
                self.drop_held();
            }
            return;
        }
        self.held.push(byte);
        match byte {
            0x07 if self.held.get(1) == Some(&b']') => self.finish(shown),
            0x1b => self.state = State::StringEscape,
            _ => {}
        }
    }

    fn finish(&mut self, shown: &mut Passed) {
        if is_question(&self.held) {
            shown.whole.extend_from_slice(&self.held);
            self.drop_held();
        } else {
            self.let_through(shown);
        }
    }

    fn let_through(&mut self, shown: &mut Passed) {
        shown.put(&self.held);
        self.held.clear();
        self.state = State::Ground;
        self.pending_bytes = 0;
    }

    fn drop_held(&mut self) {
        self.held.clear();
        self.state = State::Ground;
        self.pending_bytes = 0;
    }

    /// Begins a sequence with an escape; what was held before it means nothing.
    fn restart(&mut self) {
        self.held.clear();
        self.held.push(0x1b);
        self.state = State::Escape;
        self.pending_bytes = 1;
    }
}

fn is_plain(byte: u8) -> bool {
    !matches!(byte, 0x1b | 0x05 | 0x80..)
}

/// Tells whether a whole sequence asks its terminal for an answer, or commands its window.
fn is_question(sequence: &[u8]) -> bool {
    let Some((kind, body)) = sequence.get(1..).and_then(<[u8]>::split_first) else { return false };
    match kind {
        b'Z' => true,
        b'[' => is_control_question(body),
        b']' => body
            .strip_suffix(b"\x07")
            .or_else(|| body.strip_suffix(b"\x1b\\"))
            .is_some_and(|body| body.split(|byte| *byte == b';').any(|part| part == b"?")),
        b'P' => body.starts_with(b"$q") || body.starts_with(b"+q"),
        // Images, which no redraw has.
        b'_' => true,
        _ => false,
    }
}

fn is_control_question(body: &[u8]) -> bool {
    let Some((last, parameters)) = body.split_last() else { return false };
    let prefix = parameters.first().copied().filter(|byte| (b'<'..=b'?').contains(byte));
    let intermediate = parameters.last().copied().filter(|byte| (0x20..=0x2f).contains(byte));
    match (last, prefix, intermediate) {
        (b'c', _, None) => true,
        (b'n', prefix, None) => prefix != Some(b'>'),
        (b'p', _, Some(b'$')) => true,
        (b'q', Some(b'>'), None) => true,
        (b'u' | b'm' | b'S', Some(b'?'), None) => true,
        (b'w', None, Some(b'$')) => true,
        (b'x', None, None) => true,
        (b'y', _, Some(b'*')) => true,
        // The stack of titles belongs to the screen; the rest moves or measures the window.
        (b't', None, None) => !(parameters.starts_with(b"22") || parameters.starts_with(b"23")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes text whole and byte by byte; at every cut nothing that is shown is half a sequence.
    fn check(input: &str, expected: &str) {
        let shown = Sieve::default().pass(input.as_bytes()).shown;
        assert_eq!(String::from_utf8_lossy(&shown), expected);
        let mut sieve = Sieve::default();
        let mut pieces = Vec::new();
        let mut given = 0;
        for byte in input.as_bytes() {
            pieces.extend(sieve.pass(&[*byte]).shown);
            given += 1;
            assert!(sieve.pending_bytes() <= given);
            if !expected.contains('\u{1b}') {
                assert!(std::str::from_utf8(&pieces).is_ok(), "half a character in {input:?}");
            }
        }
        assert_eq!(String::from_utf8_lossy(&pieces), expected);
    }

    #[test]
    fn what_is_no_question_is_shown_as_it_is() {
        for text in [
            "plain\r\n\ttext",
            "\u{e4} \u{6f22} \u{1f469}\u{200d}\u{1f680}",
            "\x1b[1;31mred\x1b[0m",
            "\x1b]0;title\x07\x1b]8;;http://a/?b\x1b\\link\x1b]8;;\x1b\\",
            "\x1b[?1049h\x1b[>7u\x1b[=1;1u\x1b[>4;2m\x1b[22;0t",
            "\x1b(B\x1b7\x1b8\x1bM\x1b[!p\x1b[2 q",
            "\x1bPtmux;x\x1b\\",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn questions_are_left_out_wherever_they_stand() {
        for question in [
            "\x1b[c",
            "\x1b[0c",
            "\x1b[>c",
            "\x1b[=c",
            "\x1b[5n",
            "\x1b[6n",
            "\x1b[?996n",
            "\x1b[?2026$p",
            "\x1b[>0q",
            "\x1b[?u",
            "\x1b[14t",
            "\x1b[8;1;1t",
            "\x1b[x",
            "\x1bZ",
            "\x1b]10;?\x07",
            "\x1b]11;?\x1b\\",
            "\x1b]4;1;?\x07",
            "\x1b]7501;?\x1b\\",
            "\x1bP+q544e\x1b\\",
            "\x1bP$qm\x1b\\",
            "\x1b_Gi=1,a=q;AAAA\x1b\\",
            "\x05",
        ] {
            check(&format!("a{question}b"), "ab");
        }
    }

    #[test]
    fn what_is_cut_off_shows_nothing_of_itself() {
        check("a\x1b[31\x18b", "ab");
        check("a\x1b[31\x1b[32mb", "a\x1b[32mb");
        check("a\x1b]0;t\x1b[32mb", "a\x1b[32mb");
        check("a\x1b[3", "a");
        let image = format!("a\x1bPq{}\x1b\\b", "x".repeat(2 * MAX_HELD_BYTES));
        check(&image, "ab");
    }

    #[test]
    fn what_is_held_back_is_counted() {
        let mut sieve = Sieve::default();
        for (bytes, pending) in [(&b"ab\x1b[3"[..], 3), (b"1", 4), (b"m", 0), (b"\xe6\xbc", 2)] {
            sieve.pass(bytes);
            assert_eq!(sieve.pending_bytes(), pending, "{bytes:?}");
        }
        assert_eq!(sieve.pass(b"\xa2x").shown, "\u{6f22}x".as_bytes());
        let passed = sieve.pass(b"a\x1b[cb");
        assert_eq!((passed.whole, passed.shown), (b"a\x1b[cb".to_vec(), b"ab".to_vec()));
    }
}
