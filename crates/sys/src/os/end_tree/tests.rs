use super::*;

use crate::os::scripted::{LONG, Scripted, as_plain_user, identity, in_own_process};

const SHORT: Duration = Duration::from_millis(50);

/// Ends the tree of a script and checks that nothing of it lives: what it said last ends.
fn check(script: &Scripted, pressure: Pressure, last_lines: &[&str]) -> Ended {
    let query = script.query();
    let ended = end_tree(|| query.find(), pressure).expect("an ended tree");
    assert_eq!(script.last_lines(), last_lines);
    assert_eq!(query.find().expect("/proc"), vec![]);
    assert!(ended.is_proven_dead(), "{ended:?}");
    assert!(ended.signalled.iter().all(|suspect| !suspect.identity.is_alive().expect("/proc")));
    ended
}

fn pids(suspects: &[Suspect]) -> BTreeSet<i32> {
    suspects.iter().map(|suspect| suspect.identity.pid).collect()
}

#[test]
fn those_who_obey_are_asked_only() {
    let script = Scripted::start("trap 'echo bye; exit' TERM; sleep 1000 & echo $!; wait");
    let child = script.pids(1)[0];
    let pressure = Pressure { first: Signal::TERM, grace: LONG, limit: LONG };
    let ended = check(&script, pressure, &["bye"]);
    assert_eq!(pids(&ended.signalled), BTreeSet::from([script.pid(), child]));
}

#[test]
fn those_who_ignore_it_are_killed() {
    let script = Scripted::start("trap '' TERM HUP INT; sleep 1000 & echo $!; wait; read line");
    let child = script.pids(1)[0];
    let ended = check(&script, Pressure { first: Signal::TERM, grace: SHORT, limit: LONG }, &[]);
    assert_eq!(pids(&ended.signalled), BTreeSet::from([script.pid(), child]));
}

#[test]
fn those_who_went_away_are_found() {
    let script = Scripted::start(
        "sh -c 'setsid sh -c \"trap \\\"\\\" TERM; echo \\$\\$; sleep 1000 & wait; read x\" &'; read line",
    );
    script.pids(1);
    check(&script, Pressure { first: Signal::TERM, grace: SHORT, limit: LONG }, &[]);
}

#[test]
fn those_who_come_back_are_outrun() {
    let script =
        Scripted::start("trap '' TERM; echo ready; while :; do sh -c 'sleep 1000 & wait'; done");
    script.lines(1);
    check(&script, Pressure { first: Signal::TERM, grace: SHORT, limit: LONG }, &[]);
}

#[test]
fn those_who_fork_and_go_are_caught() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("hop");
    // Counted, so that a killed test leaves no chain behind for ever.
    let hop = "trap '' TERM; [ $1 = 0 ] || { sleep 0.1; sh \"$0\" $(($1-1)) & exit; }";
    std::fs::write(&path, hop).expect("a script");
    let script = Scripted::start(&format!("sh {} 1000 & echo ready; read line", path.display()));
    script.lines(1);
    check(&script, Pressure { first: Signal::TERM, grace: SHORT, limit: LONG }, &[]);
}

#[test]
fn those_who_multiply_are_stopped_first() {
    // Each level starts two; five levels are 63 processes, of which each waits for its children.
    let script = Scripted::start(
        "trap '' TERM; \
         grow() { [ $1 = 0 ] && { sleep 1000; return; }; grow $(($1-1)) & grow $(($1-1)) & wait; }; \
         echo ready; grow 5; read line",
    );
    script.lines(1);
    check(&script, Pressure { first: Signal::TERM, grace: Duration::ZERO, limit: LONG }, &[]);
}

#[test]
fn the_stopped_hear_the_signal_too() {
    let script = Scripted::start("trap 'echo heard; exit' TERM; echo $$; kill -STOP $$; read x");
    script.pids(1);
    let pid = rustix::process::Pid::from_raw(script.pid());
    rustix::process::waitpid(pid, rustix::process::WaitOptions::UNTRACED).expect("a stopped child");
    check(&script, Pressure { first: Signal::TERM, grace: LONG, limit: LONG }, &["heard"]);
}

#[test]
fn past_the_limit_the_survivors_are_named() {
    let script = Scripted::start("trap '' TERM; echo ready; read line");
    script.lines(1);
    let query = script.query();
    let pressure = Pressure { first: Signal::TERM, grace: LONG, limit: Duration::ZERO };
    let ended = end_tree(|| query.find(), pressure).expect("an end");
    assert_eq!(pids(&ended.survivors), BTreeSet::from([script.pid()]));
    assert!(ended.survivors[0].identity.wait_gone(LONG).expect("a pidfd"), "killed in parting");
}

#[test]
fn what_is_not_proven_is_not_signalled() {
    let script = Scripted::start("echo ready; read line");
    script.lines(1);
    let suspect =
        Suspect { identity: script.identity(), comm: "sh".to_owned(), proof: Proof::Unreadable };
    let pressure = Pressure { first: Signal::KILL, grace: LONG, limit: LONG };
    let ended = end_tree(|| Ok(vec![suspect.clone()]), pressure).expect("an end");
    assert_eq!(ended, Ended { signalled: vec![], survivors: vec![suspect.clone()] });
    assert!(suspect.identity.is_alive().expect("/proc"));
}

#[test]
fn what_is_not_ours_to_signal_survives() {
    let name = concat!(module_path!(), "::what_is_not_ours_to_signal_survives");
    in_own_process(name, as_plain_user(), || {
        assert!(!rustix::process::geteuid().is_root(), "init must not be ours to signal");
        let suspect =
            Suspect { identity: identity(1), comm: "init".to_owned(), proof: Proof::Session };
        // Not CONT, which anyone may send within a process session, and init may lead ours.
        let pressure = Pressure { first: Signal::TERM, grace: LONG, limit: LONG };
        let ended = end_tree(|| Ok(vec![suspect.clone()]), pressure).expect("an end");
        assert_eq!(ended, Ended { signalled: vec![], survivors: vec![suspect] });
    });
}
