//! `cargo xtask ci`: the steps of CI in order, each with its name and time; and `fix`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::tidy;

const FORMAT: &[&str] = &["fmt", "--all", "--check"];

const LINTS: &[&str] =
    &["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// The README's test command, word for word; tidy compares the two.
const TESTS: &[&str] = &["test", "--workspace"];

/// Returns the test command as a person types it.
pub(crate) fn test_command() -> String {
    format!("cargo {}", TESTS.join(" "))
}

/// Runs every step, up to the first that fails; ends with the sum of the test runners' counts.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let mut tally = Tally::default();
    let is_good = step("format", || succeeds(&mut cargo(root, FORMAT)))?
        && step("lints", || succeeds(&mut cargo(root, LINTS)))?
        && step("tidy", || Ok(tidy::run(root)? == ExitCode::SUCCESS))?
        && step("tests", || tests(root, &mut tally))?;
    if tally != Tally::default() {
        println!("{}", tally.line());
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Formats, and applies the lints' own suggestions.
pub(crate) fn fix(root: &Path) -> Result<ExitCode> {
    let lints =
        ["clippy", "--workspace", "--all-targets", "--fix", "--allow-dirty", "--allow-staged"];
    let is_good =
        succeeds(&mut cargo(root, &lints))? && succeeds(&mut cargo(root, &["fmt", "--all"]))?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn step(name: &str, work: impl FnOnce() -> Result<bool>) -> Result<bool> {
    println!("ci: {name}");
    let started = Instant::now();
    let is_good = work().with_context(|| format!("step {name}"))?;
    let verdict = if is_good { "ok" } else { "FAILED" };
    println!("ci: {name} {verdict}, {:.1} s", started.elapsed().as_secs_f64());
    Ok(is_good)
}

fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root);
    command
}

fn succeeds(command: &mut Command) -> Result<bool> {
    Ok(command.status().context("starting cargo")?.success())
}

fn tests(root: &Path, tally: &mut Tally) -> Result<bool> {
    let mut child = cargo(root, TESTS)
        // A changed golden file is a failure here, never a new file.
        .env("INSTA_UPDATE", "no")
        .stdout(Stdio::piped())
        .spawn()
        .context("starting cargo test")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let copied = copy_and_count(output, tally);
    let status = child.wait().context("waiting for cargo test")?;
    copied.context("reading the tests' output")?;
    ensure!(!status.success() || tally.passed > 0, "no test ran");
    Ok(status.success())
}

fn copy_and_count(output: impl std::io::Read, tally: &mut Tally) -> std::io::Result<()> {
    let mut reader = BufReader::new(output);
    let mut printer = std::io::stdout().lock();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        printer.write_all(&line)?;
        tally.add(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

/// What the test runners counted, summed over their closing lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    fn add(&mut self, line: &str) {
        let Some((_, counts)) =
            line.trim().strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what.trim_end_matches(';') {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    fn line(self) -> String {
        let Self { passed, failed, skipped } = self;
        format!("tests: {passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn check(lines: &[&str], expected: &str) {
        let mut tally = Tally::default();
        for line in lines {
            tally.add(line);
        }
        assert_eq!(tally.line(), expected);
    }

    #[test]
    fn closing_lines_are_summed() {
        check(
            &[
                "running 4 tests",
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out; \
                 finished in 0.00s\n",
                "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            ],
            "tests: 4 passed, 2 failed, 1 skipped",
        );
    }

    #[test]
    fn other_lines_count_nothing() {
        check(&["test result: odd", "3 passed; 1 failed"], "tests: 0 passed, 0 failed, 0 skipped");
    }
}
