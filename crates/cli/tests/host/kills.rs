//! Hard kills: of the host, and of what it looks after.

use creel_record::EndReason;
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::tree::{ProcessTable, cmdline};

use crate::scene::Scene;
use crate::world::{DEADLINE, ends};

#[test]
fn a_host_that_is_killed_again_and_again_costs_nothing() {
    let scene = Scene::new();
    let ids: Vec<_> = (0..3).map(|_| scene.world.launch("sleep 600")).collect();
    let layout = r#"{"version":1,"tabs":[{"id":"t","focus":"p","root":{"kind":"pane","id":"p"}}],"active":"t"}"#;
    for round in 1..=5 {
        let host = scene.start();
        for id in &ids {
            scene.until_live(*id);
        }
        assert_eq!(scene.status().holder_count, 3);
        let applied = scene.world.call(&["layout", "apply", "-"]).stdin(layout).run().success();
        assert_eq!(applied.stdout, format!("Applied: revision {round}\n"));
        scene.kill(&host);
        for id in &ids {
            let session = scene.world.session(*id);
            assert_eq!(ends(&session), ["live"], "round {round}");
        }
    }
    for id in &ids {
        scene.world.run(&["kill", &id.to_string()]).success();
    }
}

/// Kills the holder and the keeper of a session, so that neither sees the other go.
pub(crate) fn kill_machinery(scene: &Scene, id: creel_record::SessionId) -> ProcessIdentity {
    let session = scene.world.until(id, |s| s.live_run().is_some_and(|run| run.holder.is_some()));
    let run = session.live_run().expect("a run");
    let identity = |facts: &creel_record::event::fact::ProcessFacts| ProcessIdentity {
        pid: facts.pid,
        start_ticks: facts.start_ticks,
        boot_id: facts.boot_id.clone(),
    };
    let holder = identity(run.holder.as_ref().expect("a holder"));
    let agent = identity(run.agent.as_ref().expect("an agent"));
    holder.signal(Signal::STOP).expect("it is ours");
    let table = ProcessTable::read().expect("/proc");
    let keepers: Vec<ProcessIdentity> = table
        .entries()
        .filter(|entry| entry.ppid == holder.pid)
        .filter(|entry| cmdline(entry.pid).get(1).is_some_and(|arg| arg == "keep"))
        .filter_map(|entry| ProcessIdentity::of(entry.pid).expect("/proc"))
        .collect();
    for process in keepers.iter().chain([&holder]) {
        process.signal(Signal::KILL).expect("it is ours");
    }
    for process in keepers.iter().chain([&holder]) {
        assert!(process.wait_gone(DEADLINE).expect("a wait"));
    }
    agent
}

#[test]
fn a_run_that_nobody_keeps_is_ended_and_recorded_as_lost() {
    let scene = Scene::hosted();
    let lost = scene.world.launch("sleep 600");
    let other = scene.world.launch("sleep 600");
    scene.until_live(lost);
    scene.until_live(other);
    let agent = kill_machinery(&scene, lost);
    let session = scene.world.until(lost, |session| session.live_run().is_none());
    assert_eq!(session.runs[0].end_reason, Some(EndReason::Lost));
    assert!(!agent.is_alive().expect("/proc"), "its tree is dead before that is written");
    scene.until(|scene| (scene.status().holder_count == 1).then_some(()));
    assert_eq!(ends(&scene.world.session(other)), ["live"]);
    assert_eq!(scene.status().degraded, [""; 0]);
}

#[test]
fn what_was_lost_while_no_host_ran_is_found_by_the_next_one() {
    let scene = Scene::new();
    let id = scene.world.launch("sleep 600");
    let agent = kill_machinery(&scene, id);
    assert_eq!(ends(&scene.world.session(id)), ["live"]);
    scene.start();
    let session = scene.world.until(id, |session| session.live_run().is_none());
    assert_eq!(ends(&session), ["lost"]);
    assert!(!agent.is_alive().expect("/proc"));
}

#[test]
fn a_store_that_nobody_trusts_is_neither_listed_nor_acted_in() {
    let scene = Scene::new();
    let root = scene.world.env.work_dir().join(".orb");
    let flags = ["--create-store", "--orb-root"];
    let root_text = root.display().to_string();
    let arguments = [&flags[..], &[&root_text, "launch", "sh", "sleep 600"]].concat();
    let id: creel_record::SessionId = scene.world.out(&arguments).parse().expect("an id");
    scene.start();
    scene.until(|scene| {
        let terminals = scene.terminals().terminals;
        let is_it = |contact| contact == creel_api::host::RunContact::Unregistered;
        terminals.iter().any(|run| is_it(run.run.contact)).then_some(())
    });
    let (_, sessions) = scene.ask("GET", "/v1/sessions", "");
    assert!(!sessions.to_string().contains(&id.to_string()), "{sessions}");
    scene.world.run(&["store", "trust", "."]).success();
    scene.until(|scene| {
        let terminals = scene.terminals().terminals;
        let is_it = |contact| contact == creel_api::host::RunContact::Live;
        terminals.iter().any(|run| is_it(run.run.contact)).then_some(())
    });
    let (_, sessions) = scene.ask("GET", "/v1/sessions", "");
    assert!(sessions.to_string().contains(&id.to_string()), "{sessions}");
    scene.world.run(&["--orb-root", &root_text, "kill", &id.to_string()]).success();
}

#[test]
fn a_keeper_that_is_killed_is_followed_to_the_next_one() {
    let scene = Scene::hosted();
    let id = scene.world.launch("sleep 600");
    scene.until_live(id);
    let session = scene.world.until(id, |s| s.live_run().is_some_and(|run| run.holder.is_some()));
    let holder = session.live_run().and_then(|run| run.holder.clone()).expect("a holder");
    let table = ProcessTable::read().expect("/proc");
    let keeper = table
        .entries()
        .filter(|entry| entry.ppid == holder.pid)
        .find(|entry| cmdline(entry.pid).get(1).is_some_and(|arg| arg == "keep"))
        .and_then(|entry| ProcessIdentity::of(entry.pid).expect("/proc"))
        .expect("a keeper");
    keeper.signal(Signal::KILL).expect("it is ours");
    assert!(keeper.wait_gone(DEADLINE).expect("a wait"));
    scene.until(|scene| {
        scene.terminals().terminals.iter().find(|it| it.keeper_starts == Some(2)).map(drop)
    });
    assert_eq!(ends(&scene.world.session(id)), ["live"]);
}
