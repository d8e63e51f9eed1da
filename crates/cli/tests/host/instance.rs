//! One host for each user and machine.

use creel_sys::fs::{FsFile, LockMode, OpenHow};
use creel_sys::os_fs::OsFs;
use creel_sys::process::Signal;

use crate::scene::Scene;
use crate::world::DEADLINE;

#[test]
fn a_second_host_is_refused_and_told_who_the_first_is() {
    let scene = Scene::new();
    scene.world.refused(&["host", "status"], 2, "host-absent");
    scene.world.refused(&["host", "stop"], 2, "host-absent");
    let host = scene.start();
    let refusal = scene.world.refused(&["host", "run"], 4, "host-running");
    assert!(refusal.contains(&format!("(pid {}, version ", host.pid)), "{refusal}");
    let again = scene.world.out(&["host", "start"]);
    assert_eq!(again, format!("Already running: pid {}", host.pid));
    assert_eq!(scene.identity(), host);
}

#[test]
fn many_starts_at_once_make_one_host() {
    let scene = Scene::new();
    let starts: Vec<_> = (0..8).map(|_| scene.world.call(&["host", "start"]).spawn()).collect();
    let told: std::collections::BTreeSet<String> = starts
        .into_iter()
        .map(|start| start.wait_with_output().expect("it ends"))
        .map(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.trim().rsplit(' ').next().unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(told, [scene.identity().pid.to_string()].into());
}

#[test]
fn a_stop_ends_the_host_and_nothing_else() {
    let scene = Scene::hosted();
    let id = scene.world.launch("sleep 600");
    scene.until_live(id);
    let host = scene.identity();
    let told = scene.world.out(&["host", "stop"]);
    assert_eq!(told, format!("Stopped: pid {}; 1 session stays alive", host.pid));
    assert!(!host.is_alive().expect("/proc"));
    assert!(!scene.socket().exists(), "it takes its socket along");
    assert!(scene.world.session(id).live_run().is_some());
    scene.start();
    scene.until_live(id);
    assert_eq!(scene.status().holder_count, 1);
}

#[test]
fn a_signal_is_a_stop() {
    let scene = Scene::hosted();
    let host = scene.identity();
    host.signal(Signal::HUP).expect("it is ours");
    assert_eq!(scene.identity(), host, "a closed terminal is no reason to end");
    host.signal(Signal::TERM).expect("it is ours");
    assert!(host.wait_gone(DEADLINE).expect("a wait"));
    assert!(!scene.socket().exists());
}

#[test]
fn a_host_whose_state_directory_was_moved_ends_and_the_next_one_starts_afresh() {
    let scene = Scene::hosted();
    let id = scene.world.launch("sleep 600");
    scene.until_live(id);
    let host = scene.identity();
    let state = scene.state_dir();
    std::fs::rename(&state, state.with_file_name("stolen")).expect("moves");
    assert!(host.wait_gone(DEADLINE).expect("a wait"));
    assert_ne!(scene.start(), host);
    scene.until_live(id);
}

#[test]
fn a_host_whose_runtime_directory_is_gone_ends() {
    let scene = Scene::hosted();
    let host = scene.identity();
    // At once: what is removed file by file may get a socket again in between.
    let gone = scene.world.env.root().join("gone");
    std::fs::rename(scene.world.env.runtime_dir(), gone).expect("moves");
    assert!(host.wait_gone(DEADLINE).expect("a wait"));
}

#[test]
fn a_socket_that_a_cleaner_took_is_there_again() {
    let scene = Scene::hosted();
    let host = scene.identity();
    let watch = creel_sys::watch::DirWatch::new(&scene.world.env.runtime_dir()).expect("a watch");
    std::fs::remove_file(scene.socket()).expect("it is ours");
    while !scene.socket().exists() {
        watch.wait(DEADLINE).expect("a watch");
    }
    // Between its making and its listening the directory is locked.
    let dir = OsFs.open_file(&scene.world.env.runtime_dir(), OpenHow::Read).expect("a directory");
    assert!(dir.lock(LockMode::Shared, DEADLINE).expect("a lock"));
    scene.until(|scene| (scene.identity() == host).then_some(()));
}

#[test]
fn what_stands_in_the_way_is_told_from_the_log() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.state_dir().join("lock")).expect("a directory");
    let refusal = scene.world.refused(&["host", "start"], 1, "host-failed");
    assert!(refusal.contains("the host ended before it answered: creel: can't open"), "{refusal}");
    let env = &scene.world.env;
    let long = env.root().join("x".repeat(100));
    let refused = scene.world.call(&["host", "start"]).env("CREEL_RUNTIME_DIR", &long).run();
    assert!(refused.stderr.contains("more than 103"), "{refused:?}");
    assert_eq!(refused.code, 5, "{refused:?}");
}
