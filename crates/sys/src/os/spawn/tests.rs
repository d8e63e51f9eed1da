use super::*;

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use rustix::fs::{Mode, OFlags};

use crate::fs::{FsFile, LockMode, OpenHow};
use crate::os::cgroup::Cgroup;
use crate::os::os_fs::OsFs;
use crate::os::scripted::{LONG, copy_program, in_own_process};
use crate::os::signal::PendingSignals;

fn null() -> OwnedFd {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("a device")
}

fn command(program: &str, args: &[&str]) -> SessionCommand {
    SessionCommand {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdin: null(),
        stdout: null(),
        stderr: null(),
        inherited: vec![],
        cgroup: None,
    }
}

/// Runs a command to its end and returns what it printed.
fn check(mut command: SessionCommand, expected: Exit) -> String {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    command.stdout = theirs.into();
    let child = spawn_session(command).expect("a child");
    let mut text = String::new();
    (&ours).read_to_string(&mut text).expect("an end");
    assert_eq!(child.wait(LONG).expect("a pidfd"), Some(expected), "{text}");
    text
}

fn sh(script: &str) -> SessionCommand {
    command("sh", &["-c", script])
}

#[test]
fn only_what_is_listed_reaches_the_program() {
    let mut command = command("env", &[]);
    command.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "b c".into())];
    let text = check(command, Exit::Code(0));
    assert_eq!(
        text.lines().collect::<BTreeSet<_>>(),
        BTreeSet::from(["A=b c", "PATH=/usr/bin:/bin"])
    );
    let mut command = sh("pwd; exit 7");
    command.cwd = "/usr".into();
    assert_eq!(check(command, Exit::Code(7)), "/usr\n");
    assert_eq!(check(sh("kill -9 $$"), Exit::Signal(9)), "");
}

#[test]
fn a_program_is_sought_on_its_own_path() {
    let dir = tempfile::tempdir().expect("a directory");
    let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
    for (place, mode) in [(&first, 0o644), (&second, 0o755)] {
        std::fs::create_dir(place).expect("a directory");
        let path = place.join("found");
        copy_program("/bin/echo", &path);
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
    }
    let mut on_path = command("found", &["an argument"]);
    let path = std::env::join_paths([".".as_ref(), first.as_path(), second.as_path()]);
    on_path.env = vec![("PATH".into(), path.expect("a path"))];
    assert_eq!(check(on_path, Exit::Code(0)), "an argument\n");
    let mut refused = command("found", &[]);
    refused.env = vec![("PATH".into(), first.into_os_string())];
    let error = spawn_session(refused).expect_err("not to be run");
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn the_child_leads_a_process_session_of_its_own() {
    let text = check(sh("echo $$; cut -d ' ' -f 6 /proc/$$/stat"), Exit::Code(0));
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1, "pid and session are the same: {text}");
}

#[test]
fn descriptors_come_under_their_numbers_and_no_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).expect("a file");
        let path = dir.path().join(name);
        InheritedFd {
            fd: OwnedFd::from(std::fs::File::open(path).expect("a file")),
            number: name.parse().expect("a number"),
        }
    };
    // A descriptor that somebody forgot to mark, as our own parent may have.
    let leaked = null();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).expect("a flag");
    let mut command = sh(
        "cat <&3; cat <&4; cat <&9; for n in $(seq 3 99); do [ -L /proc/$$/fd/$n ] && echo $n; done; :",
    );
    command.inherited = vec![file("9", "nine "), file("3", "three "), file("4", "four ")];
    assert!(leaked.as_raw_fd() < 100);
    assert_eq!(check(command, Exit::Code(0)), "three four nine 3\n4\n9\n");
}

#[test]
fn a_program_that_cannot_run_is_an_error_whatever_is_inherited() {
    for number in 3..40 {
        let mut command = command("/nonexistent/program", &[]);
        command.inherited = vec![InheritedFd { fd: null(), number }];
        let error = spawn_session(command).expect_err("no such program");
        assert_eq!(error.kind(), io::ErrorKind::NotFound, "{number}");
    }
    let mut standard = command("true", &[]);
    standard.inherited = vec![InheritedFd { fd: null(), number: 2 }];
    let error = spawn_session(standard).expect_err("a number of the standard ones");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let error = spawn_session(command("no-such-program", &[])).expect_err("on no PATH");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let error = spawn_session(command("true", &["a\0b"])).expect_err("no argument");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let mut missing = command("true", &[]);
    missing.cwd = "/nonexistent".into();
    assert!(spawn_session(missing).is_err());
}

/// Signals 32 and 33, which the C library keeps to itself and lets nobody set.
const OF_THE_C_LIBRARY: u64 = 0b11 << 31;

#[test]
fn signals_are_as_new() {
    let name = concat!(module_path!(), "::signals_are_as_new");
    in_own_process(name, &["sh", "-c", "trap '' HUP INT USR1; exec \"$@\"", "sh"], || {
        let blocked = PendingSignals::block(&[Signal::TERM, Signal::CHILD]).expect("a block");
        let own = std::fs::read_to_string("/proc/thread-self/status").expect("/proc");
        assert!(!own.contains("SigIgn:\t0000000000000000"), "{own}");
        assert!(!own.contains("SigBlk:\t0000000000000000"), "{own}");
        let text = check(command("grep", &["Sig[BI]", "/proc/self/status"]), Exit::Code(0));
        let masks: Vec<u64> = text
            .lines()
            .filter_map(|line| u64::from_str_radix(line.split_once('\t')?.1, 16).ok())
            .map(|mask| mask & !OF_THE_C_LIBRARY)
            .collect();
        assert_eq!(masks, [0, 0], "{text}");
        drop(blocked);
    });
}

#[test]
fn an_inherited_lock_lives_as_long_as_the_child() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("lease");
    let lease = OsFs.open_file(&path, OpenHow::Create).expect("a file");
    assert!(lease.try_lock(LockMode::Exclusive).expect("a lock"));
    let mut command = command("sleep", &["1000"]);
    let fd = lease.as_fd().try_clone_to_owned().expect("a duplicate");
    command.inherited = vec![InheritedFd { fd, number: 5 }];
    let child = spawn_session(command).expect("a child");
    drop(lease);
    let other = OsFs.open_file(&path, OpenHow::Create).expect("a file");
    assert!(!other.try_lock(LockMode::Exclusive).expect("no lock"), "the child has it");
    assert!(child.signal(Signal::KILL).expect("a pidfd"));
    assert!(other.lock(LockMode::Exclusive, LONG).expect("a lock"));
    assert_eq!(child.wait(LONG).expect("a pidfd"), Some(Exit::Signal(9)));
    assert!(!child.signal(Signal::KILL).expect("a pidfd"));
}

#[test]
fn a_wait_that_is_too_short_collects_nothing() {
    let child = spawn_session(command("sleep", &["1000"])).expect("a child");
    assert_eq!(child.wait(Duration::from_millis(1)).expect("a pidfd"), None);
    assert!(child.identity.is_alive().expect("/proc"));
    child.signal(Signal::KILL).expect("a pidfd");
    assert_eq!(child.wait(LONG).expect("a pidfd"), Some(Exit::Signal(9)));
}

#[test]
fn the_child_is_in_its_cgroup_before_it_runs_or_does_not_run() {
    let unwritable = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty());
    let mut refused = command("true", &[]);
    refused.cgroup = Some(unwritable.expect("a device"));
    assert!(spawn_session(refused).is_err());
    let own = Cgroup::own()
        .and_then(|own| own.create_child(&format!("test-spawn-{}", std::process::id())));
    match own {
        Ok(group) => {
            let mut command = command("cat", &["/proc/self/cgroup"]);
            command.cgroup = Some(group.join_file().expect("cgroup.procs"));
            let text = check(command, Exit::Code(0));
            let place = text.lines().find(|line| line.starts_with("0::")).expect("a place");
            let name = group.dir().file_name().and_then(|name| name.to_str()).expect("a name");
            assert!(place.ends_with(name), "{place}");
            group.remove().expect("an empty group");
        }
        // The other half of the contract: the reason is one a person can act on.
        Err(reason) => assert!(reason.to_string().contains("cgroup"), "{reason}"),
    }
}
