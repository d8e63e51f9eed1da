//! The user's own file of credentials, for starts from an environment that lacks them.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::codes::Code;
use crate::report::{Report, chain};
use crate::starting::catalog::read_bounded;

/// Bytes of an environment file that are read: a thousand long keys.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Reads `NAME=VALUE` lines; empty lines and those that begin with `#` are passed over.
///
/// # Errors
/// When the file can't be read, others may read it, or a line is no assignment. No value is ever
/// part of the message.
pub(crate) fn read(path: &Path) -> Result<Vec<(String, String)>, Report> {
    let shown = path.display();
    let refuse = |problem: String| {
        Report::new(Code::SettingsInvalid, format!("the environment file {shown} {problem}"))
            .next(format!("ls -l {shown}"))
    };
    let failed = |error: &std::io::Error| refuse(format!("can't be read: {}", chain(error)));
    if !path.is_absolute() {
        return Err(refuse("is not named by an absolute path".to_owned()));
    }
    let mode = path.metadata().map_err(|error| failed(&error))?.mode();
    if mode & 0o077 != 0 {
        return Err(refuse(format!("has mode {:03o}; others may not reach it", mode & 0o777)));
    }
    let text = read_bounded(path, MAX_FILE_BYTES).map_err(|error| failed(&error))?;
    parse(&text).map_err(|line| refuse(format!("is no list of NAME=VALUE at line {line}")))
}

/// Returns the assignments, or the number of the first line that is none.
fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        };
        match line.split_once('=').filter(|(name, _)| is_name(name)) {
            Some((name, value)) => variables.push((name.to_owned(), unquoted(value).to_owned())),
            None => return Err(index + 1),
        }
    }
    Ok(variables)
}

fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn check(text: &str, expected: Result<&[(&str, &str)], usize>) {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(parse(text), expected.map(owned), "{text}");
    }

    #[test]
    fn assignments_are_read_and_anything_else_is_named_by_its_line() {
        check("", Ok(&[]));
        check("# keys\n\nA=1\nexport B_2=\"two words\"\n", Ok(&[("A", "1"), ("B_2", "two words")]));
        check("C='a=b'\nD=\n", Ok(&[("C", "a=b"), ("D", "")]));
        check("A=1\nnot an assignment\n", Err(2));
        check("A B=1\n", Err(1));
    }
}
