//! Hosts that come and go by themselves.

use creel_record::event::Draft;
use creel_record::event::fact::WakeScheduled;
use creel_record::{EventId, Refusal, Source, Timestamp};
use creel_spool::Change;
use creel_sys::process::ProcessIdentity;
use creel_sys::tree::{Environ, ProcessTable, cmdline, environ_value};

use crate::scene::Scene;
use crate::world::DEADLINE;

/// Finds the hosts of a home.
fn hosts(scene: &Scene) -> Vec<ProcessIdentity> {
    let runtime = scene.world.env.runtime_dir().display().to_string();
    let table = ProcessTable::read().expect("/proc");
    table
        .entries()
        .filter(|entry| !entry.is_dead())
        .filter(|entry| cmdline(entry.pid).get(1..3).is_some_and(|it| it == ["host", "run"]))
        .filter(|entry| {
            environ_value(entry.pid, "CREEL_RUNTIME_DIR") == Environ::Value(runtime.clone())
        })
        .filter_map(|entry| ProcessIdentity::of(entry.pid).expect("/proc"))
        .collect()
}

#[test]
fn a_launch_starts_a_host_unless_it_is_told_not_to() {
    let scene = Scene::new();
    scene.world.launch("true");
    assert_eq!(hosts(&scene), []);
    scene.world.configure("config.toml", "[host]\nautostart = false\n");
    scene.world.call(&["launch", "sh", "true"]).without("CREEL_NO_HOST").run().success();
    assert_eq!(hosts(&scene), []);
    scene.world.configure("config.toml", "");
    let watch = creel_sys::watch::DirWatch::new(&scene.world.env.runtime_dir()).expect("a watch");
    scene.world.call(&["launch", "sh", "true"]).without("CREEL_NO_HOST").run().success();
    while !scene.socket().exists() {
        watch.wait(DEADLINE).expect("a watch");
    }
    assert_eq!(hosts(&scene).len(), 1);
    scene.until(|scene| scene.status().ends_when_idle.then_some(()));
}

#[test]
fn a_launch_is_not_held_up_by_a_host_that_can_not_start() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.state_dir().join("lock")).expect("a directory");
    let launched =
        scene.world.call(&["launch", "sh", "true"]).without("CREEL_NO_HOST").run().success();
    assert_eq!(launched.stderr, "");
}

#[test]
fn a_host_with_nothing_to_look_after_ends_and_one_with_a_session_stays() {
    let scene = Scene::new();
    let gate = scene.world.gate("gate");
    let id = scene.world.launch(&format!("{}; creel session return done", gate.wait()));
    scene.world.run(&["host", "start", "--idle-exit", "1"]).success();
    scene.until_live(id);
    let host = scene.identity();
    assert!(!host.wait_gone(std::time::Duration::from_secs(3)).expect("a wait"), "it stays");
    gate.open();
    assert!(host.wait_gone(DEADLINE).expect("a wait"), "it ends once the session is over");
}

#[test]
fn a_host_does_not_stay_for_a_session_that_awaits_nothing_and_stays_for_one_with_a_wake() {
    let scene = Scene::new();
    let id = scene.world.launch("creel session return --await later");
    scene.world.at_rest(id);
    scene.world.run(&["host", "start", "--idle-exit", "1"]).success();
    assert!(scene.identity().wait_gone(DEADLINE).expect("a wait"));

    let at = Timestamp::from_millis(4_102_444_800_000);
    let appended = scene.world.store().transact(id, |_| {
        let fact = WakeScheduled { wake_at: Some(at) }.into();
        let id = EventId::ordered(at, [9; 10]);
        let draft = Draft { id, source: Source::Operator, time: at, fact };
        Ok::<_, Refusal>(Change::Append(draft, ()))
    });
    appended.expect("it can be recorded");
    scene.world.run(&["host", "start", "--idle-exit", "1"]).success();
    let host = scene.identity();
    assert!(!host.wait_gone(std::time::Duration::from_secs(3)).expect("a wait"), "it stays");
}
