//! A run that is started from inside of another one.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use creel_keeper::Grouping;
use creel_keeper::client::Client;
use creel_record::{EndReason, Mode, RunId, SessionId};
use creel_spool::Store;
use creel_sys::boot::boot_id;
use creel_sys::os_fs::OsFs;
use creel_sys::process::{ProcessIdentity, Signal};

use crate::scene::{LONG, Live, Scene};
use crate::{Test, home};

/// Launches the inner run, as `creel launch` does inside of an agent.
pub(crate) const DRIVER: &str = "drive-nested";

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("nested::a_nested_run_outlives_the_end_of_the_run_around_it", outlives_end),
        ("nested::a_nested_run_outlives_a_run_without_a_cgroup", outlives_without_cgroup),
        ("nested::a_nested_run_outlives_the_death_of_the_holder_around_it", outlives_holder),
    ]
}

/// Starts an outer run that waits and an inner one below it, ends the outer one, and asserts that
/// the inner one never noticed.
fn check(grouping: Grouping, end: impl FnOnce(&Scene, &Live<'_>)) {
    let mut outer = Scene::new();
    outer.options.grouping = grouping;
    let mut pids = outer.pipe("pids");
    let go = outer.pipe("go");
    let inner_dir = outer.dir.join("inner");
    let live = outer.script(&format!(
        "export CREEL_HOLDER_TESTS={home} CREEL_RUNTIME_DIR={home}/r HOME={home}
         {exe} {DRIVER} {inner} {pids} {go}
         exec sleep 1000",
        home = home::dir().display(),
        exe = std::env::current_exe().expect("this program").display(),
        inner = inner_dir.display(),
        pids = pids.path.display(),
        go = go.path.display(),
    ));
    // Two pids, and the word of the driver, in any order.
    let lines: Vec<String> = (0..3).map(|_| pids.line()).collect();
    let processes: Vec<ProcessIdentity> = lines
        .iter()
        .filter_map(|line| line.trim().parse().ok())
        .map(|pid| ProcessIdentity::of(pid).expect("/proc").expect("it lives"))
        .collect();
    assert_eq!(processes.len(), 2, "{lines:?}");
    let (session_id, run_id) = ids(&inner_dir);
    let mut client = Client::connect(session_id, run_id, LONG).expect("the inner keeper");

    end(&outer, &live);
    for process in &processes {
        assert!(process.is_alive().expect("/proc"), "{process} of the inner run was ended");
    }
    assert_eq!(client.status(LONG).expect("answers").keeper_starts, 1);

    std::fs::write(&go.path, "now\n").expect("writes");
    let boot = boot_id().expect("a boot id");
    let store = Store::open(&inner_dir.join("orb"), Arc::new(OsFs), &boot).expect("a store");
    assert!(client.wait_closed(LONG).expect("waits"));
    drop(store.lease_within(session_id, LONG).expect("a lease file").expect("gets free"));
    let session = store.read(session_id).expect("a session").snapshot.session;
    let run = session.run(run_id).expect("a run");
    assert_eq!((run.end_reason, run.exit_code), (Some(EndReason::ExitNonzero), Some(7)));
    for process in &processes {
        assert!(!process.is_alive().expect("/proc"), "{process} of the inner run lives on");
    }
}

fn ids(dir: &std::path::Path) -> (SessionId, RunId) {
    let text = std::fs::read_to_string(dir.join("ids")).expect("the inner ids");
    let (session, run) = text.split_once(' ').expect("two ids");
    (session.parse().expect("an id"), run.parse().expect("an id"))
}

/// Launches a run with a leftover that escapes its session, and writes down its ids.
pub(crate) fn drive() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(2).map(PathBuf::from).collect();
    let [dir, pids, go] = &arguments[..] else { return ExitCode::from(2) };
    let scene = Scene::at(dir.clone(), Mode::Interactive);
    let pids_text = pids.display();
    let live = scene.script(&format!(
        "(setsid sh -c 'echo $$ > {pids_text}; exec sleep 1000' &)
         echo $$ > {pids_text}; read line < {}; exit 7",
        go.display()
    ));
    let text = format!("{} {}", scene.id, live.run_id);
    std::fs::write(dir.join("ids"), text).expect("writes");
    std::fs::write(pids, "launched\n").expect("writes");
    ExitCode::SUCCESS
}

fn close(outer: &Scene, live: &Live<'_>) {
    outer.request_end(EndReason::Closed);
    live.client().end(EndReason::Closed, LONG).expect("is heard");
    live.check_end((EndReason::Closed, None, Some(15)));
}

fn outlives_end() {
    check(Grouping::OwnCgroup, close);
}

fn outlives_without_cgroup() {
    check(Grouping::None, close);
}

fn outlives_holder() {
    check(Grouping::OwnCgroup, |outer, live| {
        live.client();
        live.launched.holder.signal(Signal::KILL).expect("kills");
        drop(outer.lease());
        live.check_end((EndReason::Lost, None, None));
    });
}
