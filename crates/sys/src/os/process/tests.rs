use super::*;

use crate::os::scripted::{LONG, Scripted, identity};

/// Checks that nothing of the process can be reached under `identity`.
fn check_gone(identity: &ProcessIdentity) {
    assert!(!identity.is_alive().expect("/proc"), "{identity}");
    assert!(!identity.signal(Signal::KILL).expect("no error"), "{identity}");
    assert!(identity.wait_gone(LONG).expect("no error"), "{identity}");
}

#[test]
fn the_calling_process_is_alive_and_itself() {
    let own = ProcessIdentity::current().expect("/proc");
    assert!(own.is_alive().expect("/proc"));
    assert_eq!(identity(own.pid), own);
    let text = serde_json::to_string(&own).expect("json");
    assert_eq!(serde_json::from_str::<ProcessIdentity>(&text).expect("an identity"), own);
}

#[test]
fn a_zombie_is_gone_but_keeps_its_identity() {
    let mut script = Scripted::start("read line; exit 3");
    let before = script.identity();
    assert!(before.is_alive().expect("/proc"));
    assert!(!before.wait_gone(Duration::from_millis(1)).expect("a pidfd"));
    let handle = before.open().expect("a pidfd").expect("a process");
    script.say("go");
    assert!(handle.wait_gone(LONG).expect("a pidfd"));
    assert_eq!(script.identity(), before);
    check_gone(&before);
    script.kill_leader();
    assert_eq!(ProcessIdentity::of(before.pid).expect("/proc"), None);
    check_gone(&before);
}

#[test]
fn a_pid_alone_reaches_nobody() {
    let script = Scripted::start("echo ready; read line");
    script.lines(1);
    let real = script.identity();
    check_gone(&ProcessIdentity { start_ticks: real.start_ticks - 1, ..real.clone() });
    check_gone(&ProcessIdentity { boot_id: "another boot".to_owned(), ..real.clone() });
    check_gone(&ProcessIdentity { pid: 0, ..real.clone() });
    check_gone(&ProcessIdentity { pid: -1, ..real.clone() });
    assert!(real.is_alive().expect("/proc"), "nothing hit it");
    assert!(real.signal(Signal::KILL).expect("a pidfd"));
    assert!(real.wait_gone(LONG).expect("a pidfd"));
}
