//! Leaving the control group of whoever started us, by a scope of the user's systemd.
//!
//! A service manager ends a service, a login session or a terminal by its control group. What must
//! outlive them gets a scope of its own, where a user manager runs to give one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// How programs are started so that they outlive what we are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Through this `systemd-run`, in a scope each.
    Scope {
        /// The program.
        systemd_run: PathBuf,
    },
    /// As they are: no user manager runs here.
    Detach,
}

impl Escape {
    /// Finds out by the manager's own socket, and by `systemd-run` on the PATH.
    pub fn find() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::with(std::env::var_os("XDG_RUNTIME_DIR").as_deref(), &path)
    }

    fn with(user_runtime_dir: Option<&OsStr>, path: &OsStr) -> Self {
        let has_manager = user_runtime_dir
            .map(Path::new)
            .filter(|dir| dir.is_absolute())
            .is_some_and(|dir| dir.join("systemd/private").exists());
        let program = std::env::split_paths(path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("systemd-run"))
            .find(|program| program.is_file());
        match program {
            Some(systemd_run) if has_manager => Self::Scope { systemd_run },
            _ => Self::Detach,
        }
    }

    /// Returns the program and its arguments that start `program` so.
    pub fn wrap(&self, program: &Path, args: Vec<OsString>) -> (PathBuf, Vec<OsString>) {
        match self {
            Self::Detach => (program.to_owned(), args),
            Self::Scope { systemd_run } => {
                let first = ["--user", "--scope", "--quiet", "--collect", "--"];
                let wrapped = first
                    .into_iter()
                    .map(OsString::from)
                    .chain([program.as_os_str().to_owned()])
                    .chain(args)
                    .collect();
                (systemd_run.clone(), wrapped)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_needs_a_manager_and_the_program() {
        let dir = tempfile::tempdir().expect("a directory");
        let (bin, run) = (dir.path().join("bin"), dir.path().join("run"));
        let check = |expected: Escape| {
            assert_eq!(Escape::with(Some(run.as_os_str()), bin.as_os_str()), expected);
        };
        check(Escape::Detach);
        std::fs::create_dir_all(run.join("systemd")).expect("a directory");
        std::fs::write(run.join("systemd/private"), "").expect("a file");
        check(Escape::Detach);
        std::fs::create_dir_all(&bin).expect("a directory");
        let systemd_run = bin.join("systemd-run");
        std::fs::write(&systemd_run, "").expect("a file");
        check(Escape::Scope { systemd_run: systemd_run.clone() });
        assert_eq!(Escape::with(None, bin.as_os_str()), Escape::Detach);

        let scope = Escape::Scope { systemd_run: systemd_run.clone() };
        let (program, args) = scope.wrap(Path::new("/x/creel"), vec!["host".into()]);
        assert_eq!(program, systemd_run);
        let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        assert_eq!(args, ["--user", "--scope", "--quiet", "--collect", "--", "/x/creel", "host"]);
    }
}
