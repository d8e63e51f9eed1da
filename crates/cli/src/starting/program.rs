//! Finding a harness's program on the user's PATH, before anything is created.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// In the place of a program: the caller's own shell.
const USER_SHELL: &str = "$SHELL";

/// Returns the executable file that `program` names: itself when it is a path, else the first of
/// that name in the directories of `path`. Relative directories are passed over, since they would
/// mean another program in another working directory.
pub(crate) fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    if program == USER_SHELL {
        let own = std::env::var("SHELL").ok().filter(|shell| shell.contains('/'));
        return own.and_then(|shell| find(&shell, path)).or_else(|| find("sh", path));
    }
    if program.contains('/') {
        let named = PathBuf::from(program);
        return (named.is_absolute() && is_executable(&named)).then_some(named);
    }
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|stat| stat.is_file() && stat.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::find;

    fn check(program: &str, path: &str, is_found: bool) {
        assert_eq!(find(program, path.as_ref()).is_some(), is_found, "{program} on {path}");
    }

    #[test]
    fn a_program_is_an_executable_file_of_an_absolute_directory() {
        check("sh", "/nowhere:/bin", true);
        check("sh", "bin:.", false);
        check("sh", "", false);
        check("/bin/sh", "", true);
        check("./sh", "/bin", false);
        check("passwd", "/etc", false);
    }
}
