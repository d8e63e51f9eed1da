//! The home of all tests: one directory, one runtime directory, nothing of the user's.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use creel_sys::tree::{Environ, ProcessTable, environ_value};

const VARIABLE: &str = "CREEL_HOLDER_TESTS";

/// Tells whether this process has the home.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Returns the home.
pub(crate) fn dir() -> PathBuf {
    PathBuf::from(std::env::var_os(VARIABLE).expect("the tests run inside of their home"))
}

/// Prepares this program to run in a home below `dir`.
pub(crate) fn command(dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", dir)
        .env("CREEL_RUNTIME_DIR", dir.join("r"))
        .env(VARIABLE, dir);
    command
}

/// Makes a home, runs the tests in it, and fails when they leave a process behind.
pub(crate) fn run_inside() -> ExitCode {
    let dir = std::env::temp_dir().join(format!("ch{}", std::process::id()));
    make(&dir);
    let status = command(&dir).args(std::env::args_os().skip(1)).status().expect("the tests start");
    let left = left(&dir);
    if !left.is_empty() {
        eprintln!("processes left behind: {left:?}");
        return ExitCode::FAILURE;
    }
    std::fs::remove_dir_all(&dir).expect("the home can be removed");
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes a directory that nobody else reaches into, with a runtime directory in it.
pub(crate) fn make(dir: &Path) {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(dir.join("r")).expect("a home");
}

/// Returns the processes whose environment names the runtime directory of a home.
pub(crate) fn left(dir: &Path) -> Vec<(i32, String)> {
    let runtime = dir.join("r").display().to_string();
    let table = ProcessTable::read().expect("/proc");
    table
        .entries()
        .filter(|entry| !entry.is_dead())
        .filter(|entry| i64::from(entry.pid) != i64::from(std::process::id()))
        .filter(|entry| {
            ["CREEL_RUNTIME_DIR", "HELD_BY"]
                .iter()
                .any(|name| environ_value(entry.pid, name) == Environ::Value(runtime.clone()))
        })
        .map(|entry| (entry.pid, entry.comm.clone()))
        .collect()
}
