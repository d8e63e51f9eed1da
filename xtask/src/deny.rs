//! `cargo xtask deny`: licences, bans and sources by cargo-deny. Optional, so no step of CI.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// Runs `cargo deny check`; fails with what to install when cargo-deny is absent.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let is_there = Command::new("cargo")
        .args(["deny", "--version"])
        .output()
        .context("starting cargo")?
        .status
        .success();
    if !is_there {
        bail!("nothing was checked: cargo-deny is not installed (`cargo install cargo-deny`)");
    }
    let status = Command::new("cargo")
        .args(["deny", "check"])
        .current_dir(root)
        .status()
        .context("starting cargo deny")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
