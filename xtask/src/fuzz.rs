//! `cargo xtask fuzz`: the fuzz targets of `fuzz/`, by cargo-fuzz on the nightly toolchain.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// How long a target runs when the caller names no time: long enough to pass the corpus, short
/// enough to run each target in a break.
const DEFAULT_SECONDS: u64 = 60;

/// Lists the targets, or runs one for a bounded time.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<ExitCode> {
    let targets = targets(root)?;
    let (target, seconds) = match words {
        [] => {
            targets.iter().for_each(|target| println!("{target}"));
            return Ok(ExitCode::SUCCESS);
        }
        [target] => (target, DEFAULT_SECONDS),
        [target, seconds] => {
            (target, seconds.parse().with_context(|| format!("not a number: {seconds}"))?)
        }
        _ => bail!("expected one target and a number of seconds"),
    };
    if !targets.contains(target) {
        bail!("no fuzz target `{target}`; there are: {}", targets.join(", "));
    }
    let mut cargo = Command::new("rustup");
    cargo.args(["run", "nightly", "cargo", "fuzz"]).current_dir(root);
    if !cargo.arg("--version").output().context("starting rustup")?.status.success() {
        bail!(
            "nothing was run: this needs the nightly toolchain and `cargo install cargo-fuzz` \
             (CONTRIBUTING.md says more)"
        );
    }
    let status = Command::new("rustup")
        .args(["run", "nightly", "cargo", "fuzz", "run", target, "--"])
        .arg(format!("-max_total_time={seconds}"))
        .current_dir(root)
        .status()
        .context("starting cargo fuzz")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(ToOwned::to_owned));
    }
    names.sort();
    Ok(names)
}
