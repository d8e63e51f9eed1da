//! Programs from their start to their end, in a home of their own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use creel_sys::Deadline;
use creel_sys::poll::wait_readable;
use creel_testkit::env::TestEnv;

/// Between two looks at something that tells nobody of its changes.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Far longer than anything takes that is waited for.
const LOOK_WITHIN: Duration = Duration::from_secs(30);

/// A home for one row. Dropping it ends every process that was started in it.
#[derive(Debug)]
pub(crate) struct Home {
    env: TestEnv,
}

impl Home {
    /// Makes a home in which `creel` is the program at this path.
    pub(crate) fn new(creel: &Path) -> Self {
        Self { env: TestEnv::new(creel) }
    }

    /// Returns a path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.env.work_dir().join(name)
    }

    /// Returns the root of its store, which may not be there yet.
    pub(crate) fn store_root(&self) -> PathBuf {
        self.env.store_root()
    }

    /// Prepares a program. What it prints goes nowhere.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env.variables()).current_dir(self.env.work_dir());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Prepares a call of `creel`. What it prints goes nowhere.
    pub(crate) fn creel(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(self.env.root().join("bin/creel"));
        command.args(arguments);
        command
    }

    /// Calls `creel` and returns what it printed.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String> {
        let output =
            self.creel(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "creel {arguments:?}: {error}");
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }
}

/// Runs a program and returns the seconds from its start to its end.
///
/// # Errors
/// When it fails.
pub(crate) fn timed(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    let status = command.status().with_context(|| format!("can't start {command:?}"))?;
    let seconds = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{command:?}: {status}");
    Ok(seconds)
}

/// Waits until a look finds something.
///
/// # Errors
/// When a look fails, or none finds anything in time.
pub(crate) fn look_until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Deadline::after(LOOK_WITHIN);
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if deadline.is_past() {
            bail!("waited in vain until {what}");
        }
        pause(LOOK_EVERY)?;
    }
}

/// Lets time pass, for what is to settle before it is measured.
///
/// # Errors
/// When the system refuses to wait.
pub(crate) fn pause(time: Duration) -> Result<()> {
    wait_readable(&[], time)?;
    Ok(())
}

/// Waits until a process sleeps with an inotify watch in its hands, and so is sure to be waiting.
///
/// # Errors
/// When it never does.
pub(crate) fn until_watching(child: &Child) -> Result<()> {
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    look_until("a process watches a directory", || {
        let stat = fs::read_to_string(proc.join("stat"))?;
        let is_asleep = stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
        let is_inotify = |entry: fs::DirEntry| {
            fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == "anon_inode:inotify")
        };
        let is_watching = fs::read_dir(proc.join("fd"))?.flatten().any(is_inotify);
        Ok((is_asleep && is_watching).then_some(()))
    })?;
    // It may have slept for something else before its last look.
    pause(Duration::from_millis(20))
}

/// Builds a static program that does nothing.
///
/// # Errors
/// When the C compiler, which the product needs anyway, can't.
pub(crate) fn empty(dir: &Path) -> Result<PathBuf> {
    let (source, program) = (dir.join("empty.c"), dir.join("empty"));
    fs::write(&source, "int main(void) { return 0; }\n")?;
    let mut cc = Command::new("cc");
    timed(cc.args(["-O2", "-static", "-o"]).arg(&program).arg(&source))?;
    Ok(program)
}

/// Builds `creel` in the profile that this program was built in and returns where it is: beside
/// this program.
///
/// # Errors
/// When it can't be built.
pub(crate) fn build_creel() -> Result<PathBuf> {
    let own = std::env::current_exe().context("can't tell this program's path")?;
    let dir = own.parent().context("a program lies in a directory")?;
    let creel = dir.join("creel");
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "creel-cli"]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        timed(build.stdout(Stdio::null()))?;
    }
    ensure!(creel.exists(), "{} is not there: build creel-cli first", creel.display());
    Ok(creel)
}

/// Returns the memory that a process shares with no other.
///
/// # Errors
/// When it is gone.
pub(crate) fn private_bytes(pid: i32) -> Result<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    let private = rollup
        .lines()
        .filter(|line| line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:"));
    let sum: u64 = private.map(|line| kilobytes(line).unwrap_or(0)).sum();
    ensure!(sum > 0, "process {pid} has no private memory");
    Ok(sum as f64 * 1024.0)
}
