//! The text files of the repository: those git tracks, and those it would (not ignored).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// One file's text and whether git already tracks it.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// The text; bytes that aren't UTF-8 are replaced, lines keep their numbers.
    pub(crate) text: String,
    /// True when the file is in git's index.
    pub(crate) is_tracked: bool,
}

/// Files by path relative to the root, with `/` between the parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Reads the work tree at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.add(root, &["ls-files", "-z", "--others", "--exclude-standard"], false)?;
        tree.add(root, &["ls-files", "-z", "--cached"], true)?;
        Ok(tree)
    }

    fn add(&mut self, root: &Path, arguments: &[&str], is_tracked: bool) -> Result<()> {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(arguments)
            // Under a git hook these name another tree than `root`.
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .env_remove("GIT_WORK_TREE")
            .output()
            .context("starting git")?;
        ensure!(output.status.success(), "git ls-files failed in {}", root.display());
        let names = String::from_utf8_lossy(&output.stdout);
        for path in names.split('\0').filter(|path| !path.is_empty()) {
            let bytes = match fs::read(root.join(path)) {
                Ok(bytes) => bytes,
                // Deleted in the work tree but not yet in the index.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // A submodule or a link to a folder has no text.
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => continue,
                Err(error) => return Err(error).with_context(|| format!("reading {path}")),
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.files.insert(path.to_owned(), File { text, is_tracked });
        }
        Ok(())
    }

    /// Returns the number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the file at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// Returns every path and its text, by path.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file.text.as_str()))
    }

    /// Returns the Rust files, by path.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Returns the names and texts of the files directly in `folder`.
    pub(crate) fn in_folder<'a>(
        &'a self,
        folder: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.iter().filter_map(move |(path, text)| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?;
            (!name.contains('/')).then_some((name, text))
        })
    }
}

/// Returns true when `path` holds only tests: `tests.rs`, or anything under a `tests/` folder.
pub(crate) fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests")
}

#[cfg(test)]
impl Tree {
    /// Returns a tree of tracked files.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |text: &str| File { text: text.to_owned(), is_tracked: true };
        Self { files: files.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect() }
    }

    /// Returns the tree with `path` out of git's index.
    pub(crate) fn untracked(mut self, path: &str) -> Self {
        if let Some(file) = self.files.get_mut(path) {
            file.is_tracked = false;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::Tree;

    fn git(root: &Path, arguments: &[&str]) {
        let status = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(arguments)
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .env_remove("GIT_WORK_TREE")
            .status()
            .unwrap();
        assert!(status.success(), "git {arguments:?}");
    }

    #[test]
    fn tracked_and_new_files_are_read_but_not_ignored_or_deleted_ones() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        git(root, &["init", "--quiet"]);
        for (name, text) in
            [(".gitignore", "ignored\n"), ("ignored", "i"), ("kept", "k"), ("gone", "g")]
        {
            fs::write(root.join(name), text).unwrap();
        }
        git(root, &["add", "kept", "gone"]);
        fs::remove_file(root.join("gone")).unwrap();
        fs::write(root.join("new"), [b'n', 0xff]).unwrap();
        let tree = Tree::read(root).unwrap();
        let found: Vec<_> = tree
            .iter()
            .map(|(path, text)| (path, text, tree.get(path).unwrap().is_tracked))
            .collect();
        assert_eq!(
            found,
            [(".gitignore", "ignored\n", false), ("kept", "k", true), ("new", "n\u{fffd}", false)]
        );
    }
}
