use super::*;

use std::path::Path;

use crate::fs::{read_exact_at, write_all_at};
use crate::os::os_fs::OsFs;
use crate::os::scripted::in_own_process;

/// All that counts, once each, on a file `a` and a directory `d` below `dir`.
fn scenario(fs: &FaultFs, dir: &Path) -> io::Result<()> {
    let a = fs.open(&dir.join("a"), OpenHow::Create)?;
    write_all_at(&*a, b"wxyz", 0)?;
    a.sync_data()?;
    a.set_len(3)?;
    a.set_read_only(false)?;
    fs.create_dir_all(&dir.join("d"))?;
    fs.sync_dir(dir)?;
    fs.rename(&dir.join("a"), &dir.join("b"))?;
    fs.remove_file(&dir.join("b"))
}

const LOG: [&str; 9] = [
    "create DIR/a",
    "write 4 at 0 DIR/a",
    "sync_data DIR/a",
    "set_len 3 DIR/a",
    "set_read_only false DIR/a",
    "create_dir_all DIR/d",
    "sync_dir DIR",
    "rename DIR/a DIR/b",
    "remove_file DIR/b",
];

struct Place {
    dir: tempfile::TempDir,
    fs: FaultFs,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory"), fs: FaultFs::new(Arc::new(OsFs)) }
    }

    fn run(&self) -> Result<(), Option<i32>> {
        scenario(&self.fs, self.dir.path()).map_err(|error| error.raw_os_error())
    }

    fn log(&self) -> Vec<String> {
        let dir = self.dir.path().display().to_string();
        self.fs.op_log().iter().map(|line| line.replace(&dir, "DIR")).collect()
    }

    fn content(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("a")).unwrap_or_default()
    }
}

/// Checks how the scenario ends under a fault at each operation in turn: the error, how many
/// operations were tried, and what is in `a`.
fn check(fault: Fault, expected: impl Fn(u64) -> (Result<(), Option<i32>>, u64, &'static str)) {
    for at in 1..=LOG.len() as u64 {
        let place = Place::new();
        place.fs.arm(at, fault);
        let result = place.run();
        assert_eq!((result, place.fs.op_count(), place.content().as_str()), expected(at), "{at}");
    }
}

const EIO: Result<(), Option<i32>> = Err(Some(5));
const ENOSPC: Result<(), Option<i32>> = Err(Some(28));

fn content_before(at: u64) -> &'static str {
    match at {
        1 | 2 => "",
        3 | 4 => "wxyz",
        5..=8 => "wxy",
        _ => "",
    }
}

#[test]
fn without_a_fault_operations_are_counted_and_told() {
    let place = Place::new();
    assert_eq!(place.run(), Ok(()));
    assert_eq!(place.log(), LOG);
    place.fs.create_dir_all(&place.dir.path().join("d")).expect("it is there");
    place.fs.read_dir(place.dir.path()).expect("names");
    place.fs.stat(place.dir.path()).expect("a stat");
    assert_eq!(place.fs.op_count(), 9, "what changes nothing isn't counted");
}

#[test]
fn a_failure_has_no_effect() {
    check(Fault::Fail(FaultErrno::Io), |at| (EIO, at, content_before(at)));
    check(Fault::Fail(FaultErrno::NoSpace), |at| (ENOSPC, at, content_before(at)));
}

#[test]
fn a_late_failure_has_its_effect() {
    check(Fault::FailAfter, |at| (EIO, at, content_before(at + 1)));
}

#[test]
fn a_short_write_takes_half_and_the_next_finds_the_disk_full() {
    check(Fault::ShortWrite, |at| match at {
        // The rest of the write is the operation after it.
        2 => (ENOSPC, 3, "wx"),
        _ => (ENOSPC, at, content_before(at)),
    });
}

#[test]
fn a_single_byte_is_written_or_not() {
    let place = Place::new();
    let a = place.fs.open(&place.dir.path().join("a"), OpenHow::Append).expect("a file");
    place.fs.arm(1, Fault::ShortWrite);
    let error = a.write_at(b"x", 0).expect_err("a full disk");
    assert_eq!(error.raw_os_error(), Some(28));
    a.write_at(b"y", 0).expect("there is room again");
    assert_eq!(place.content(), "y");
}

#[test]
fn after_a_crash_nothing_works_until_it_is_cleared() {
    check(Fault::Crash, |at| (Err(None), at, content_before(at)));
    let place = Place::new();
    let a = place.fs.open(&place.dir.path().join("a"), OpenHow::Create).expect("a file");
    write_all_at(&*a, b"x", 0).expect("a write");
    place.fs.arm(1, Fault::Crash);
    assert!(a.sync_data().is_err());
    assert!(read_exact_at(&*a, 0, 1).is_err() && a.stat().is_err());
    assert!(a.try_lock(LockMode::Shared).is_err());
    assert!(place.fs.open(&place.dir.path().join("a"), OpenHow::Read).is_err());
    assert!(place.fs.stat(place.dir.path()).is_err() && place.fs.read_dir(Path::new("/")).is_err());
    place.fs.clear();
    assert_eq!(read_exact_at(&*a, 0, 1).expect("a byte"), b"x");
}

#[test]
fn a_lasting_fault_ends_when_it_is_cleared() {
    let place = Place::new();
    let a = place.fs.open(&place.dir.path().join("a"), OpenHow::Create).expect("a file");
    place.fs.arm_from(2, Fault::Fail(FaultErrno::NoSpace));
    a.write_at(b"x", 0).expect("room for one");
    for _ in 0..3 {
        assert_eq!(a.write_at(b"y", 1).expect_err("full").raw_os_error(), Some(28));
    }
    place.fs.clear();
    a.write_at(b"z", 1).expect("room again");
    assert_eq!(place.content(), "xz");
}

/// Runs the scenario in a process that a fault kills, and checks what it leaves.
fn check_killed(name: &str, (fault, at): (Fault, u64), expected: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let setting = format!("PLACE={}", dir.path().display());
    let status = dir.path().join("status");
    let script = format!("\"$@\"; echo $? > {}; echo '1 passed'", status.display());
    in_own_process(name, &["env", &setting, "sh", "-c", &script, "sh"], || {
        let place = std::path::PathBuf::from(std::env::var_os("PLACE").expect("a place"));
        let fs = FaultFs::new(Arc::new(OsFs));
        fs.arm(at, fault);
        let _killed = scenario(&fs, &place);
    });
    let status = std::fs::read_to_string(status).expect("an end");
    assert_eq!(status.trim(), "137", "killed by SIGKILL");
    assert_eq!(std::fs::read_to_string(dir.path().join("a")).expect("a file"), expected);
}

#[test]
fn a_kill_ends_the_process_before_the_operation() {
    let name = concat!(module_path!(), "::a_kill_ends_the_process_before_the_operation");
    check_killed(name, (Fault::Kill, 3), "wxyz");
}

#[test]
fn a_kill_may_cut_a_write() {
    let name = concat!(module_path!(), "::a_kill_may_cut_a_write");
    check_killed(name, (Fault::KillShort, 2), "wx");
}

#[cfg(feature = "test-hooks")]
#[test]
fn the_environment_names_the_fault() {
    let name = concat!(module_path!(), "::the_environment_names_the_fault");
    in_own_process(name, &["env", "CREEL_FAULT=enospc-from:2"], || {
        let place = Place::new();
        let fs = FaultFs::from_env(Arc::new(OsFs)).expect("a fault");
        let a = fs.open(&place.dir.path().join("a"), OpenHow::Create).expect("a file");
        assert_eq!(a.write_at(b"x", 0).expect_err("full").raw_os_error(), Some(28));
        assert_eq!(a.sync_data().expect_err("still full").raw_os_error(), Some(28));
    });
}
