//! A repository, as the one thing that all its worktrees have in common.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::lock::{LockError, RepoLock};
use super::name::Name;
use crate::git::{Git, GitError};

/// Hex digits that tell repositories of the same name apart.
const HASH_CHARS: usize = 8;

/// No repository was found.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none, or git won't use it.
    #[error("{} is in no repository that git would use", dir.display())]
    NotARepository {
        /// Where one was sought.
        dir: PathBuf,
        /// What git says.
        #[source]
        source: GitError,
    },
    /// Git could not be asked.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A repository.
#[derive(Clone, Debug)]
pub struct Repo {
    git: Git,
    common: PathBuf,
}

impl Repo {
    /// Finds the repository that `dir` is in.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(git: Git, dir: &Path) -> Result<Self, OpenError> {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let mut answer = match git.read(dir, args).run() {
            Ok(answer) => answer,
            Err(source) if source.is_refusal() => {
                return Err(OpenError::NotARepository { dir: dir.to_owned(), source });
            }
            Err(error) => return Err(error.into()),
        };
        answer.pop_if(|byte| *byte == b'\n');
        Ok(Self { git, common: PathBuf::from(OsString::from_vec(answer)) })
    }

    /// Returns git for calls that read.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Returns the directory that all worktrees share, usually `.git` of the main one.
    #[must_use]
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// Returns what people call it: the directory that holds `.git`, or its own without `.git`.
    #[must_use]
    pub fn name(&self) -> String {
        let own = self.common.file_name().unwrap_or_default();
        let named = match own.to_string_lossy().as_ref() {
            ".git" => self.common.parent().and_then(Path::file_name).unwrap_or(own),
            _ => own,
        };
        let text = named.to_string_lossy();
        let text = text.strip_suffix(".git").unwrap_or(&text);
        Name::like(text).map_or_else(|| "repository".to_owned(), |name| name.as_str().to_owned())
    }

    /// Returns the directory below `data` (Creel's own) in which its worktrees are made.
    #[must_use]
    pub fn home(&self, data: &Path) -> PathBuf {
        let digest = Sha256::digest(self.common.as_os_str().as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        data.join("worktrees").join(format!("{}-{}", self.name(), &hex[..HASH_CHARS]))
    }

    /// Takes the right to change its worktrees, and git for calls that do so.
    pub(crate) fn lock(&self) -> Result<(RepoLock, Git), LockError> {
        let lock = RepoLock::take(&self.common)?;
        let git = self.git.holding(lock.shared());
        Ok((lock, git))
    }

    /// Returns the commit that a text names; `None` when it names none.
    pub(crate) fn commit(&self, text: &str) -> Result<Option<String>, GitError> {
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        self.oid(self.git.read(&self.common, args).args([format!("{text}^{{commit}}")]))
    }

    /// Returns what a ref, given in full, points to.
    pub(crate) fn tip(&self, full: &str) -> Result<Option<String>, GitError> {
        self.oid(self.git.read(&self.common, ["rev-parse", "--verify", "--quiet", full]))
    }

    fn oid(&self, call: crate::git::Call<'_>) -> Result<Option<String>, GitError> {
        match call.line() {
            Ok(oid) => Ok(Some(oid)),
            Err(error) if error.is_refusal() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
