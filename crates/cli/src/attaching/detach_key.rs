//! The key that detaches, in every form in which terminals send it.

const KEY: u8 = 0x1c;

/// The beginning and the end of pasted text, in which no key is pressed.
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// The longest key that is held back until it is whole, in bytes.
const MAX_HELD_BYTES: usize = 32;

/// Looks for the key in what a person types.
#[derive(Debug, Default)]
pub(super) struct DetachKey {
    held: Vec<u8>,
    is_pasting: bool,
}

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    /// What is the agent's.
    pub(super) keys: Vec<u8>,
    /// True when the key was pressed behind that.
    pub(super) is_detached: bool,
}

impl DetachKey {
    /// Takes in what was typed.
    pub(super) fn look(&mut self, bytes: &[u8]) -> Typed {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut typed = Typed::default();
        let mut rest = all.as_slice();
        while let Some((&first, behind)) = rest.split_first() {
            if rest.starts_with(PASTE_BEGINS) {
                self.is_pasting = true;
            } else if rest.starts_with(PASTE_ENDS) {
                self.is_pasting = false;
            }
            if !self.is_pasting {
                if first == KEY {
                    typed.is_detached = true;
                    return typed;
                }
                match sequence(rest) {
                    Sequence::Whole(key) if is_key(key) => {
                        typed.is_detached = true;
                        return typed;
                    }
                    // An escape alone is a key of its own, and waits for nothing.
                    Sequence::Unfinished if rest.len() > 2 && rest.len() < MAX_HELD_BYTES => {
                        self.held = rest.to_vec();
                        return typed;
                    }
                    _ => {}
                }
            }
            typed.keys.push(first);
            rest = behind;
        }
        typed
    }
}

enum Sequence<'a> {
    None,
    Unfinished,
    Whole(&'a [u8]),
}

fn sequence(bytes: &[u8]) -> Sequence<'_> {
    let Some(body) = bytes.strip_prefix(b"\x1b[") else { return Sequence::None };
    match body.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':')) {
        Some(end) => Sequence::Whole(&body[..=end]),
        None => Sequence::Unfinished,
    }
}

/// Tells whether a sequence is Ctrl and the key of a backslash, pressed or repeated.
fn is_key(sequence: &[u8]) -> bool {
    let Some((last, parameters)) = sequence.split_last() else { return false };
    let Ok(parameters) = std::str::from_utf8(parameters) else { return false };
    let mut parts = parameters.split(';');
    let number = |part: Option<&str>| part.and_then(|part| part.split(':').next()?.parse().ok());
    let (code, modifiers): (Option<u32>, Option<&str>) = match last {
        // The kitty keyboard protocol: code:shifted:base ; modifiers:event ; text.
        b'u' => (number(parts.next()), parts.next()),
        // xterm's modifyOtherKeys: 27 ; modifiers ; code.
        b'~' if number(parts.next()) == Some(27) => {
            let modifiers = parts.next();
            (number(parts.next()), modifiers)
        }
        _ => return false,
    };
    let Some(bits) = number(modifiers).map(|modifiers: u32| modifiers.saturating_sub(1)) else {
        return false;
    };
    let event = modifiers.and_then(|modifiers| modifiers.split(':').nth(1));
    // Locks don't count; a release follows a press that did.
    let is_ctrl = bits & 0b0011_1111 == 0b0000_0100;
    code == Some(u32::from(b'\\')) && is_ctrl && event != Some("3")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types pieces and returns what the agent gets, and whether the viewer is detached.
    fn check(pieces: &[&str], keys: &str, is_detached: bool) {
        let mut key = DetachKey::default();
        let mut all = Typed::default();
        for piece in pieces {
            let typed = key.look(piece.as_bytes());
            all.keys.extend(typed.keys);
            all.is_detached |= typed.is_detached;
        }
        assert_eq!(String::from_utf8_lossy(&all.keys), keys, "{pieces:?}");
        assert_eq!(all.is_detached, is_detached, "{pieces:?}");
    }

    #[test]
    fn the_key_detaches_in_every_form() {
        for form in [
            "\x1c",
            "\x1b[92;5u",
            "\x1b[92;5:1u",
            "\x1b[92:124;69u",
            "\x1b[27;5;92~",
            "\x1b[92;5:2u",
        ] {
            check(&[&format!("ab{form}cd")], "ab", true);
        }
        check(&["a\x1b[92", ";5u"], "a", true);
        check(&["a\x1b[9", "2;5", "u"], "a", true);
    }

    #[test]
    fn everything_else_is_the_agents_at_once() {
        for text in [
            "\x1b",
            "\x1b[",
            "\\",
            "\x1b[92;6u",
            "\x1b[92;5:3u",
            "\x1b[93;5u",
            "\x1b[92u",
            "\x1b[1;5A",
            "\x1b[27;6;92~",
            "\x1b[A",
            "\x1bOP",
            "\u{e4}\u{6f22}",
        ] {
            check(&[text], text, false);
        }
        check(&["\x1b[1", "B"], "\x1b[1B", false);
    }

    #[test]
    fn pasted_text_presses_no_key() {
        check(&["\x1b[200~a\x1cb\x1b[201~"], "\x1b[200~a\x1cb\x1b[201~", false);
        check(&["\x1b[200~a\x1c", "b\x1b[201~\x1c"], "\x1b[200~a\x1cb\x1b[201~", true);
    }
}
