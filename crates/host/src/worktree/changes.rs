//! What of a worktree is not committed.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::git::{Call, Git, GitError, Patience};

/// One tracked file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Its path below the top.
    pub(crate) path: Vec<u8>,
    /// True when the index differs from the commit.
    pub(crate) is_staged: bool,
    /// True when the file differs from the index.
    pub(crate) is_unstaged: bool,
    /// True when it is a submodule.
    pub(crate) is_submodule: bool,
}

/// What is not committed. Paths are as git has them: bytes, relative to the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub(crate) changed: Vec<Changed>,
    pub(crate) unmerged: Vec<Vec<u8>>,
    pub(crate) untracked: Vec<Vec<u8>>,
    pub(crate) ignored: Vec<Vec<u8>>,
    /// Files that git was told not to look at, and that are there all the same.
    pub(crate) unwatched: Vec<Vec<u8>>,
    /// Stands for what the index holds of the changed files, submodules left out.
    index_digest: Vec<u8>,
}

/// Whether submodules are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submodules {
    /// They are; a change in one is one of the worktree.
    Asked,
    /// They are not.
    LeftOut,
}

impl Changes {
    /// Asks git about the files at a tree, with the worktree's own directory of the repository.
    /// Filters that fail are left out of it: a file then counts as changed.
    pub(crate) fn read(
        git: &Git,
        (admin, tree): (&Path, &Path),
        submodules: Submodules,
    ) -> Result<Self, GitError> {
        let status = || {
            in_tree(git, (admin, tree), STATUS).args([match submodules {
                Submodules::Asked => "--ignore-submodules=none",
                Submodules::LeftOut => "--ignore-submodules=all",
            }])
        };
        let mut changes = match Self::status(status()) {
            Err(error) if error.is_refusal() => {
                let mut call = status();
                for setting in without_filters(git, admin)? {
                    call = call.setting(setting);
                }
                Self::status(call)?
            }
            found => found?,
        };
        // A flagged file that is missing is a sparse one: there is nothing of it to lose.
        let flagged = in_tree(git, (admin, tree), &["ls-files", "-v", "-z"]);
        flagged.patience(Patience::Scan).records(|record| {
            let Some((tag, path)) = record.split_first_chunk::<2>() else { return };
            let is_flagged = tag[0] == b'S' || tag[0].is_ascii_lowercase();
            if is_flagged && std::fs::symlink_metadata(tree.join(as_path(path))).is_ok() {
                changes.unwatched.push(path.to_vec());
            }
        })?;
        Ok(changes)
    }

    fn status(call: Call<'_>) -> Result<Self, GitError> {
        let mut changes = Self::default();
        call.patience(Patience::Scan).records(|record| changes.take(record))?;
        Ok(changes)
    }

    /// Returns what is left when submodules are not looked into.
    pub(crate) fn without_submodules(&self) -> Self {
        let mut rest = self.clone();
        rest.changed.retain(|changed| !changed.is_submodule);
        rest
    }

    /// Takes one record of `status --porcelain=v2 -z` without renames.
    fn take(&mut self, record: &[u8]) {
        // `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`, `! path`.
        let after = |count: usize| record.splitn(count + 1, |b| *b == b' ').nth(count);
        match record.first() {
            Some(b'1') => {
                let mut fields = record.split(|byte| *byte == b' ').skip(1);
                let xy = fields.next().unwrap_or_default();
                let is_submodule = fields.next().is_some_and(|sub| sub.starts_with(b"S"));
                let Some(path) = after(8) else { return };
                if !is_submodule {
                    self.digest(record);
                }
                self.changed.push(Changed {
                    path: path.to_vec(),
                    is_staged: xy.first() != Some(&b'.'),
                    is_unstaged: xy.get(1) != Some(&b'.'),
                    is_submodule,
                });
            }
            Some(b'u') => {
                self.digest(record);
                self.unmerged.extend(after(10).map(<[u8]>::to_vec));
            }
            Some(b'?') => self.untracked.extend(after(1).map(<[u8]>::to_vec)),
            Some(b'!') => self.ignored.extend(after(1).map(<[u8]>::to_vec)),
            _ => {}
        }
    }

    fn digest(&mut self, record: &[u8]) {
        let digest = Sha256::new().chain_update(&self.index_digest).chain_update(record);
        self.index_digest = digest.finalize().to_vec();
    }

    /// Tells whether nothing would be lost with the files; ignored ones are another matter.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty()
            && self.unmerged.is_empty()
            && self.untracked.is_empty()
            && self.unwatched.is_empty()
    }

    /// Returns how many files are staged.
    #[must_use]
    pub fn staged_count(&self) -> usize {
        self.changed.iter().filter(|changed| changed.is_staged).count()
    }

    /// Returns how many tracked files differ from the index, conflicts included.
    #[must_use]
    pub fn unstaged_count(&self) -> usize {
        self.changed.iter().filter(|changed| changed.is_unstaged).count() + self.unmerged.len()
    }

    /// Returns how many files git doesn't know.
    #[must_use]
    pub fn untracked_count(&self) -> usize {
        self.untracked.len()
    }

    /// Returns how many files or whole directories git was told to ignore.
    #[must_use]
    pub fn ignored_count(&self) -> usize {
        self.ignored.len()
    }
}

const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "-z",
    "--untracked-files=all",
    "--ignored=matching",
    "--no-renames",
];

/// Prepares a call that reads a worktree, whatever the `.git` file in it says.
fn in_tree<'g>(git: &'g Git, (admin, tree): (&Path, &Path), args: &[&str]) -> Call<'g> {
    git.read(tree, args).env("GIT_DIR", admin).env("GIT_WORK_TREE", tree)
}

/// Returns the settings that switch every configured filter off.
fn without_filters(git: &Git, admin: &Path) -> Result<Vec<String>, GitError> {
    let mut settings = Vec::new();
    let args = ["config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$"];
    let asked = git.read(Path::new("/"), args).env("GIT_DIR", admin).records(|record| {
        let key = String::from_utf8_lossy(record);
        settings.push(format!("{key}="));
        if let Some((filter, _)) = key.rsplit_once('.') {
            settings.push(format!("{filter}.required=false"));
        }
    });
    match asked {
        // Git answers with a failure when no setting matches.
        Err(error) if error.is_refusal() => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(()) => Ok(settings),
    }
}

/// Returns a path of git's as one of the system's.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Changed, Changes};

    fn check(records: &[&[u8]], expected: &Changes) {
        let mut found = Changes::default();
        for record in records {
            found.take(record);
        }
        found.index_digest.clear();
        assert_eq!(&found, expected);
    }

    #[test]
    fn each_kind_of_record_is_read_and_paths_keep_their_bytes() {
        let changed = |path: &[u8], staged, unstaged, submodule| Changed {
            path: path.to_vec(),
            is_staged: staged,
            is_unstaged: unstaged,
            is_submodule: submodule,
        };
        check(
            &[
                b"1 M. N... 100644 100644 100644 aa bb a b\nc",
                b"1 .M SC.. 160000 160000 160000 aa bb sub",
                b"u UU N... 100644 100644 100644 100644 aa bb cc both ways",
                b"? caf\xe9 x",
                b"! target/",
                b"# branch.oid x",
                b"",
            ],
            &Changes {
                changed: vec![
                    changed(b"a b\nc", true, false, false),
                    changed(b"sub", false, true, true),
                ],
                unmerged: vec![b"both ways".to_vec()],
                untracked: vec![b"caf\xe9 x".to_vec()],
                ignored: vec![b"target/".to_vec()],
                unwatched: vec![],
                index_digest: vec![],
            },
        );
    }

    #[test]
    fn another_staged_content_is_another_change() {
        let read = |record: &[u8]| {
            let mut found = Changes::default();
            found.take(record);
            found
        };
        let staged = |oid: &str| format!("1 M. N... 100644 100644 100644 aa {oid} a").into_bytes();
        assert_eq!(read(&staged("bb")), read(&staged("bb")));
        assert_ne!(read(&staged("bb")), read(&staged("cc")));
    }

    proptest::proptest! {
        #[test]
        fn no_record_is_too_strange(record in proptest::collection::vec(0u8.., 0..64)) {
            Changes::default().take(&record);
        }
    }
}
