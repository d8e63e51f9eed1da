//! A program laid out for `exec`, which may allocate nothing.

use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::iter::once;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::ptr;

use crate::os::spawn::SessionCommand;

/// The candidates for an executable with its arguments and environment, as `execve` wants them.
pub(super) struct Program {
    candidates: Vec<CString>,
    args: Strings,
    env: Strings,
}

/// Texts, and the array of pointers to them that ends with a null.
struct Strings {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers lead into the heap memory of the texts beside them, which live as long,
// belong to nobody else and are never changed.
unsafe impl Send for Strings {}
// SAFETY: as above; there is no way to change either through a shared reference.
unsafe impl Sync for Strings {}

impl Program {
    /// Lays out a command; refuses text with a zero byte in it.
    pub(super) fn new(command: &SessionCommand) -> io::Result<Self> {
        let name = command.program.clone().into_os_string();
        let args = once(&name).chain(&command.args).cloned();
        let env = command.env.iter().map(|(name, value)| {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            pair
        });
        Ok(Self {
            candidates: candidates(&name, &command.env)?,
            args: Strings::new(args)?,
            env: Strings::new(env)?,
        })
    }

    /// Becomes the program; returns only to say why not. Async-signal-safe.
    pub(super) fn exec(&self) -> io::Error {
        let mut told = libc::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: all are arrays of C strings as `execve` wants them, alive and unchanged.
            unsafe {
                libc::execve(
                    candidate.as_ptr(),
                    self.args.pointers.as_ptr(),
                    self.env.pointers.as_ptr(),
                );
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => {}
                // Another directory may have one that can be run; if not, this says more.
                Some(libc::EACCES) => told = libc::EACCES,
                other => return io::Error::from_raw_os_error(other.unwrap_or(libc::EIO)),
            }
        }
        io::Error::from_raw_os_error(told)
    }
}

impl Strings {
    fn new(texts: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let texts = texts.map(c_string).collect::<io::Result<Vec<CString>>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain(once(ptr::null())).collect();
        Ok(Self { _texts: texts, pointers })
    }
}

/// The paths that `name` may mean under the `PATH` of the program's own environment.
fn candidates(name: &OsStr, env: &[(OsString, OsString)]) -> io::Result<Vec<CString>> {
    if name.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(name.to_owned())?]);
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    path.into_iter()
        .flat_map(std::env::split_paths)
        .filter(|dir| dir.is_absolute())
        .map(|dir| c_string(Path::new(&dir).join(name).into_os_string()))
        .collect()
}

fn c_string(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
