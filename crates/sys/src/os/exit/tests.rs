use super::*;

use std::process::Command;

use rustix::process::Signal;

use crate::os::poll::wait_readable;
use crate::os::scripted::{LONG, in_own_process};
use crate::os::signal::PendingSignals;

/// Collects until `count` children ended; the last of them may come by adoption.
fn reap(pending: &PendingSignals, count: usize) -> Vec<Reaped> {
    let mut reaped = Vec::new();
    while reaped.len() < count {
        let ready = wait_readable(&[pending.as_fd()], LONG).expect("a poll");
        assert_eq!(ready, [0], "a child ends");
        pending.drain().expect("signals");
        reaped.extend(reap_all().expect("children"));
    }
    reaped
}

#[test]
fn orphans_come_to_the_subreaper_and_are_collected() {
    let name = concat!(module_path!(), "::orphans_come_to_the_subreaper_and_are_collected");
    // Blocked in the first thread too, where the kernel would otherwise drop the signal as ignored.
    in_own_process(name, &["env", "--block-signal=CHLD"], || {
        let pending = PendingSignals::block(&[Signal::CHILD]).expect("a block");
        become_subreaper().expect("a subreaper");
        let script = "sh -c 'echo $$; exit 5' & exec kill -TERM $$";
        let child_pid = Command::new("sh").args(["-c", script]).spawn().map(|child| child.id());
        let pid = i32::try_from(child_pid.expect("sh")).expect("a pid");
        let reaped = reap(&pending, 2);
        let own = reaped.iter().find(|one| one.pid == pid).expect("our child");
        assert_eq!(own.exit, Exit::Signal(Signal::TERM.as_raw()));
        let orphan = reaped.iter().find(|one| one.pid != pid).expect("an orphan");
        assert_eq!(orphan.exit, Exit::Code(5));
        assert_eq!(reap_all().expect("no children"), vec![]);
    });
}

#[test]
fn an_exit_is_told_in_words_and_stored() {
    let check = |exit: Exit, words: &str, stored: &str| {
        assert_eq!(exit.to_string(), words);
        assert_eq!(serde_json::to_string(&exit).expect("json"), stored);
        assert_eq!(serde_json::from_str::<Exit>(stored).expect("an exit"), exit);
        assert_eq!(exit.is_success(), exit == Exit::Code(0));
    };
    check(Exit::Code(0), "exit code 0", r#"{"code":0}"#);
    check(Exit::Code(3), "exit code 3", r#"{"code":3}"#);
    check(Exit::Signal(9), "signal 9", r#"{"signal":9}"#);
}
