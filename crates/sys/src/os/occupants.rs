//! Which processes stand in a directory: their working directory is it, or lies below it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::os::process::{ProcessIdentity, is_gone};
use crate::os::tree::ProcessTable;

/// A process that stands in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Who it is.
    pub identity: ProcessIdentity,
    /// The name of its program.
    pub comm: String,
    /// Where it stands.
    pub cwd: PathBuf,
}

/// Returns the living processes that stand in `dir` or below it, in the order of their pids; the
/// calling process is not among them.
///
/// `dir` is canonical. Processes whose working directory the kernel doesn't let us see (another
/// user's) and those that see another file system tree are not found.
pub fn occupants(dir: &Path) -> io::Result<Vec<Occupant>> {
    let own_pid = rustix::process::getpid().as_raw_nonzero().get();
    let table = ProcessTable::read()?;
    let mut found = Vec::new();
    for entry in table.entries() {
        if entry.pid == own_pid || entry.is_dead() || entry.is_kernel_thread {
            continue;
        }
        let Some(cwd) = cwd(entry.pid)?.filter(|cwd| cwd.starts_with(dir)) else { continue };
        let identity = ProcessIdentity::of(entry.pid)?;
        // Another process has the pid by now: whoever stood there is gone.
        let Some(identity) = identity.filter(|who| who.start_ticks == entry.start_ticks) else {
            continue;
        };
        found.push(Occupant { identity, comm: entry.comm.clone(), cwd });
    }
    Ok(found)
}

/// Returns the working directory of `pid`; `None` when it has ended or can't be seen.
fn cwd(pid: i32) -> io::Result<Option<PathBuf>> {
    match fs::read_link(format!("/proc/{pid}/cwd")) {
        Ok(path) => Ok(Some(path)),
        Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::occupants;

    #[test]
    fn a_process_below_the_directory_is_found_and_the_caller_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let below = dir.join("below");
        std::fs::create_dir(&below).unwrap();
        let mut child = Command::new("cat")
            .current_dir(&below)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let found = occupants(&dir).unwrap();
        let pids: Vec<u32> =
            found.iter().map(|who| u32::try_from(who.identity.pid).unwrap()).collect();
        assert_eq!(pids, [child.id()]);
        assert_eq!(found[0].cwd, below);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(occupants(&dir).unwrap(), []);
        let here = std::env::current_dir().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(occupants(&here).unwrap().iter().all(|who| who.identity.pid != own));
    }
}
