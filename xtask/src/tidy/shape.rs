//! How long a file is, what it is called, how it begins.

use super::fault::Fault;
use super::source::Source;
use super::tree::{Tree, is_test_path};

/// Lines without tests; past it a file has more than one subject (STYLE: split at 500).
const MAX_PRODUCTION_LINES: usize = 500;

/// Lines with tests; past it nobody reads a file whole (STYLE: never pass 800).
const MAX_LINES: usize = 800;

/// File names that say where code was put, not what it is.
const EMPTY_NAMES: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "misc", "mod"];

/// Finds files that are too long, badly named, or without a module doc.
pub(crate) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.rust() {
        let is_test = is_test_path(path);
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        if EMPTY_NAMES.contains(&name) {
            faults.push(Fault::of(path, format!("`{name}.rs` names no noun of the domain")));
        }
        let lines = text.lines().count();
        let production_lines = if is_test { 0 } else { Source::parse(text).production_lines() };
        if lines > MAX_LINES {
            faults.push(Fault::of(path, format!("{lines} lines, more than {MAX_LINES}")));
        } else if production_lines > MAX_PRODUCTION_LINES {
            let message =
                format!("{production_lines} lines without tests, more than {MAX_PRODUCTION_LINES}");
            faults.push(Fault::of(path, message));
        }
        let is_module = path.contains("/src/") && !is_test;
        if is_module && !text.trim_start().starts_with("//!") {
            faults.push(Fault::at(path, 1, "a module begins with its `//!` doc"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::check as run;
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(printed(&run(&Tree::of(&[(path, text)]))), expected);
    }

    #[test]
    fn a_long_file_is_a_fault() {
        let text = format!("//! Doc.\n{}", "a\n".repeat(500));
        check("a/src/b.rs", &text, &["a/src/b.rs: 501 lines without tests, more than 500"]);
    }

    #[test]
    fn tests_count_only_towards_the_hard_limit() {
        let tests = |lines| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "a\n".repeat(lines));
        let file = |lines| format!("//! Doc.\n{}{}", "a\n".repeat(496), tests(lines));
        check("a/src/b.rs", &file(300), &[]);
        check("a/src/b.rs", &file(301), &["a/src/b.rs: 801 lines, more than 800"]);
    }

    #[test]
    fn a_file_of_tests_has_the_hard_limit() {
        check("a/src/b/tests.rs", &"a\n".repeat(800), &[]);
        check(
            "a/tests/it/b.rs",
            &"a\n".repeat(801),
            &["a/tests/it/b.rs: 801 lines, more than 800"],
        );
    }

    #[test]
    fn a_name_that_is_no_noun_is_a_fault() {
        for name in ["utils", "helpers", "common", "misc", "mod"] {
            let path = format!("a/src/{name}.rs");
            let fault = format!("{path}: `{name}.rs` names no noun of the domain");
            check(&path, "//! Doc.\n", &[&fault]);
        }
    }

    #[test]
    fn a_module_without_a_doc_is_a_fault() {
        check("a/src/b.rs", "mod c;\n", &["a/src/b.rs:1: a module begins with its `//!` doc"]);
        check(
            "a/src/b.rs",
            "// why\n//! Doc.\n",
            &["a/src/b.rs:1: a module begins with its `//!` doc"],
        );
        check("a/tests/it/b.rs", "mod c;\n", &[]);
    }
}
