//! Text of sessions on a person's terminal: it was written by agents, and may hold anything.

use std::fmt::Write as _;

/// Returns `text` as one line of at most `max_chars` characters: control characters, and those
/// that turn or hide text, are spelt out, so that nothing in it commands the terminal.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max_chars) + 8);
    for (count, c) in text.chars().enumerate() {
        if count == max_chars {
            out.push('…');
            break;
        }
        push(&mut out, c);
    }
    out
}

/// Returns `text` with its lines kept and everything else made harmless as [`line`] does.
pub(crate) fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || c == '\t' { out.push(c) } else { push(&mut out, c) }
    }
    out
}

/// Returns JSON with the same meaning in which nothing commands the terminal.
pub(crate) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a String can't fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c.is_control() || is_invisible(c) => {
            // Writing to a String can't fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Marks that change the direction of text, separate lines or show nothing.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{block, json, line};

    fn check(text: &str, expected_line: &str, expected_block: &str) {
        assert_eq!(line(text, 20), expected_line);
        assert_eq!(block(text), expected_block);
    }

    #[test]
    fn nothing_in_a_text_commands_the_terminal() {
        check("\x1b]0;x\x07", "\\u{1b}]0;x\\u{7}", "\\u{1b}]0;x\\u{7}");
        check("a\nb\tc", "a\\nb\\tc", "a\nb\tc");
        check("\u{202e}abc\u{9b}1m", "\\u{202e}abc\\u{9b}1m", "\\u{202e}abc\\u{9b}1m");
        check("żółw 漢字", "żółw 漢字", "żółw 漢字");
    }

    #[test]
    fn a_line_is_cut_at_its_bound() {
        check("012345678901234567890123", "01234567890123456789…", "012345678901234567890123");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let text = "\"\u{9b}1m\u{202e}\u{e0041}a\"";
        let shown = json(text);
        assert_eq!(shown, "\"\\u009b1m\\u202e\\udb40\\udc41a\"");
        let [before, after]: [String; 2] =
            [text, &shown].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(before, after);
    }
}
