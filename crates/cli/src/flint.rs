//! `flint orbh VERB`: the same verbs under the name that agents know them by.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    creel_cli::main(creel_cli::Program::Flint)
}
