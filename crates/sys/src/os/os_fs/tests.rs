use super::*;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use rustix::io::{FdFlags, fcntl_getfd};

use crate::fs::{read_exact_at, write_all_at};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o7777
}

fn open(path: &Path) -> OsFile {
    OsFs.open_file(path, OpenHow::Create).expect("a file")
}

/// Checks how an open of a missing and of a present file goes.
fn check(how: OpenHow, missing: Result<(), io::ErrorKind>, present: Result<(), io::ErrorKind>) {
    let dir = dir();
    let path = dir.path().join("a");
    let opened = || {
        let file = OsFs.open_file(&path, how).map_err(|error| error.kind())?;
        assert!(fcntl_getfd(&file).expect("flags").contains(FdFlags::CLOEXEC), "{how:?}");
        assert_eq!(mode(&path), 0o600, "{how:?}");
        Ok(())
    };
    assert_eq!(opened(), missing, "{how:?}");
    drop(open(&path));
    assert_eq!(opened(), present, "{how:?}");
}

#[test]
fn files_are_opened_close_on_exec_and_made_for_their_owner() {
    use io::ErrorKind::{AlreadyExists, NotFound};
    check(OpenHow::Read, Err(NotFound), Ok(()));
    check(OpenHow::ReadWrite, Err(NotFound), Ok(()));
    check(OpenHow::Create, Ok(()), Ok(()));
    check(OpenHow::CreateNew, Ok(()), Err(AlreadyExists));
    check(OpenHow::Append, Ok(()), Ok(()));
}

#[test]
fn directories_are_made_for_their_owner_and_left_as_they_are() {
    let dir = dir();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
    let path = dir.path().join("b/c");
    OsFs.create_dir_all(&path).expect("directories");
    OsFs.create_dir_all(&path).expect("they may be there");
    OsFs.sync_dir(&path).expect("a sync");
    let modes = [dir.path(), &dir.path().join("b"), &path].map(mode);
    assert_eq!(modes, [0o755, 0o700, 0o700]);
}

#[test]
fn a_file_opened_for_appending_ignores_offsets() {
    let dir = dir();
    let path = dir.path().join("a");
    let append = OsFs.open_file(&path, OpenHow::Append).expect("a file");
    let other = open(&path);
    write_all_at(&append, b"one", 0).expect("a write");
    write_all_at(&other, b"two", 3).expect("a write");
    write_all_at(&append, b"six", 0).expect("a write");
    write_all_at(&other, b"O", 0).expect("a write");
    append.sync_data().expect("a sync");
    assert_eq!(read_exact_at(&append, 0, 9).expect("nine bytes"), b"Onetwosix");
    let too_much = read_exact_at(&append, 1, 9).expect_err("eight bytes");
    assert_eq!(too_much.kind(), io::ErrorKind::UnexpectedEof);
    other.set_len(3).expect("a shorter file");
    assert_eq!(append.stat().expect("a stat").len_bytes, 3);
}

#[test]
fn the_read_only_mark_is_the_owners_write_bit() {
    let dir = dir();
    let path = dir.path().join("a");
    let file = open(&path);
    for (read_only, bits) in [(true, 0o400), (false, 0o600)] {
        file.set_read_only(read_only).expect("a mark");
        assert_eq!(mode(&path), bits);
        assert_eq!(OsFs.stat(&path).expect("a stat").is_read_only, read_only);
        write_all_at(&file, b"x", 0).expect("an open file stays usable");
    }
}

#[test]
fn stats_tell_files_apart() {
    let dir = dir();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let file = open(&a);
    assert_eq!(OsFs.stat(&a).expect("a stat"), file.stat().expect("a stat"));
    drop(open(&b));
    OsFs.rename(&b, &a).expect("a rename");
    assert_ne!(OsFs.stat(&a).expect("a stat").file_id, file.stat().expect("a stat").file_id);
    assert_eq!(OsFs.read_dir(dir.path()).expect("names"), ["a"]);
    OsFs.remove_file(&a).expect("a removal");
    assert!(OsFs.stat(dir.path()).expect("a stat").is_dir);
}

#[test]
fn a_fifo_in_the_way_does_not_block() {
    let dir = dir();
    let path = dir.path().join("a");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .expect("a fifo");
    let opened = OsFs.open_file(&path, OpenHow::Read).expect("an open that returns");
    assert!(!opened.stat().expect("a stat").is_file);
}

/// For claims that a lock can't be had, or that nobody had it before. One that was just given up
/// is waited for: a child that another test is forking has it too until it runs its program.
fn taken(file: &OsFile, mode: LockMode) -> bool {
    file.try_lock(mode).expect("a lock or none")
}

fn waited(file: &OsFile, mode: LockMode, within: Duration) -> bool {
    file.lock(mode, within).expect("a lock or none")
}

#[test]
fn a_lock_is_shared_or_exclusive_and_ends_with_its_file() {
    use LockMode::{Exclusive, Shared};
    let dir = dir();
    let path = dir.path().join("lease");
    let (a, b) = (open(&path), open(&path));
    assert!(taken(&a, Shared) && taken(&b, Shared));
    drop(b);
    assert!(waited(&a, Exclusive, LONG));
    let b = open(&path);
    assert!(!taken(&b, Shared));
    assert!(!waited(&b, Shared, SHORT));
    drop(a);
    assert!(waited(&b, Shared, LONG));
}

#[test]
fn a_waiter_gets_the_lock_when_its_holder_goes() {
    let dir = dir();
    let path = dir.path().join("lease");
    let (a, b) = (open(&path), open(&path));
    assert!(taken(&a, LockMode::Exclusive));
    let waiter = thread::spawn(move || (waited(&b, LockMode::Exclusive, LONG), b));
    drop(a);
    let (is_taken, b) = waiter.join().expect("a waiter");
    assert!(is_taken);
    assert!(!taken(&open(&path), LockMode::Exclusive));
    drop(b);
    assert!(waited(&open(&path), LockMode::Exclusive, LONG), "nothing else keeps it");
}

#[test]
fn a_lock_that_comes_too_late_is_not_kept() {
    let dir = dir();
    let path = dir.path().join("lease");
    let (a, b) = (open(&path), open(&path));
    assert!(taken(&a, LockMode::Exclusive));
    assert!(!waited(&b, LockMode::Exclusive, SHORT));
    drop(a);
    assert!(waited(&open(&path), LockMode::Exclusive, LONG), "b is open, but gave up");
    drop(b);
}

#[test]
fn a_wait_that_was_given_up_is_taken_up_again() {
    let dir = dir();
    let path = dir.path().join("lease");
    for round in 0..50 {
        let (a, b) = (open(&path), open(&path));
        assert!(taken(&a, LockMode::Exclusive));
        assert!(!waited(&b, LockMode::Exclusive, Duration::from_micros(round * 20)));
        assert!(!taken(&b, LockMode::Exclusive));
        let releaser = thread::spawn(move || drop(a));
        assert!(waited(&b, LockMode::Exclusive, LONG));
        releaser.join().expect("a releaser");
        assert!(!taken(&open(&path), LockMode::Shared), "b has it");
        drop(b);
        assert!(waited(&open(&path), LockMode::Exclusive, LONG), "nobody has it");
    }
}

#[test]
fn a_lock_that_came_too_late_can_still_be_had() {
    let dir = dir();
    let path = dir.path().join("lease");
    for _ in 0..50 {
        let (a, b) = (open(&path), open(&path));
        assert!(taken(&a, LockMode::Exclusive));
        assert!(!waited(&b, LockMode::Exclusive, Duration::from_micros(50)));
        drop(a);
        // For the moment it takes to give it back, the thread may hold the lock: it is b's own.
        assert!(waited(&b, LockMode::Exclusive, LONG));
        assert!(!taken(&open(&path), LockMode::Shared));
        drop(b);
        assert!(waited(&open(&path), LockMode::Exclusive, LONG));
    }
}

#[test]
fn the_other_mode_waits_for_the_wait_that_was_given_up() {
    let dir = dir();
    let path = dir.path().join("lease");
    let (a, b) = (open(&path), open(&path));
    assert!(taken(&a, LockMode::Shared));
    assert!(!waited(&b, LockMode::Exclusive, SHORT));
    assert!(!taken(&b, LockMode::Shared));
    assert!(!waited(&b, LockMode::Shared, SHORT));
    drop(a);
    assert!(waited(&b, LockMode::Shared, LONG));
    assert!(waited(&open(&path), LockMode::Shared, LONG), "b holds no exclusive one");
}
