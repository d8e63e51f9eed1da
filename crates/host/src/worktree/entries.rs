//! Files into git's objects byte by byte, and trees made of them, on an index of our own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::changes::as_path;
use super::rescue::{LeftOut, RescueError};
use super::surroundings::{FileError, is_missing};
use crate::git::{Call, Git, GitError, Patience, write_records};

/// The executable bit of a file's owner; the only one that git keeps.
const OWNER_MAY_RUN: u32 = 0o100;

/// What stands for a path in a tree: its mode and object, or its absence.
pub(crate) type Entries = BTreeMap<Vec<u8>, Option<(&'static str, String)>>;

/// A place beside the worktree's index for a rescue's own ones; gone with it.
#[derive(Debug)]
pub(crate) struct Bench<'g> {
    git: &'g Git,
    admin: PathBuf,
    dir: PathBuf,
    zero: String,
}

impl<'g> Bench<'g> {
    /// Makes the place; what a killed rescue left there is removed.
    pub(crate) fn new(git: &'g Git, admin: &Path) -> Result<Self, RescueError> {
        let dir = admin.join("creel-rescue");
        let make = || {
            match fs::remove_dir_all(&dir) {
                Err(error) if !is_missing(&error) => return Err(error),
                _ => {}
            }
            fs::create_dir(&dir)
        };
        make().map_err(FileError::on("make", &dir))?;
        let mut bench = Self { git, admin: admin.to_owned(), dir, zero: String::new() };
        let format = bench.plain(&["rev-parse", "--show-object-format"]).line()?;
        bench.zero = "0".repeat(if format == "sha256" { 64 } else { 40 });
        Ok(bench)
    }

    /// Prepares a call on the index `name` of ours.
    pub(crate) fn on_index(&self, name: &str, args: &[&str]) -> Call<'g> {
        self.plain(args).env("GIT_INDEX_FILE", self.dir.join(name)).patience(Patience::Scan)
    }

    /// Prepares a call on the repository alone.
    pub(crate) fn plain(&self, args: &[&str]) -> Call<'g> {
        self.git.write(&self.admin, args).env("GIT_DIR", &self.admin)
    }

    /// Copies the worktree's index; false when it has none.
    pub(crate) fn copy_index(&self, name: &str) -> Result<bool, FileError> {
        let own = self.admin.join("index");
        match fs::copy(&own, self.dir.join(name)) {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(source) => Err(FileError { what: "copy", path: own, source }),
        }
    }

    /// Copies one index of ours.
    pub(crate) fn copy(&self, from: &str, to: &str) -> Result<(), FileError> {
        match fs::copy(self.dir.join(from), self.dir.join(to)) {
            Err(error) if !is_missing(&error) => {
                Err(FileError { what: "copy", path: self.dir.join(from), source: error })
            }
            _ => Ok(()),
        }
    }

    /// Returns what takes a path out of an index.
    pub(crate) fn absence(&self) -> String {
        format!("0 {}", self.zero)
    }

    /// Puts entries into an index of ours; each is `mode object stage` and a path.
    pub(crate) fn put<'r>(
        &self,
        index: &str,
        entries: impl IntoIterator<Item = (String, &'r [u8])>,
    ) -> Result<(), GitError> {
        let records: Vec<Vec<u8>> = entries
            .into_iter()
            .map(|(head, path)| [head.as_bytes(), b"\t", path].concat())
            .collect();
        if records.is_empty() {
            return Ok(());
        }
        let call = self.on_index(index, &["update-index", "-z", "--index-info"]);
        call.stdin(|file| write_records(file, records.iter().map(Vec::as_slice)))?.run()?;
        Ok(())
    }

    /// Writes the tree of an index of ours.
    pub(crate) fn tree(&self, index: &str) -> Result<String, GitError> {
        self.on_index(index, &["write-tree", "--missing-ok"]).line()
    }

    /// Makes a tree of trees; each has a name.
    pub(crate) fn tree_of(&self, trees: &[(&str, String)]) -> Result<String, GitError> {
        let records: Vec<Vec<u8>> = trees
            .iter()
            .map(|(name, oid)| format!("040000 tree {oid}\t{name}").into_bytes())
            .collect();
        let call = self.plain(&["mktree", "-z"]);
        call.stdin(|file| write_records(file, records.iter().map(Vec::as_slice)))?.line()
    }

    /// Hashes files, by their full paths and as they are; stores them when `keep` says so.
    pub(crate) fn hash(&self, files: &[PathBuf], keep: Keep) -> Result<Vec<String>, GitError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let args: &[&str] = match keep {
            Keep::Stored => &["hash-object", "--no-filters", "--stdin-paths", "-w"],
            Keep::Told => &["hash-object", "--no-filters", "--stdin-paths"],
        };
        let call = self.plain(args).patience(Patience::Copy).stdin(|file| {
            let mut out = io::BufWriter::new(file);
            for path in files {
                out.write_all(&quoted(path.as_os_str().as_bytes()))?;
                out.write_all(b"\n")?;
            }
            out.flush()
        })?;
        let answer = call.run()?;
        let oids: Vec<String> =
            String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect();
        if oids.len() == files.len() {
            Ok(oids)
        } else {
            Err(GitError::unexpected("hash-object", &answer))
        }
    }

    /// Reads what stands at `paths` below `tree` into entries, byte by byte and without filters.
    pub(crate) fn read(
        &self,
        tree: &Path,
        paths: impl IntoIterator<Item = Vec<u8>>,
        keep: Keep,
    ) -> Result<(Entries, Vec<LeftOut>), RescueError> {
        let mut entries = Entries::new();
        let mut left_out = Vec::new();
        let mut files = Vec::new();
        let mut owners: Vec<(Vec<u8>, &'static str)> = Vec::new();
        for path in paths {
            let full = tree.join(as_path(&path));
            let stat = match fs::symlink_metadata(&full) {
                Ok(stat) => stat,
                Err(error) if is_missing(&error) => {
                    entries.insert(path, None);
                    continue;
                }
                Err(source) => return Err(FileError { what: "read", path: full, source }.into()),
            };
            if stat.is_file() {
                let runs = stat.mode() & OWNER_MAY_RUN != 0;
                owners.push((path, if runs { "100755" } else { "100644" }));
                files.push(full);
            } else if stat.is_symlink() {
                let target = fs::read_link(&full).map_err(FileError::on("read", &full))?;
                let copy = self.dir.join(format!("link-{}", files.len()));
                let write = || File::create(&copy)?.write_all(target.as_os_str().as_bytes());
                write().map_err(FileError::on("write", &copy))?;
                owners.push((path, "120000"));
                files.push(copy);
            } else if stat.is_dir() && full.join(".git").exists() {
                match self.git.read(&full, ["rev-parse", "--verify", "--quiet", "HEAD"]).line() {
                    Ok(oid) if !path.ends_with(b"/") => {
                        entries.insert(path, Some(("160000", oid)));
                    }
                    _ => left_out.push(LeftOut::new(&path, "it is a repository of its own")),
                }
            } else if stat.is_dir() {
                // A tracked file's place: as far as git goes, the file is gone.
                entries.insert(path, None);
            } else {
                left_out.push(LeftOut::new(&path, "it is no file"));
            }
        }
        for (oid, (path, mode)) in self.hash(&files, keep)?.into_iter().zip(owners) {
            entries.insert(path, Some((mode, oid)));
        }
        Ok((entries, left_out))
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // The next rescue removes what stays.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Whether hashed files are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// As objects of the repository.
    Stored,
    /// Not at all: only their names are wanted.
    Told,
}

/// Writes a path as git quotes it, since a line of its input can't hold every path else.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b' '..=b'~' => out.push(*byte),
            // Writing to a Vec can't fail.
            other => out.extend(format!("\\{other:03o}").bytes()),
        }
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    fn check(path: &[u8], expected: &str) {
        assert_eq!(String::from_utf8(quoted(path)).unwrap(), expected);
    }

    #[test]
    fn any_path_fits_on_a_line() {
        check(b"a b", r#""a b""#);
        check(b"a\nb\"c\\", r#""a\012b\"c\\""#);
        check(b"caf\xe9\x7f\x01", r#""caf\351\177\001""#);
    }
}
