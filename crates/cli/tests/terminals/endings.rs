//! How runs on terminals end: nothing of them lives on, and the record says how.

use creel_record::EndReason;
use creel_sys::process::ProcessIdentity;

use crate::scene::{LONG, Scene};

/// Runs a script that prints the pids of what it leaves behind as `pid=N`, has it ended, and checks
/// that none of them lives.
fn check(script: &str, end: impl FnOnce(&Scene, &str), expected: EndReason) {
    let scene = Scene::new();
    let id = scene.start(script);
    scene.wait_for(id, "all-started");
    let screen = scene.screen(id);
    let pids: Vec<i32> = screen
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("pid=")?.parse().ok())
        .collect();
    assert!(!pids.is_empty(), "{screen}");
    let left: Vec<_> =
        pids.iter().filter_map(|pid| ProcessIdentity::of(*pid).expect("/proc")).collect();
    let holder = scene.holder(id);
    end(&scene, &id.to_string());
    let run = scene.ended(id);
    assert_eq!(run.end_reason, Some(expected), "{:?}", run.detail);
    for process in left {
        assert!(!process.is_alive().expect("/proc"), "{process} lives on after {script}");
    }
    assert!(holder.wait_gone(LONG).expect("a pidfd"));
}

#[test]
fn no_descendant_survives_an_end() {
    let end = |scene: &Scene, id: &str| drop(scene.out(&["end", id]));
    check("setsid sleep 1000 & echo pid=$!; echo all-started; sleep 1000", end, EndReason::Ended);
    check(
        "nohup sleep 1000 >/dev/null 2>&1 & echo pid=$!; echo all-started; sleep 1000",
        end,
        EndReason::Ended,
    );
    check(
        "(setsid sh -c 'sleep 1000 & echo pid=$!' &); sleep 0.3; echo all-started; sleep 1000",
        end,
        EndReason::Ended,
    );
    check("sleep 1000 & echo pid=$!; echo all-started; wait", end, EndReason::Ended);
}

#[test]
fn an_agent_that_survives_hangup_and_term_is_ended_all_the_same() {
    check(
        "trap '' HUP TERM INT; sh -c 'trap \"\" HUP TERM; echo pid=$$; echo all-started; while :; do sleep 1; done'",
        |scene, id| drop(scene.out(&["end", id])),
        EndReason::Ended,
    );
    check(
        "trap '' HUP TERM INT; echo pid=$$; echo all-started; while :; do sleep 1; done",
        |scene, id| drop(scene.out(&["kill", id])),
        EndReason::Killed,
    );
}

#[test]
fn jobs_that_hold_the_terminal_do_not_hold_the_end() {
    check(
        "sleep 1000 & echo pid=$!; echo all-started; read x; exit 3",
        |scene, id| drop(scene.out(&["terminal", "send", id, "--enter"])),
        EndReason::ExitNonzero,
    );
}

#[test]
fn a_person_who_leaves_ends_the_run_and_nothing_is_prompted_again() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    scene.wait_for(id, "ready");
    scene.out(&["terminal", "send", &id.to_string(), "exit 0", "--enter"]);
    let run = scene.ended(id);
    assert_eq!((run.end_reason, run.exit_code), (Some(EndReason::ExitZero), Some(0)));
    assert_eq!(scene.session(id).run_count, 1);
}

#[test]
fn the_last_words_of_an_agent_are_all_kept() {
    let scene = Scene::new();
    let id = scene.start("seq 1 3000; printf last-words; exit 0");
    scene.ended(id);
    let all = scene.out(&["terminal", "read", &id.to_string(), "--history", "5000"]);
    assert!(all.starts_with("1\n2\n") && all.ends_with("3000\nlast-words"), "{}", all.len());
}

/// Counts the descriptors and threads of a process.
fn counted(process: &ProcessIdentity) -> (usize, usize) {
    let count = |what: &str| {
        std::fs::read_dir(format!("/proc/{}/{what}", process.pid)).expect("it lives").count()
    };
    (count("fd"), count("task"))
}

/// Compares counts; a connection that was just closed may not be noticed yet.
#[track_caller]
fn check_counts(after: (usize, usize), before: (usize, usize)) {
    assert!(after.0 <= before.0 + 2 && after.1 <= before.1, "{after:?} after {before:?}");
}

#[test]
fn rounds_of_starts_and_ends_leave_no_process_and_no_socket() {
    let scene = Scene::new();
    for _ in 0..20 {
        let ids: Vec<_> = (0..10).map(|_| scene.start("exit 0")).collect();
        for id in ids {
            let holder = scene.holder(id);
            scene.ended(id);
            assert!(holder.wait_gone(LONG).expect("a pidfd"));
        }
    }
    let left = std::fs::read_dir(scene.env.runtime_dir()).expect("a directory");
    let left: Vec<_> = left
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter(|name| name.starts_with("r-"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn rounds_of_viewers_and_keepers_leave_descriptors_and_threads_where_they_were() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    scene.wait_for(id, "ready");
    scene.kill_keeper(id);
    let holder = scene.holder(id);
    let (of_holder, of_keeper) = (counted(&holder), counted(&scene.keeper(id)));
    let text = id.to_string();
    for _ in 0..40 {
        let mut viewing = scene.attach(id, (80, 24));
        viewing.wait_for("ready");
        viewing.type_in("\x1c");
        viewing.ended();
        scene.out(&["terminal", "send", &text, " ", "--until", "written"]);
        scene.screen(id);
    }
    check_counts(counted(&scene.keeper(id)), of_keeper);
    for _ in 0..5 {
        scene.kill_keeper(id);
    }
    check_counts(counted(&holder), of_holder);
    check_counts(counted(&scene.keeper(id)), of_keeper);
}
