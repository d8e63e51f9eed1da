//! Returns of agents that can reach nothing but a directory: the result is written to a file there
//! and renamed to `finish` or `await`.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::say::say;
use creel_record::Disposition;
use creel_record::limits::MAX_PAYLOAD_BYTES;
use creel_sys::watch::DirWatch;
use rustix::fs::OFlags;
use std::os::fd::AsFd;

/// The directory, watched.
pub(super) struct ReturnDir {
    path: PathBuf,
    watch: Option<DirWatch>,
}

impl ReturnDir {
    /// Starts to watch. Without a watch, returns are found when the agent has ended.
    pub(super) fn new(path: PathBuf) -> Self {
        let watch = DirWatch::new(&path)
            .inspect_err(|error| say!("creel keep: {}", crate::word::chain(error)))
            .ok();
        Self { path, watch }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Reads the return, if one is there.
    pub(super) fn collect(&mut self) -> Option<(Disposition, String)> {
        if let Some(watch) = &self.watch
            && let Err(error) = watch.drain()
        {
            say!("creel keep: {}", crate::word::chain(&error));
            self.watch = None;
        }
        [(Disposition::Finish, "finish"), (Disposition::Await, "await")].into_iter().find_map(
            |(disposition, name)| {
                let path = self.path.join(name);
                match read(&path) {
                    Ok(payload) => Some((disposition, payload)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    Err(error) => {
                        say!("creel keep: can't take {}: {error}", path.display());
                        None
                    }
                }
            },
        )
    }
}

/// Reads a regular file. A link is refused: it would have this process read for the agent what the
/// agent's sandbox keeps from it.
fn read(path: &Path) -> io::Result<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_PAYLOAD_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_PAYLOAD_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prepare: impl Fn(&Path), expected: Option<(Disposition, &str)>) {
        let dir = tempfile::tempdir().expect("a directory");
        prepare(dir.path());
        let found = ReturnDir::new(dir.path().to_owned()).collect();
        assert_eq!(found, expected.map(|(disposition, text)| (disposition, text.to_owned())));
    }

    #[test]
    fn a_file_of_either_name_is_a_return() {
        check(|_| {}, None);
        let write = |name: &'static str, text: &'static str| {
            move |dir: &Path| std::fs::write(dir.join(name), text).expect("writes")
        };
        check(write("finish", "done"), Some((Disposition::Finish, "done")));
        check(write("await", "so far"), Some((Disposition::Await, "so far")));
        check(write("draft", "x"), None);
    }

    #[test]
    fn links_and_directories_are_not_read() {
        check(|dir| std::os::unix::fs::symlink("/etc/hostname", dir.join("finish")).unwrap(), None);
        check(|dir| std::fs::create_dir(dir.join("finish")).unwrap(), None);
    }
}
