//! Pure crates: the same values in give the same values out.

use super::fault::Fault;
use super::imports::{self, Import};
use super::layering;
use super::source::{Source, find_word, line_of};
use super::tree::{Tree, is_test_path};
use super::workspace::Workspace;

/// Crates that reach for the machine, the time, chance or a log.
const IMPURE_CRATES: [&str; 18] = [
    "async-std",
    "chrono",
    "fastrand",
    "fs4",
    "getrandom",
    "libc",
    "log",
    "mio",
    "nix",
    "notify",
    "rand",
    "rmcp",
    "rusqlite",
    "rustix",
    "tempfile",
    "tokio",
    "tracing",
    "tracing-subscriber",
];

/// Modules of the standard library that do.
const IMPURE_MODULES: [&str; 5] =
    ["std::fs", "std::net", "std::process", "std::env", "std::os::unix::net"];

/// Calls that do.
const IMPURE_CALLS: [&str; 11] = [
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "Uuid::now_v7",
    "Uuid::new_v4",
    "thread::spawn",
    "println!",
    "eprintln!",
    "io::stdin",
    "io::stdout",
];

/// Finds impure dependencies, imports and calls in pure crates, their tests left out.
pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in &workspace.packages {
        if !layering::pure().contains(&package.short_name()) {
            continue;
        }
        let manifest = format!("{}/Cargo.toml", package.folder);
        for dependency in package.dependencies.iter().filter(|found| !found.is_dev) {
            if IMPURE_CRATES.contains(&dependency.name.as_str()) {
                let message = format!("a pure crate must not depend on `{}`", dependency.name);
                faults.push(Fault::of(&manifest, message));
            }
        }
        let folder = format!("{}/src/", package.folder);
        for (path, text) in tree.rust() {
            if path.starts_with(&folder) && !is_test_path(path) {
                faults.extend(check_file(path, &Source::parse(text)));
            }
        }
    }
    faults
}

fn check_file(path: &str, source: &Source) -> Vec<Fault> {
    let mut found: Vec<(usize, String)> = imports::expand(&source.code)
        .into_iter()
        .filter(|import| IMPURE_MODULES.iter().any(|module| is_within(import, module)))
        .map(|Import { line, path }| (line, path))
        .collect();
    for word in IMPURE_MODULES.iter().chain(&IMPURE_CALLS) {
        for start in find_word(&source.code, word) {
            found.push((line_of(&source.code, start), (*word).to_owned()));
        }
    }
    found.sort();
    found.dedup_by_key(|(line, _)| *line);
    found
        .into_iter()
        .filter(|(line, _)| !source.is_test(*line))
        .map(|(line, word)| Fault::at(path, line, format!("a pure crate must not use `{word}`")))
        .collect()
}

fn is_within(import: &Import, module: &str) -> bool {
    let rest = import.path.strip_prefix(module);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::check as run;
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;
    use crate::tidy::workspace::Workspace;

    fn check((package, dependencies): (&str, &[&str]), files: &[(&str, &str)], expected: &[&str]) {
        let workspace = Workspace::of(&[(package, dependencies)]);
        assert_eq!(printed(&run(&Tree::of(files), &workspace)), expected);
    }

    #[test]
    fn a_runtime_or_a_log_is_no_dependency_of_a_pure_crate() {
        check(
            ("creel-record", &["serde", "tokio", "dev:tempfile"]),
            &[],
            &["crates/record/Cargo.toml: a pure crate must not depend on `tokio`"],
        );
        check(("creel-spool", &["tokio"]), &[], &[]);
    }

    #[test]
    fn files_processes_and_clocks_are_found_however_they_are_named() {
        check(
            ("creel-api", &[]),
            &[(
                "crates/api/src/plan.rs",
                "//! Doc.\nuse std::{collections::BTreeMap, fs};\nuse std::process::Command;\n\
                 fn f() { std::env::var(\"A\"); }\nfn g() { Instant::now(); }\n\
                 fn h() { Uuid::new_v4(); }\n",
            )],
            &[
                "crates/api/src/plan.rs:2: a pure crate must not use `std::fs`",
                "crates/api/src/plan.rs:3: a pure crate must not use `std::process`",
                "crates/api/src/plan.rs:4: a pure crate must not use `std::env`",
                "crates/api/src/plan.rs:5: a pure crate must not use `Instant::now`",
                "crates/api/src/plan.rs:6: a pure crate must not use `Uuid::new_v4`",
            ],
        );
    }

    #[test]
    fn tests_of_a_pure_crate_may_touch_the_machine() {
        check(
            ("creel-api", &[]),
            &[
                ("crates/api/src/a.rs", "//! A.\n#[cfg(test)]\nmod tests {\n use std::fs;\n}\n"),
                ("crates/api/src/a/tests.rs", "use std::fs;\n"),
                ("crates/api/tests/it/main.rs", "use std::fs;\n"),
                ("crates/spool/src/lib.rs", "use std::fs;\n"),
            ],
            &[],
        );
    }

    #[test]
    fn a_word_in_prose_is_no_use() {
        check(
            ("creel-api", &[]),
            &[("crates/api/src/a.rs", "//! No std::fs.\nconst A: &str = \"std::fs\";\n")],
            &[],
        );
    }
}
