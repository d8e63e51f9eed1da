//! `flint orbh VERB`: the same verbs under the name that agents know them by.
//!
//! It becomes the `creel` that is installed beside it, so that there is one program to build, to
//! load and to upgrade.

#![forbid(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let error = match std::env::current_exe() {
        Ok(exe) => become_creel(&exe.with_file_name("creel")),
        Err(error) => format!("can't tell where flint is: {error}"),
    };
    eprintln!("flint: {error}\nNext: cargo install --path crates/cli");
    /// The environment can't be used, as `creel` says it.
    const UNUSABLE: u8 = 5;
    ExitCode::from(UNUSABLE)
}

/// Returns only when it fails.
fn become_creel(creel: &std::path::Path) -> String {
    let error: io::Error =
        Command::new(creel).arg0("flint").args(std::env::args_os().skip(1)).exec();
    format!("can't start {}: {error}", creel.display())
}
