//! Why a program could not be started: the error of `exec` names neither the path nor the part
//! that failed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use creel_api::plan::Command;
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// The longest first line of a script that the kernel reads, in bytes.
const MAX_SHEBANG_BYTES: u64 = 256;

/// Returns what stands in the way of a command, as a clause.
pub(super) fn why(command: &Command, error: &io::Error) -> String {
    let cwd = command.cwd.display();
    match fs::metadata(&command.cwd) {
        Err(error) => return format!("can't enter the working directory {cwd}: {error}"),
        Ok(stat) if !stat.is_dir() => {
            return format!("can't enter the working directory {cwd}: it is not a directory");
        }
        Ok(_) => {}
    }
    if let Err(error) = access(&command.cwd, Access::EXEC_OK) {
        let error = io::Error::from(error);
        return format!("can't enter the working directory {cwd}: {error}");
    }
    let program = command.program.display();
    match fs::metadata(&command.program) {
        Err(error) => return format!("can't run {program}: {error}"),
        Ok(stat) if stat.is_dir() => return format!("can't run {program}: it is a directory"),
        Ok(_) => {}
    }
    let errno = error.raw_os_error();
    match interpreter(&command.program) {
        Some(name) if errno == Some(Errno::NOENT.raw_os_error()) => {
            format!("can't run {program}: its interpreter {name} is missing")
        }
        Some(name) if errno == Some(Errno::ACCESS.raw_os_error()) => {
            format!("can't run {program} with its interpreter {name}: {error}")
        }
        _ => format!("can't run {program}: {error}"),
    }
}

fn interpreter(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(program).ok()?.take(MAX_SHEBANG_BYTES).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    String::from_utf8_lossy(line).split_whitespace().next().map(str::to_owned)
}
