//! Device control strings: questions for settings and capabilities.

use crate::machine::Machine;
use crate::sgr::{self, append};
use crate::style::Look;

/// Capabilities that programs ask for by their terminfo names. Those without a value only are.
const CAPABILITIES: [(&str, &str); 10] = [
    ("TN", "xterm-256color"),
    ("name", "xterm-256color"),
    ("Co", "256"),
    ("colors", "256"),
    ("RGB", "8/8/8"),
    ("Tc", ""),
    ("Su", ""),
    ("Smulx", "\x1b[4:%p1%dm"),
    ("Ss", "\x1b[%p1%d q"),
    ("Se", "\x1b[0 q"),
];

impl Machine {
    pub(super) fn carry_out_string(&mut self, payload: &[u8]) {
        if let Some(names) = payload.strip_prefix(b"+q") {
            for name in names.split(|byte| *byte == b';') {
                self.answer_capability(name);
            }
        } else if let Some(setting) = payload.strip_prefix(b"$q") {
            self.answer_setting(setting);
        }
    }

    fn answer_capability(&mut self, hex: &[u8]) {
        let name = unhex(hex);
        let is_asked = |entry: &&(&str, &str)| name.as_deref() == Some(entry.0.as_bytes());
        let mut answer = Vec::from(b"\x1bP");
        match CAPABILITIES.iter().find(is_asked) {
            Some((name, value)) => {
                answer.extend_from_slice(b"1+r");
                append_hex(&mut answer, name);
                if !value.is_empty() {
                    answer.push(b'=');
                    append_hex(&mut answer, value);
                }
            }
            None => {
                answer.extend_from_slice(b"0+r");
                let name = name.and_then(|name| String::from_utf8(name).ok()).unwrap_or_default();
                append_hex(&mut answer, &name);
            }
        }
        answer.extend_from_slice(b"\x1b\\");
        self.reply(&answer);
    }

    fn answer_setting(&mut self, setting: &[u8]) {
        let mut value = Vec::new();
        match setting {
            b"m" => {
                sgr::write_parameters(&mut value, &Look::of(&self.screen.cursor.pen));
                value.push(b'm');
            }
            b"r" => {
                let margins = &self.screen.margins;
                append(&mut value, format_args!("{};{}r", margins.start + 1, margins.end));
            }
            b" q" => {
                append(&mut value, format_args!("{} q", self.screen.modes.cursor_style));
            }
            _ => return self.reply(b"\x1bP0$r\x1b\\"),
        }
        self.reply(&[b"\x1bP1$r", value.as_slice(), b"\x1b\\"].concat());
    }
}

fn unhex(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    hex.chunks(2).map(pair).collect()
}

fn append_hex(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        append(out, format_args!("{byte:02X}"));
    }
}
