//! A host that an agent started.

use creel_sys::cgroup::Cgroup;
use creel_sys::tree::{Environ, ProcessTable, environ_value};

use crate::scene::Scene;
use crate::world::{DEADLINE, ends};

#[test]
fn a_host_that_an_agent_started_outlives_the_agent_and_bears_no_mark_of_it() {
    let scene = Scene::new();
    scene.world.configure("catalog.toml", "[harness.sh]\nend-grace-ms = 100\n");
    let id = scene.world.launch("creel host start; creel session set phase ready; exec sleep 600");
    scene.world.until_phase(id, "ready");
    let host = scene.identity();
    for name in ["ORBH_SESSION_ID", "ORBH_ORB_ROOT_DIR", "CREEL_RUN_ID"] {
        assert_eq!(environ_value(host.pid, name), Environ::Absent, "{name}");
    }
    let session = scene.world.session(id);
    let agent = session.live_run().and_then(|run| run.agent.clone()).expect("an agent");
    let table = ProcessTable::read().expect("/proc");
    let [host_entry, agent_entry] =
        [host.pid, agent.pid].map(|pid| table.entry(pid).expect("it lives").clone());
    assert_ne!(host_entry.sid, agent_entry.sid);
    if let Some(group) = session.live_run().and_then(|run| run.cgroup.clone()) {
        let members = Cgroup::at(group.into()).pids().expect("a group");
        assert!(!members.contains(&host.pid), "it left the run's group");
    }

    scene.world.run(&["kill", &id.to_string()]).success();
    assert_eq!(ends(&scene.world.at_rest(id)), ["killed"]);
    assert_eq!(scene.identity(), host, "it is not swept with the agent that started it");

    // A second agent's run, started by nobody but the host's own takeover or by hand, is as free.
    let other = scene.world.launch("sleep 600");
    scene.until_live(other);
    scene.world.run(&["host", "stop"]).success();
    assert!(host.wait_gone(DEADLINE).expect("a wait"));
    assert_eq!(ends(&scene.world.session(other)), ["live"]);
}

#[test]
fn a_host_is_not_swept_when_the_holder_above_it_is_killed() {
    let scene = Scene::new();
    let id = scene.world.launch("creel host start; creel session set phase ready; exec sleep 600");
    let session = scene.world.until_phase(id, "ready");
    let host = scene.identity();
    let session = scene
        .world
        .until(session.id, |session| session.live_run().is_some_and(|run| run.holder.is_some()));
    let holder = session.live_run().and_then(|run| run.holder.clone()).expect("a holder");
    let holder = creel_sys::process::ProcessIdentity {
        pid: holder.pid,
        start_ticks: holder.start_ticks,
        boot_id: holder.boot_id,
    };
    holder.signal(creel_sys::process::Signal::KILL).expect("it is ours");
    scene.world.until(id, |session| session.live_run().is_none());
    assert_eq!(ends(&scene.world.at_rest(id)), ["lost"]);
    assert_eq!(scene.identity(), host);
}
