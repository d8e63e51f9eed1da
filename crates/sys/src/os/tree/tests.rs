use super::*;

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::os::scripted::{Scripted, as_plain_user, copy_program, identity, in_own_process};

#[test]
fn descendants_are_found_at_every_depth() {
    let script =
        Scripted::start("sh -c 'echo $$; sleep 1000 & echo $!; wait' & echo $!; read line");
    let pids: BTreeSet<i32> = script.pids(3).into_iter().collect();
    let table = ProcessTable::read().expect("/proc");
    assert_eq!(table.descendants_of(script.pid()), pids);
    let own = i32::try_from(std::process::id()).expect("a pid");
    assert!(table.descendants_of(own).is_superset(&pids));
    let leader = table.entry(script.pid()).expect("an entry");
    assert_eq!((leader.ppid, leader.sid, leader.pgid), (own, script.pid(), script.pid()));
    assert_eq!(leader.start_ticks, identity(script.pid()).start_ticks);
}

#[test]
fn an_environment_is_read_by_whole_names() {
    let child = Command::new("cat")
        .arg("-")
        .env_clear()
        .envs([("A_LONG", "no"), ("A", "x=y z"), ("EMPTY", "")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.expect("cat");
    // A program has its environment a moment after `spawn` returns: once it answers, it has.
    child.stdin.as_mut().expect("a pipe").write_all(b"?").expect("a reader");
    child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("an answer");
    let pid = i32::try_from(child.id()).expect("a pid");
    let check = |name: &str, expected: Environ| {
        assert_eq!(environ_value(pid, name), expected, "{name}");
    };
    check("A", Environ::Value("x=y z".to_owned()));
    check("EMPTY", Environ::Value(String::new()));
    check("A_LON", Environ::Absent);
    check("B", Environ::Absent);
    assert_eq!(cmdline(pid), ["cat", "-"]);
    child.kill().expect("our child");
    child.wait().expect("our child");
    check("A", Environ::Gone);
    assert_eq!(cmdline(pid), Vec::<OsString>::new());
    assert_eq!(exe(pid).expect("no error"), None);
}

#[test]
fn an_executable_is_known_after_an_upgrade() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("program");
    copy_program("/bin/sleep", &path);
    let mut child = Command::new(&path).arg("1000").spawn().expect("a copy of sleep");
    let pid = i32::try_from(child.id()).expect("a pid");
    let before = exe(pid).expect("/proc").expect("an executable");
    assert_eq!(before.path, path);
    std::fs::remove_file(&path).expect("a removal");
    copy_program("/bin/sleep", &path);
    let mut second = Command::new(&path).arg("1000").spawn().expect("a copy of sleep");
    let second_pid = i32::try_from(second.id()).expect("a pid");
    let after = exe(second_pid).expect("/proc").expect("an executable");
    assert_ne!(after.file_id, before.file_id);
    assert!(after.is_same_program(&exe(pid).expect("/proc").expect("an executable")));
    assert!(!after.is_same_program(&ExeIdentity::own().expect("/proc")));
    for child in [&mut child, &mut second] {
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
}

#[test]
fn a_hidden_environment_is_not_an_absent_one() {
    let name = concat!(module_path!(), "::a_hidden_environment_is_not_an_absent_one");
    in_own_process(name, as_plain_user(), || {
        assert_eq!(environ_value(1, "PATH"), Environ::Unreadable);
        assert_eq!(exe(1).expect("no error"), None);
    });
}
