//! The directory of sockets: short of path, ours alone, gone after a boot.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, mkdir, open, statat};
use rustix::io::Errno;
use thiserror::Error;

/// The variable that names another directory.
pub const RUNTIME_DIR_VARIABLE: &str = "CREEL_RUNTIME_DIR";

/// The longest path of a socket in bytes: the smallest `sun_path` in use has 104, the last of
/// which ends the text.
pub const MAX_SOCKET_PATH_BYTES: usize = 103;

/// Why the runtime directory can't be used. Nothing was changed in any of these cases.
#[derive(Debug, Error)]
pub enum RuntimeDirError {
    /// The path is relative, so that it would mean another place in another process.
    #[error(
        "the runtime directory {} is not an absolute path; set {RUNTIME_DIR_VARIABLE} to one",
        path.display()
    )]
    Relative {
        /// The directory.
        path: PathBuf,
    },
    /// Something else stands at the path, e.g. a link.
    #[error(
        "the runtime directory {} is {found}, not a directory; remove it or set {RUNTIME_DIR_VARIABLE}",
        path.display()
    )]
    NotADirectory {
        /// The directory.
        path: PathBuf,
        /// What stands there.
        found: &'static str,
    },
    /// Somebody else's directory.
    #[error(
        "the runtime directory {} belongs to user {owner}, not to user {user}; set {RUNTIME_DIR_VARIABLE} to a directory of your own",
        path.display()
    )]
    NotOwned {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// Others can reach into a directory that has other uses too.
    #[error(
        "the runtime directory {} is open to others (mode {mode:04o}) and in use; run `chmod 700` on it or set {RUNTIME_DIR_VARIABLE} to a directory of its own",
        path.display()
    )]
    OpenToOthers {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A socket's path would not fit.
    #[error(
        "the socket path {} has {len_bytes} bytes, more than {MAX_SOCKET_PATH_BYTES}; set {RUNTIME_DIR_VARIABLE} to a shorter path",
        path.display()
    )]
    SocketPathTooLong {
        /// The socket's path.
        path: PathBuf,
        /// Its length in bytes.
        len_bytes: usize,
    },
    /// A socket's name is no file name.
    #[error("the socket name {name:?} is not a plain file name")]
    SocketName {
        /// The name.
        name: String,
    },
    /// It can't be made or looked at.
    #[error("can't prepare the runtime directory {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// The runtime directory, made and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeDir {
    path: PathBuf,
}

impl RuntimeDir {
    /// Opens the directory that [`RUNTIME_DIR_VARIABLE`] names, else `/tmp/creel-<uid>`.
    pub fn open() -> Result<Self, RuntimeDirError> {
        match env::var_os(RUNTIME_DIR_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => Self::at(PathBuf::from(path)),
            None => Self::at(default_path()),
        }
    }

    /// Opens a given directory, made with mode 0700 when it is missing.
    ///
    /// The mode of the default directory, and of an empty one, is made 0700; another that others
    /// can reach into is refused, since it was not made for us.
    pub fn at(path: PathBuf) -> Result<Self, RuntimeDirError> {
        let dir = Self { path };
        dir.ensure()?;
        Ok(dir)
    }

    /// Makes and checks the directory again, e.g. after a cleaner of `/tmp` removed it.
    pub fn ensure(&self) -> Result<(), RuntimeDirError> {
        if !self.path.is_absolute() {
            return Err(RuntimeDirError::Relative { path: self.path.clone() });
        }
        match mkdir(&self.path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(self.io(error)),
        }
        // A link must not lead the check, or the change of mode, elsewhere.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match open(&self.path, flags, Mode::empty()) {
            Ok(dir) => self.check(&dir),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(self.not_a_directory()),
            Err(Errno::ACCESS) => Err(self.not_owned_or(Errno::ACCESS)),
            Err(error) => Err(self.io(error)),
        }
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a socket in it, refused when it doesn't fit a socket's address.
    pub fn socket_path(&self, name: &str) -> Result<PathBuf, RuntimeDirError> {
        if name.is_empty() || name.contains(['/', '\0']) || name == "." || name == ".." {
            return Err(RuntimeDirError::SocketName { name: name.to_owned() });
        }
        let path = self.path.join(name);
        let len_bytes = path.as_os_str().len();
        if len_bytes > MAX_SOCKET_PATH_BYTES {
            return Err(RuntimeDirError::SocketPathTooLong { path, len_bytes });
        }
        Ok(path)
    }

    fn check(&self, dir: &OwnedFd) -> Result<(), RuntimeDirError> {
        let stat = fstat(dir).map_err(|error| self.io(error))?;
        let user = rustix::process::geteuid().as_raw();
        if stat.st_uid != user {
            return Err(self.not_owned(stat.st_uid));
        }
        let mode = stat.st_mode & 0o7777;
        if mode == 0o700 {
            return Ok(());
        }
        if mode & 0o077 != 0 && self.path != default_path() && !self.is_empty()? {
            return Err(RuntimeDirError::OpenToOthers { path: self.path.clone(), mode });
        }
        fchmod(dir, Mode::RWXU).map_err(|error| self.io(error))
    }

    fn is_empty(&self) -> Result<bool, RuntimeDirError> {
        let mut entries = std::fs::read_dir(&self.path)
            .map_err(|source| RuntimeDirError::Io { path: self.path.clone(), source })?;
        Ok(entries.next().is_none())
    }

    fn not_a_directory(&self) -> RuntimeDirError {
        let found = match statat(rustix::fs::CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => "a symbolic link",
            _ => "a file",
        };
        RuntimeDirError::NotADirectory { path: self.path.clone(), found }
    }

    /// Somebody else's directory of mode 0700 can't even be opened.
    fn not_owned_or(&self, error: Errno) -> RuntimeDirError {
        let user = rustix::process::geteuid().as_raw();
        match statat(rustix::fs::CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_uid != user => self.not_owned(stat.st_uid),
            _ => self.io(error),
        }
    }

    fn not_owned(&self, owner: u32) -> RuntimeDirError {
        let user = rustix::process::geteuid().as_raw();
        RuntimeDirError::NotOwned { path: self.path.clone(), owner, user }
    }

    fn io(&self, error: Errno) -> RuntimeDirError {
        RuntimeDirError::Io { path: self.path.clone(), source: error.into() }
    }
}

fn default_path() -> PathBuf {
    PathBuf::from(format!("/tmp/creel-{}", rustix::process::geteuid().as_raw()))
}

#[cfg(test)]
mod tests;
