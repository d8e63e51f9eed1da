//! Which program a keeper is started from: the installed one, so that a newer one takes over, as
//! long as it can be started and keeps the run; else the holder's own, which no replacing of files
//! can take away.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::launch::OWN_EXE;

/// Keepers of one program that may die young, one after the other, before another is tried.
const MAX_YOUNG_DEATHS: u32 = 3;

/// A file as it was when it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// None for the holder's own.
    stamp: Option<Stamp>,
}

/// What became of a keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It lived long.
    Well,
    /// It kept the run, and not for long.
    DiedYoung,
    /// It couldn't be started, or ended before it kept the run.
    NeverHere,
}

/// The choice of programs.
#[derive(Debug)]
pub(super) struct Programs {
    installed: Option<PathBuf>,
    /// The installed file that was given up.
    rejected: Option<Stamp>,
    young_deaths: u32,
}

impl Programs {
    pub(super) fn new(installed: Option<PathBuf>) -> Self {
        Self { installed, rejected: None, young_deaths: 0 }
    }

    /// Returns the program of the next keeper.
    pub(super) fn next(&self) -> Program {
        let installed = self.installed.as_ref().and_then(|path| {
            let stat = std::fs::metadata(path).ok()?;
            let stamp = Stamp {
                device: stat.dev(),
                inode: stat.ino(),
                modified: (stat.mtime(), stat.mtime_nsec()),
            };
            let program = Program { path: path.clone(), stamp: Some(stamp) };
            (self.rejected != Some(stamp)).then_some(program)
        });
        installed.unwrap_or_else(|| Program { path: OWN_EXE.into(), stamp: None })
    }

    /// Takes note of how a keeper went.
    pub(super) fn ended(&mut self, program: &Program, fate: Fate) {
        self.young_deaths = match fate {
            Fate::Well => 0,
            Fate::DiedYoung => self.young_deaths + 1,
            Fate::NeverHere => MAX_YOUNG_DEATHS,
        };
        if self.young_deaths >= MAX_YOUNG_DEATHS {
            self.young_deaths = 0;
            // The holder's own is no worse than nothing, so that it is never given up.
            self.rejected = program.stamp.or(self.rejected);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fates: &[Fate], expected: &str) {
        let dir = tempfile::tempdir().expect("a directory");
        let installed = dir.path().join("creel");
        std::fs::write(&installed, "1").expect("a file");
        let mut programs = Programs::new(Some(installed.clone()));
        for fate in fates {
            programs.ended(&programs.next(), *fate);
        }
        let next = programs.next().path;
        let next = if next == installed { "installed" } else { "own" };
        assert_eq!(next, expected, "{fates:?}");
        // Another file is tried, whatever the one before it did.
        let newer = dir.path().join("newer");
        std::fs::write(&newer, "2").expect("a file");
        std::fs::rename(newer, &installed).expect("is replaced");
        assert_eq!(programs.next().path, installed);
        std::fs::remove_file(&installed).expect("is removed");
        assert_eq!(programs.next().path, PathBuf::from(OWN_EXE));
    }

    #[test]
    fn the_installed_program_is_given_up_once_it_fails_and_tried_when_it_is_another() {
        use Fate::{DiedYoung, NeverHere, Well};
        check(&[], "installed");
        check(&[Well, Well, Well, Well], "installed");
        check(&[DiedYoung, DiedYoung], "installed");
        check(&[DiedYoung, DiedYoung, Well, DiedYoung], "installed");
        check(&[DiedYoung, DiedYoung, DiedYoung], "own");
        check(&[NeverHere], "own");
        check(&[NeverHere, NeverHere], "own");
    }
}
