//! The cache folder: one folder for each peer, stamped with its version once the peer has started.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Longest wait for one npm install: hundreds of megabytes over a slow line.
const MAX_INSTALL_SECONDS: &str = "900";

/// Longest wait for `--version`: a first start of a Node program on a busy machine.
const MAX_START_SECONDS: &str = "120";

/// Where a peer stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It was here already.
    Present,
    /// It was installed by this call.
    Installed,
    /// It can't be used, and why.
    Missing(String),
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present => f.write_str("ready"),
            Self::Installed => f.write_str("ready, installed now"),
            Self::Missing(why) => write!(f, "missing: {why}"),
        }
    }
}

/// The cache folder, held by one installer at a time.
#[derive(Debug)]
pub(super) struct Shelf {
    script: PathBuf,
    folder: PathBuf,
    _lock: File,
}

impl Shelf {
    /// Opens the folder, made if it is absent; waits for another installer to leave it.
    pub(super) fn open(script: PathBuf, folder: PathBuf) -> Result<Self> {
        let made = || -> std::io::Result<File> {
            fs::create_dir_all(&folder)?;
            let lock = File::create(folder.join("install.lock"))?;
            lock.lock()?;
            Ok(lock)
        };
        let lock = made().with_context(|| format!("opening {}", folder.display()))?;
        Ok(Self { script, folder, _lock: lock })
    }

    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Installs `name` unless this version is stamped; never fails, a failure is a state.
    pub(super) fn install(&self, name: &str, version: &str) -> State {
        let stamp = self.folder.join(name).join("installed-version");
        if fs::read_to_string(&stamp).is_ok_and(|found| found == version) {
            return State::Present;
        }
        // A stamp of another version must not outlive a half-done install.
        let _ = fs::remove_file(&stamp);
        let stamped = self
            .call(MAX_INSTALL_SECONDS, &["install", name])
            .and_then(|()| self.call(MAX_START_SECONDS, &["run", name, "--version"]))
            .and_then(|()| fs::write(&stamp, version).map_err(|error| error.to_string()));
        stamped.map_or_else(State::Missing, |()| State::Installed)
    }

    /// Calls the lab's script; on failure returns the last line it said.
    fn call(&self, seconds: &str, words: &[&str]) -> Result<(), String> {
        let output = Command::new("timeout")
            .args(["--kill-after=10", seconds])
            .arg(&self.script)
            .args(words)
            .env("LAB_DIR", &self.folder)
            .env("LAB_HOME", self.folder.join("home/first-start"))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("starting the lab's script: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
        let last = said.iter().rev().flat_map(|text| text.lines().rev());
        let last = last.map(str::trim).find(|line| !line.is_empty()).unwrap_or("no output");
        Err(match output.status.code() {
            Some(124 | 137) => format!("`{}` took over {seconds} s", words.join(" ")),
            _ => format!("`{}`: {last}", words.join(" ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::{Shelf, State};

    /// Stands in for the lab: notes each call, installs `good`, fails at `bad`, can't start `dull`.
    const SCRIPT: &str = "#!/bin/sh\n\
        echo \"$@\" >> \"$LAB_DIR/calls\"\n\
        mkdir -p \"$LAB_DIR/$2\"\n\
        case $1-$2 in\n\
        install-bad) echo npm ERR; echo 'no network' >&2; exit 1 ;;\n\
        run-dull) echo 'wants Node 22'; exit 3 ;;\n\
        esac\n";

    fn check(installs: &[(&str, &str)], states: &[State], calls: &str) {
        let home = tempfile::tempdir().unwrap();
        let script = home.path().join("agent.sh");
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = home.path().join("a/peers");
        let mut found = Vec::new();
        for (name, version) in installs {
            let shelf = Shelf::open(script.clone(), folder.clone()).unwrap();
            found.push(shelf.install(name, version));
        }
        assert_eq!(found, states);
        let made = fs::read_to_string(folder.join("calls")).unwrap();
        assert_eq!(made.lines().collect::<Vec<_>>().join("; "), calls);
    }

    #[test]
    fn a_stamped_version_is_not_installed_again() {
        check(
            &[("good", "1"), ("good", "1"), ("good", "2")],
            &[State::Installed, State::Present, State::Installed],
            "install good; run good --version; install good; run good --version",
        );
    }

    #[test]
    fn a_failed_install_is_told_and_tried_again() {
        let missing = || State::Missing("`install bad`: no network".to_owned());
        check(&[("bad", "1"), ("bad", "1")], &[missing(), missing()], "install bad; install bad");
    }

    #[test]
    fn a_peer_that_does_not_start_is_missing() {
        check(
            &[("dull", "1")],
            &[State::Missing("`run dull --version`: wants Node 22".to_owned())],
            "install dull; run dull --version",
        );
    }
}
