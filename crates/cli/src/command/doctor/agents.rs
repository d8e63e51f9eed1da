//! The programs that runs need, and their versions.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel_api::doctor::{CheckView, Verdict};
use creel_host::environment;
use creel_sys::Deadline;
use creel_sys::process::Signal;
use creel_sys::spawn::{SessionCommand, spawn_session};

use super::{check, check_next};
use crate::context::Context;
use crate::report::Report;
use crate::starting::{catalog, program};

/// How long all programs together may take to tell their versions.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// How long one may.
const EACH_WITHIN: Duration = Duration::from_secs(3);

/// Bytes of what one says.
const MAX_TOLD_BYTES: u64 = 4096;

pub(super) fn checks(context: &Context) -> Result<Vec<CheckView>, Report> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let until = Deadline::after(TOLD_WITHIN);
    let mut checks = vec![git(&path, until)];
    let catalog = match catalog::load(&context.environment.config_dir()?) {
        Ok(catalog) => catalog,
        Err(report) => {
            let checked = check("catalog", Verdict::Bad, report.message());
            checks.push(CheckView { next: report.hint().map(str::to_owned), ..checked });
            return Ok(checks);
        }
    };
    let targets = catalog.target_names();
    let runtimes: BTreeSet<&str> =
        targets.iter().map(|name| name.split('/').next().unwrap_or(name)).collect();
    for runtime in runtimes {
        let Ok(target) = catalog.target(runtime) else { continue };
        let name = format!("agent {runtime}");
        checks.push(match program::find(target.program(), &path) {
            None => check(&name, Verdict::Info, "is not on PATH"),
            // A shell has no version to tell, and may take the flag for a script.
            Some(found) if target.takes_script() => {
                check(&name, Verdict::Info, found.display().to_string())
            }
            Some(found) => {
                let told = version(&found, until);
                let tested = target
                    .tested_version()
                    .map_or(String::new(), |tested| format!("; tested with {tested}"));
                check(&name, Verdict::Info, format!("{}: {told}{tested}", found.display()))
            }
        });
    }
    Ok(checks)
}

fn git(path: &OsStr, until: Deadline) -> CheckView {
    match program::find("git", path) {
        Some(found) => check("git", Verdict::Good, version(&found, until)),
        None => {
            let detail = "is not on PATH: worktrees can't be made".to_owned();
            check_next("git", Verdict::Weak, (detail, "install git".to_owned()))
        }
    }
}

/// Asks a program for its version; a sentence when it doesn't tell.
fn version(program: &Path, until: Deadline) -> String {
    let within = until.remaining().min(EACH_WITHIN);
    match ask(program, within) {
        Ok(Some(text)) => text,
        Ok(None) => format!("no version within {} ms", within.as_millis()),
        Err(error) => format!("no version: {error}"),
    }
}

fn ask(program: &Path, within: Duration) -> io::Result<Option<String>> {
    if within.is_zero() {
        return Ok(None);
    }
    let (told, said) = io::pipe()?;
    let nowhere = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
    let child = spawn_session(SessionCommand {
        program: program.to_owned(),
        args: vec![OsString::from("--version")],
        env: environment::inherited(),
        cwd: PathBuf::from("/"),
        stdin: nowhere()?,
        stdout: said.into(),
        stderr: nowhere()?,
        inherited: Vec::new(),
        cgroup: None,
    })?;
    let Some(exit) = child.wait(within)? else {
        // What it started ends with it as far as it hangs on its pipe; it was asked for a line.
        child.signal(Signal::KILL)?;
        child.wait(EACH_WITHIN)?;
        return Ok(None);
    };
    // Never waits: a child of its own may have the pipe open still.
    let ready = creel_sys::poll::wait_readable(&[std::os::fd::AsFd::as_fd(&told)], Duration::ZERO)?;
    if ready.is_empty() || !exit.is_success() {
        return Err(io::Error::other(exit.to_string()));
    }
    let mut bytes = vec![0; usize::try_from(MAX_TOLD_BYTES).unwrap_or(0)];
    let count = File::from(OwnedFd::from(told)).read(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    Ok(text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned))
}
