//! Words that no file of ours holds: `unsafe` out of its four crates, sleeps, switched-off tests,
//! unfinished work.

use super::fault::Fault;
use super::imports;
use super::source::{Source, find_word, is_name, line_of};
use super::tree::Tree;
use super::workspace::Workspace;

/// Crates that may hold `unsafe`, each with its proof (STYLE section 5).
const UNSAFE_CRATES: [&str; 4] = ["sys", "term", "keeper", "testkit"];

const SLEEPS: [&str; 3] = ["thread::sleep", "time::sleep", "time::sleep_until"];

const UNFINISHED: [&str; 2] = ["todo!", "unimplemented!"];

const SWITCHED_OFF: [&str; 2] = ["ignore", "should_panic"];

/// Marks of work left over; each needs the number of its issue, `#12`, behind it.
const MARKS: [&str; 2] = ["TODO", "FIXME"];

/// Files other than Rust whose comments begin with `#`.
const HASH_COMMENTS: [&str; 6] = [".sh", ".py", ".toml", ".yml", "justfile", ".ci/run"];

/// Finds banned words in code, attributes and comments, tests included.
pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Fault> {
    let mut faults = check_roots(tree, workspace);
    for (path, text) in tree.rust() {
        let source = Source::parse(text);
        faults.extend(check_code(path, &source));
        faults.extend(check_attributes(path, &source));
        faults.extend(check_marks(path, &source.comments));
    }
    for (path, text) in tree.iter() {
        if HASH_COMMENTS.iter().any(|ending| path.ends_with(ending)) {
            let comments: Vec<&str> =
                text.lines().map(|line| line.split_once('#').map_or("", |(_, it)| it)).collect();
            faults.extend(check_marks(path, &comments.join("\n")));
        }
    }
    faults
}

fn check_roots(tree: &Tree, workspace: &Workspace) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in &workspace.packages {
        if UNSAFE_CRATES.contains(&package.short_name()) {
            continue;
        }
        for root in &package.roots {
            let Some(file) = tree.get(root) else { continue };
            let source = Source::parse(&file.text);
            if !source.attributes().any(|(_, body)| body == "forbid(unsafe_code)") {
                faults.push(Fault::at(root, 1, "the crate's root lacks `#![forbid(unsafe_code)]`"));
            }
        }
    }
    faults
}

fn check_code(path: &str, source: &Source) -> Vec<Fault> {
    let code = &source.code;
    let mut faults = Vec::new();
    if !may_be_unsafe(path) {
        for start in find_word(code, "unsafe") {
            let message = format!("`unsafe` lives only in {}", UNSAFE_CRATES.join(", "));
            faults.push(Fault::at(path, line_of(code, start), message));
        }
    }
    for word in UNFINISHED {
        for start in find_word(code, word) {
            faults.push(Fault::at(path, line_of(code, start), format!("`{word}` is unfinished")));
        }
    }
    let imported = imports::expand(code)
        .into_iter()
        .filter(|import| SLEEPS.iter().any(|sleep| import.path.ends_with(sleep)))
        .map(|import| import.line);
    let called = SLEEPS.iter().flat_map(|sleep| find_word(code, sleep));
    let mut lines: Vec<usize> = called.map(|start| line_of(code, start)).chain(imported).collect();
    lines.sort_unstable();
    lines.dedup();
    let message = "a sleep: wait for the event, with a deadline";
    faults.extend(lines.into_iter().map(|line| Fault::at(path, line, message)));
    faults
}

fn may_be_unsafe(path: &str) -> bool {
    let name = path.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
    name.is_some_and(|name| UNSAFE_CRATES.contains(&name))
}

fn check_attributes(path: &str, source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, body) in source.attributes() {
        let head = body.split(|c| !is_name(c)).next().unwrap_or(body);
        for word in SWITCHED_OFF {
            let is_hidden = head == "cfg_attr" && find_word(body, word).next().is_some();
            if head == word || is_hidden {
                faults.push(Fault::at(path, line, format!("`#[{word}]` switches a test off")));
            }
        }
        if ["allow", "expect"].contains(&head) && body.contains("clippy::too_many_arguments") {
            faults.push(Fault::at(path, line, "too many arguments want a struct, not an `allow`"));
        }
    }
    faults
}

fn check_marks(path: &str, comments: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for mark in MARKS {
        for start in find_word(comments, mark) {
            let rest = comments[start..].lines().next().unwrap_or_default();
            let number = rest.split_once('#').map_or("", |(_, number)| number);
            if !number.starts_with(|c: char| c.is_ascii_digit()) {
                let message = format!("`{mark}` needs the number of its issue");
                faults.push(Fault::at(path, line_of(comments, start), message));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::check as run;
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;
    use crate::tidy::workspace::Workspace;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let workspace = Workspace::of(&[("creel-api", &[]), ("creel-sys", &[])]);
        assert_eq!(printed(&run(&Tree::of(&[(path, text)]), &workspace)), expected);
    }

    #[test]
    fn unsafe_outside_its_crates_is_a_fault() {
        let text = "fn f() { unsafe { g() } }\n";
        check("crates/sys/src/a.rs", text, &[]);
        check(
            "crates/spool/src/a.rs",
            text,
            &["crates/spool/src/a.rs:1: `unsafe` lives only in sys, term, keeper, testkit"],
        );
    }

    #[test]
    fn a_root_without_the_forbid_is_a_fault() {
        check("crates/sys/src/lib.rs", "//! Doc.\n", &[]);
        check("crates/api/src/lib.rs", "//! Doc.\n#![forbid(unsafe_code)]\n", &[]);
        check(
            "crates/api/src/lib.rs",
            "//! `#![forbid(unsafe_code)]`\n",
            &["crates/api/src/lib.rs:1: the crate's root lacks `#![forbid(unsafe_code)]`"],
        );
    }

    #[test]
    fn sleeps_are_found_in_tests_and_behind_imports() {
        check(
            "a/tests/it/b.rs",
            "use std::thread::{self, sleep};\nfn f() {\n  thread::sleep(D);\n  tokio::time::sleep(D);\n}\n",
            &[
                "a/tests/it/b.rs:1: a sleep: wait for the event, with a deadline",
                "a/tests/it/b.rs:3: a sleep: wait for the event, with a deadline",
                "a/tests/it/b.rs:4: a sleep: wait for the event, with a deadline",
            ],
        );
    }

    #[test]
    fn a_test_switched_off_is_a_fault() {
        check(
            "a/b.rs",
            "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n",
            &["a/b.rs:2: `#[ignore]` switches a test off"],
        );
        check(
            "a/b.rs",
            "#[should_panic(expected = \"x\")]\nfn f() {}\n",
            &["a/b.rs:1: `#[should_panic]` switches a test off"],
        );
        check(
            "a/b.rs",
            "#[cfg_attr(miri, ignore)]\nfn f() {}\n",
            &["a/b.rs:1: `#[ignore]` switches a test off"],
        );
        check("a/b.rs", "#[arg(ignore_case = true)]\nfn ignore() {}\n", &[]);
    }

    #[test]
    fn unfinished_code_and_silenced_lints_are_faults() {
        check(
            "a/b.rs",
            "fn f() { todo!() }\nfn g() { unimplemented!() }\n",
            &["a/b.rs:1: `todo!` is unfinished", "a/b.rs:2: `unimplemented!` is unfinished"],
        );
        check(
            "a/b.rs",
            "#[allow(clippy::too_many_arguments)]\nfn f() {}\n",
            &["a/b.rs:1: too many arguments want a struct, not an `allow`"],
        );
    }

    #[test]
    fn work_left_over_names_its_issue() {
        check("a/b.rs", "// TODO(#12): later\n/* FIXME #3 */\nlet a = \"TODO\";\n", &[]);
        check(
            "a/b.rs",
            "a(); // TODO: later\n",
            &["a/b.rs:1: `TODO` needs the number of its issue"],
        );
        check(
            "a/b.sh",
            "a\nb # FIXME later\n",
            &["a/b.sh:2: `FIXME` needs the number of its issue"],
        );
    }
}
