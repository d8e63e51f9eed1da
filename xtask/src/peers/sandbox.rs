//! Bubblewrap, the sandbox around an agent in the end-to-end tests.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

/// Installs bubblewrap when it is absent and this is root on a Debian; returns how that went.
pub(super) fn install() -> String {
    if is_there() {
        return "ready".to_owned();
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0);
    if !is_root {
        return "missing: install your system's package `bubblewrap`".to_owned();
    }
    let installed = apt(&["update"])
        .and_then(|()| apt(&["install", "--yes", "--no-install-recommends", "bubblewrap"]));
    match installed {
        Ok(()) if is_there() => "ready, installed now".to_owned(),
        Ok(()) => "missing: installed, but `bwrap` does not start".to_owned(),
        Err(why) => format!("missing: {why}"),
    }
}

fn is_there() -> bool {
    let version = Command::new("bwrap").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

fn apt(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("apt-get")
        .arg("--quiet")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("starting apt-get: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next_back().unwrap_or("apt-get failed").to_owned())
}
