//! The kernel's table of `flock`s: who looks there is in nobody's way, as one who tries a lock is.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

/// Tells whether a process holds a `flock` on a file; false when there is no such file.
///
/// A lock is not listed whose taker is not of the caller's process namespace, and may not be
/// recognised on a file system that numbers its volumes itself.
pub fn is_locked(path: &Path) -> io::Result<bool> {
    let stat = match fs::metadata(path) {
        Ok(stat) => stat,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let device = (major(stat.dev()), minor(stat.dev()));
    Ok(lists(&fs::read_to_string("/proc/locks")?, device, stat.ino()))
}

/// Looks for a held `flock` on a file in the text of `/proc/locks`. A waiter's line has an arrow
/// behind its number.
fn lists(table: &str, (major, minor): (u32, u32), inode: u64) -> bool {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields.get(1) == Some(&"FLOCK") && fields.get(5) == Some(&file.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{FsFile, LockMode, OpenHow};
    use crate::os::os_fs::OsFs;

    const TABLE: &str = "1: FLOCK  ADVISORY  WRITE 22595 fe:00:1003 0 EOF\n\
                         1: -> FLOCK  ADVISORY  WRITE 22596 fe:00:1003 0 EOF\n\
                         2: -> FLOCK  ADVISORY  WRITE 22597 fe:00:1004 0 EOF\n\
                         3: POSIX  ADVISORY  WRITE 17263 fe:00:1005 0 EOF\n\
                         4: FLOCK  ADVISORY  READ 17263 103:0a:1006 0 EOF\n";

    fn check(device: (u32, u32), inode: u64, expected: bool) {
        assert_eq!(lists(TABLE, device, inode), expected, "{device:?} {inode}");
    }

    #[test]
    fn held_locks_of_the_very_file_count_and_nothing_else() {
        check((0xfe, 0), 1003, true);
        check((0xfe, 1), 1003, false);
        check((0xfe, 0), 100, false);
        check((0xfe, 0), 1004, false);
        check((0xfe, 0), 1005, false);
        check((0x103, 0xa), 1006, true);
    }

    #[test]
    fn a_lock_is_seen_while_it_is_held() {
        let path = std::env::temp_dir().join(format!("creel-flock-table-{}", std::process::id()));
        assert!(!is_locked(&path).expect("readable"));
        let file = OsFs.open_file(&path, OpenHow::Create).expect("it can be made");
        assert!(!is_locked(&path).expect("readable"));
        assert!(file.lock(LockMode::Exclusive, std::time::Duration::ZERO).expect("it is free"));
        assert!(is_locked(&path).expect("readable"));
        drop(file);
        assert!(!is_locked(&path).expect("readable"));
        fs::remove_file(&path).expect("it is ours");
    }
}
