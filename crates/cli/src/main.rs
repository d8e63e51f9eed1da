//! `creel`, and `flint` when it is started under that name.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    creel_cli::main()
}
