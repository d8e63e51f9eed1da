//! `use` trees written out: one full path for each leaf.

use super::source::{is_name, line_of};

/// One imported path and the line of its `use`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// Counted from 1.
    pub(crate) line: usize,
    /// The path without alias, `std::fs::File`; a glob ends in `*`, `self` is its parent.
    pub(crate) path: String,
}

/// Returns every import in `code` (the code view of a file).
pub(crate) fn expand(code: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    for (start, _) in code.match_indices("use ") {
        if code[..start].chars().next_back().is_some_and(is_name) {
            continue;
        }
        let rest = &code[start + "use ".len()..];
        let Some(end) = rest.find(';') else { continue };
        let line = line_of(code, start);
        let mut paths = Vec::new();
        leaves("", &rest[..end], &mut paths);
        imports.extend(paths.into_iter().map(|path| Import { line, path }));
    }
    imports
}

fn leaves(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    if let Some((head, group)) = tree.split_once('{') {
        let prefix = join(prefix, head.trim().trim_end_matches("::"));
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        for part in split_outside_braces(group) {
            leaves(&prefix, part, paths);
        }
        return;
    }
    let path = tree.split(" as ").next().unwrap_or(tree).trim();
    match path {
        "" => {}
        "self" => paths.push(prefix.to_owned()),
        path => paths.push(join(prefix, path)),
    }
}

fn join(prefix: &str, path: &str) -> String {
    let path = path.trim_start_matches("::");
    if prefix.is_empty() { path.to_owned() } else { format!("{prefix}::{path}") }
}

fn split_outside_braces(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::expand;

    fn check(code: &str, expected: &[(usize, &str)]) {
        let found = expand(code);
        let found: Vec<_> =
            found.iter().map(|import| (import.line, import.path.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_tree_is_written_out_leaf_by_leaf() {
        check(
            "use std::{\n  fs::{self, File as F},\n  io::*,\n};\npub use a::b as c;",
            &[(1, "std::fs"), (1, "std::fs::File"), (1, "std::io::*"), (5, "a::b")],
        );
    }

    #[test]
    fn a_name_that_ends_in_use_is_no_import() {
        check("let reuse = reuse ; use ::std::net;", &[(1, "std::net")]);
    }
}
