//! Homes for agents. They lie in Cargo's folder for tests: Codex doesn't trust one in the system's
//! temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A home, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    path: PathBuf,
}

impl Home {
    /// Makes an empty one.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = base().join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir_all(&path).expect("a home can be made");
        Self { path: path.canonicalize().expect("it was just made") }
    }

    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What is left is removed by the next call of the trials.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Returns the folder of this call of the trials.
pub(crate) fn base() -> PathBuf {
    let path = all().join(std::process::id().to_string());
    fs::create_dir_all(&path).expect("a folder can be made");
    path
}

/// Removes the folder of this call.
pub(crate) fn clear() {
    // What is left is removed by the next call.
    let _ = fs::remove_dir_all(base());
}

/// Removes what calls left that were killed.
pub(crate) fn sweep() {
    for entry in fs::read_dir(all()).into_iter().flatten().flatten() {
        let pid = entry.file_name();
        if !Path::new("/proc").join(&pid).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn all() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers")
}

/// Returns every file below `dir` with what it holds, by its path from there. Links are named, and
/// not followed; what vanishes meanwhile is left out.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let content = if kind.is_dir() {
                dirs.push(path);
                continue;
            } else if kind.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                Vec::new()
            };
            let name = path.strip_prefix(dir).expect("it is below").to_owned();
            found.insert(name, content);
        }
    }
    found
}
