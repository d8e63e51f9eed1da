//! A Rust file taken apart: its code without texts and comments, its comments, its test lines.
//!
//! Not a parser: enough of the lexical rules that a word inside a string, a comment or a char is
//! never mistaken for code, and that the braces of a `#[cfg(test)]` item can be counted.

/// The views of one file. All keep the file's lines.
#[derive(Debug)]
pub(crate) struct Source {
    /// The code; the inside of strings, chars and comments is blank.
    pub(crate) code: String,
    /// The comments; everything else is blank.
    pub(crate) comments: String,
    is_test: Vec<bool>,
}

impl Source {
    /// Takes `text` apart.
    pub(crate) fn parse(text: &str) -> Self {
        let mut lexer = Lexer::new(text);
        lexer.run();
        let (code, comments) = (lexer.code, lexer.comments);
        let is_test = test_lines(&code);
        Self { code, comments, is_test }
    }

    /// Returns how many lines lie outside `#[cfg(test)]` items.
    pub(crate) fn production_lines(&self) -> usize {
        self.is_test.iter().filter(|is_test| !**is_test).count()
    }

    /// Returns true when `line` (counted from 1) lies in a `#[cfg(test)]` item.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.is_test.get(line - 1).copied().unwrap_or(false)
    }

    /// Returns every attribute in the code with its line: the text between `#[` and its `]`.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.match_indices('#').filter_map(|(start, _)| {
            let rest = &self.code[start + 1..];
            let body = rest.strip_prefix("![").or_else(|| rest.strip_prefix('['))?;
            Some((line_of(&self.code, start), until_closed(body, ('[', ']'))?))
        })
    }
}

/// Returns the line (counted from 1) of the byte `offset` in `text`.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Returns the offsets of `word` in `text` where it stands alone, not inside a longer name.
pub(crate) fn find_word<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(start, _)| start).filter(move |start| {
        let before = text[..*start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

/// Returns true for a character that a Rust name may hold.
pub(crate) fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn until_closed(text: &str, (open, close): (char, char)) -> Option<&str> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(&text[..at]);
            }
        }
    }
    None
}

fn test_lines(code: &str) -> Vec<bool> {
    let mut is_test = vec![false; code.lines().count()];
    for (start, _) in code.match_indices("#[cfg(") {
        let Some(condition) = until_closed(&code[start + "#[cfg(".len()..], ('(', ')')) else {
            continue;
        };
        if find_word(condition, "test").next().is_none() || condition.contains("not(") {
            continue;
        }
        let end = start + item_length(&code[start..]);
        let lines = line_of(code, start) - 1..line_of(code, end);
        is_test[lines].fill(true);
    }
    is_test
}

/// Returns the length of the item at the start of `code`: to its `;`, or to its closing brace.
fn item_length(code: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth == 0 => return at,
            '{' if depth == 0 => {
                let body = until_closed(&code[at + 1..], ('{', '}'));
                return body.map_or(code.len(), |body| at + 1 + body.len());
            }
            _ => {}
        }
    }
    code.len()
}

struct Lexer<'a> {
    rest: &'a str,
    last: char,
    code: String,
    comments: String,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        let size = text.len();
        let (code, comments) = (String::with_capacity(size), String::with_capacity(size));
        Self { rest: text, last: '\n', code, comments }
    }

    fn run(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                let length = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take_comment(length);
            } else if self.rest.starts_with("/*") {
                self.take_comment(block_length(self.rest));
            } else if let Some(length) = self.raw_length() {
                self.take_text(length);
            } else if c == '"' {
                self.take_text(quoted_length(self.rest, '"'));
            } else if c == '\'' && is_char(self.rest) {
                self.take_text(quoted_length(self.rest, '\''));
            } else {
                self.take_code(c);
            }
        }
    }

    fn take_code(&mut self, c: char) {
        self.code.push(c);
        self.comments.push(if c == '\n' { '\n' } else { ' ' });
        self.last = c;
        self.rest = &self.rest[c.len_utf8()..];
    }

    fn take_comment(&mut self, length: usize) {
        let (comment, rest) = self.rest.split_at(length);
        self.comments.push_str(comment);
        self.code.extend(comment.chars().map(blank));
        (self.rest, self.last) = (rest, ' ');
    }

    fn take_text(&mut self, length: usize) {
        let (text, rest) = self.rest.split_at(length);
        self.code.push('"');
        self.code.extend(text.chars().map(blank));
        self.code.push('"');
        self.comments.extend(text.chars().map(blank));
        (self.rest, self.last) = (rest, '"');
    }

    /// Returns the length of the raw string at the front, if one is there.
    fn raw_length(&self) -> Option<usize> {
        if is_name(self.last) {
            return None;
        }
        let body = ["br", "cr", "r"].iter().find_map(|prefix| self.rest.strip_prefix(prefix))?;
        let hashes = body.len() - body.trim_start_matches('#').len();
        body[hashes..].starts_with('"').then_some(())?;
        let start = self.rest.len() - body.len() + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = self.rest[start..].find(&end).map(|at| start + at + end.len());
        Some(length.unwrap_or(self.rest.len()))
    }
}

fn blank(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

fn block_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns true when the quote at the front opens a char, not a lifetime.
fn is_char(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => true,
        (Some(_), Some(after)) => after == '\'',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn check(text: &str, code: &str, production_lines: usize) {
        let source = Source::parse(text);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            (words(&source.code), source.production_lines()),
            (words(code), production_lines)
        );
        assert_eq!(source.code.lines().count(), text.lines().count(), "lines are kept");
        assert_eq!(source.comments.lines().count(), text.lines().count(), "lines are kept");
    }

    #[test]
    fn strings_chars_and_comments_are_no_code() {
        check("a(\"x { \\\" y\"); // b {", "a(\" \");", 1);
        check("a('{', 'b', '\\'', '\"');", "a(\" \", \" \", \" \", \" \");", 1);
        check("a /* b /* c */ d */ e", "a e", 1);
        check("a(r#\"x \" {\"#, br\"{\", c\"{\");", "a(\" \", \" \", c\" \");", 1);
    }

    #[test]
    fn a_lifetime_is_no_char() {
        check("fn f<'a>(x: &'a str) -> &'a str { x }", "fn f<'a>(x: &'a str) -> &'a str { x }", 1);
    }

    #[test]
    fn a_raw_name_is_no_string() {
        check("let r#type = bar\"{\";", "let r#type = bar\" \";", 1);
    }

    #[test]
    fn an_unclosed_text_ends_with_the_file() {
        check("a(\"x", "a(\" \"", 1);
        check("a /* x", "a", 1);
        check("r#\"x", "\" \"", 1);
    }

    #[test]
    fn test_items_are_no_production_lines() {
        let text = "a\n#[cfg(test)]\nmod tests {\n  b {}\n}\nc\n#[cfg(test)]\nmod x;\n#[cfg(not(test))]\nd;";
        check(text, &text.replace('\n', " "), 4);
        let text = "#[cfg(all(test, unix))]\nfn f() -> [u8; 2] {\n}\n";
        check(text, "#[cfg(all(test, unix))] fn f() -> [u8; 2] { }", 0);
    }
}
