//! The cgroup of a run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use creel_sys::cgroup::{Cgroup, Unavailable};

use crate::order::Grouping;
use crate::say::say;

/// What the names of runs' groups begin with.
const NAME_PREFIX: &[u8] = b"creel-";

/// Makes a group for the run's agent and takes the holder out of the group of another run's agent.
///
/// None when that can't be done, which is said in the log: the processes are then known by session
/// and environment.
pub(super) fn make(run_id: &str, grouping: Grouping) -> Option<Cgroup> {
    if grouping == Grouping::None {
        return None;
    }
    match try_make(run_id) {
        Ok(group) => Some(group),
        Err(error) => {
            say!("creel hold: no cgroup of its own: {}", crate::word::chain(&error));
            None
        }
    }
}

fn try_make(run_id: &str) -> Result<Cgroup, Unavailable> {
    let own = Cgroup::own()?;
    let Some(outside) = outside(own.dir()) else { return own.create_child(run_id) };
    let outside = Cgroup::at(outside.to_owned());
    match outside.join() {
        Ok(()) => outside.create_child(run_id),
        // The run that surrounds this one releases it by its holder all the same.
        Err(_) => own.create_child(run_id),
    }
}

/// Returns the directory that holds the outermost run's group around `dir`.
fn outside(dir: &Path) -> Option<&Path> {
    let is_run =
        |name: Option<&OsStr>| name.is_some_and(|name| name.as_bytes().starts_with(NAME_PREFIX));
    dir.ancestors().filter(|dir| is_run(dir.file_name())).last()?.parent()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dir: &str, expected: Option<&str>) {
        assert_eq!(outside(Path::new(dir)), expected.map(Path::new), "{dir}");
    }

    #[test]
    fn a_nested_run_leaves_every_run_around_it() {
        check("/sys/fs/cgroup", None);
        check("/sys/fs/cgroup/user.slice/a.scope", None);
        check("/sys/fs/cgroup/user.slice/creel-1", Some("/sys/fs/cgroup/user.slice"));
        check("/sys/fs/cgroup/x/creel-1/creel-2/y", Some("/sys/fs/cgroup/x"));
    }
}
