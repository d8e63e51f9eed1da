//! Which ignored files a tool makes again, and which only a person could.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Names of files and directories that tools make and make again. A name that is not here is
/// taken for somebody's own.
const MADE_AGAIN: [&str; 44] = [
    ".DS_Store",
    ".angular",
    ".bundle",
    ".cache",
    ".ccls-cache",
    ".dart_tool",
    ".eggs",
    ".eslintcache",
    ".gradle",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".nyc_output",
    ".output",
    ".parcel-cache",
    ".pnpm-store",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    ".vite",
    ".yarn",
    "Thumbs.db",
    "__pycache__",
    "_build",
    "bin",
    "bower_components",
    "build",
    "cmake-build-debug",
    "cmake-build-release",
    "coverage",
    "deps",
    "dist",
    "node_modules",
    "obj",
    "out",
    "target",
    "venv",
];

/// Endings of such files.
const MADE_AGAIN_ENDINGS: [&str; 14] = [
    ".a",
    ".class",
    ".d",
    ".dll",
    ".dylib",
    ".egg-info",
    ".exe",
    ".log",
    ".o",
    ".obj",
    ".pyc",
    ".pyo",
    ".so",
    ".tsbuildinfo",
];

/// Bytes that are compared with the main worktree's file.
const MAX_COMPARED_BYTES: u64 = 16 * 1024 * 1024;

/// Tells whether an ignored path, as git lists it, is something that tools make again.
pub(crate) fn is_made_again(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return false;
    };
    let within =
        path.components().any(|part| MADE_AGAIN.iter().any(|known| part.as_os_str() == *known));
    within
        || MADE_AGAIN_ENDINGS
            .iter()
            .any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

/// Tells whether a file is the same in the main worktree, so that nothing is lost with it.
pub(crate) fn is_copy(path: &Path, tree: &Path, main: Option<&Path>) -> bool {
    main.is_some_and(|main| is_same(&tree.join(path), &main.join(path)).unwrap_or(false))
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (a, b) = (fs::symlink_metadata(one)?, fs::symlink_metadata(other)?);
    if a.is_symlink() && b.is_symlink() {
        return Ok(fs::read_link(one)? == fs::read_link(other)?);
    }
    if !a.is_file() || !b.is_file() || a.len() != b.len() || a.len() > MAX_COMPARED_BYTES {
        return Ok(false);
    }
    let read = |path| {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_COMPARED_BYTES).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    Ok(read(one)? == read(other)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MADE_AGAIN, is_made_again};

    fn check(path: &str, expected: bool) {
        assert_eq!(is_made_again(Path::new(path)), expected, "{path}");
    }

    #[test]
    fn what_no_tool_makes_is_somebodys_own() {
        check("target/", true);
        check("web/node_modules/", true);
        check("node_modules/a/.env", true);
        check("src/x.pyc", true);
        check(".env", false);
        check("config/.env.local", false);
        check("notes/", false);
        check("dev.sqlite3", false);
        check("id_ed25519", false);
        check("targets/", false);
        check(".o", false);
        assert!(MADE_AGAIN.is_sorted());
    }
}
