//! kill -9 of everything above the agent, while it works.

use creel_record::EndReason;
use creel_sys::process::{ProcessIdentity, Signal};

use crate::scene::{LONG, Scene};

#[test]
fn a_killed_keeper_changes_nothing_on_the_screen() {
    let scene = Scene::new();
    let id = scene
        .start("printf '\\033]0;kept\\007\\033[2J\\033[4;4H\\033[32mgreen\\033[0m'; sleep 1000");
    scene.wait_for(id, "green");
    let mut before = scene.attach(id, (80, 24));
    before.wait_for("green");
    scene.kill_keeper(id);
    assert_eq!(scene.terminal(id).doubt, None);
    let mut after = scene.attach(id, (80, 24));
    after.wait_for("green");
    assert_eq!(after.screen().state().difference(&before.screen().state()), "");
    assert_eq!(after.screen().title(), "kept");
}

#[test]
fn a_viewer_stays_through_the_death_of_its_keeper() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let mut viewing = scene.attach(id, (80, 24));
    viewing.wait_for("ready");
    for round in 0..3 {
        scene.kill_keeper(id);
        viewing.type_in(&format!("echo round-$(({round} + 10))\r"));
        viewing.wait_for(&format!("round-{}", round + 10));
    }
}

#[test]
fn a_killed_viewer_takes_nothing_with_it() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let mut killed = scene.attach(id, (80, 24));
    killed.wait_for("ready");
    killed.signal(Signal::KILL);
    killed.ended();
    let mut viewing = scene.attach(id, (80, 24));
    viewing.type_in("echo still-$((40 + 2))\r");
    viewing.wait_for("still-42");
    assert_eq!(scene.terminal(id).viewers.len(), 1);
}

#[test]
fn a_killed_holder_ends_its_agent_before_the_run_is_lost_and_no_other() {
    let scene = Scene::new();
    let other = scene.start("echo other");
    let id = scene.start("echo ready");
    scene.wait_for(id, "ready");
    let agent = ProcessIdentity::of(scene.status(id).agent_pid).expect("/proc").expect("it lives");
    let holder = scene.holder(id);
    assert!(holder.signal(Signal::KILL).expect("it can be signalled"));
    let run = scene.ended(id);
    assert_eq!(run.end_reason, Some(EndReason::Lost));
    assert!(!agent.is_alive().expect("/proc"));
    assert!(scene.screen(id).contains("ready"), "the last screen stays");
    scene.wait_for(other, "other");
}

#[test]
fn an_agent_that_floods_outlives_its_keepers_and_lost_output_is_told() {
    let scene = Scene::new();
    let id = scene
        .start("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); echo line $i; done; echo all-out");
    let agent = scene.status(id).agent_pid;
    for _ in 0..5 {
        scene.kill_keeper(id);
    }
    assert_eq!(scene.status(id).agent_pid, agent);
    scene.wait_for(id, "all-out");
    let text = scene.out(&["terminal", "read", &id.to_string(), "--history", "100000"]);
    assert!(text.contains("line 299999\nline 300000\nall-out"), "{}", text.len());
    let numbers: Vec<u32> =
        text.lines().filter_map(|line| line.strip_prefix("line ")?.parse().ok()).collect();
    let is_whole = numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    assert!(is_whole || scene.terminal(id).doubt.is_some(), "a loss that nobody tells of");
}

#[test]
fn without_an_output_log_the_agent_is_asked_to_draw_anew() {
    let scene = Scene::new();
    let script = "trap 'echo drawn-$((20 + 1))' WINCH; echo ready; while :; do sleep 1; done";
    let id = scene.out(&["i", "--detached", "--no-output-log", "sh", script]);
    let id = id.parse().expect("an id");
    scene.wait_for(id, "ready");
    scene.kill_keeper(id);
    scene.wait_for(id, "drawn-21");
    assert!(scene.terminal(id).doubt.expect("a doubt").contains("draw anew"));
    let dir = scene.run_dir(id);
    for name in ["checkpoint", "output", "times"] {
        assert!(!dir.join(name).exists(), "{name} holds output");
    }
}

#[test]
fn the_death_of_every_keeper_in_turn_under_load_ends_no_agent() {
    let scene = Scene::new();
    let ids: Vec<_> = (0..4).map(|_| scene.start("while :; do seq 1 500; done")).collect();
    let agents: Vec<_> = ids.iter().map(|id| scene.status(*id).agent_pid).collect();
    for _ in 0..3 {
        for id in &ids {
            scene.kill_keeper(*id);
        }
    }
    let after: Vec<_> = ids.iter().map(|id| scene.status(*id).agent_pid).collect();
    assert_eq!(after, agents);
    for id in ids {
        let holder = scene.holder(id);
        scene.out(&["kill", &id.to_string()]);
        assert!(holder.wait_gone(LONG).expect("a pidfd"));
    }
}

#[test]
fn a_killed_starter_leaves_a_run_that_others_can_show() {
    let scene = Scene::new();
    let mut starter = scene.call(&["i", "sh", "echo ready"]).on_terminal(80, 24);
    starter.wait_for("ready");
    starter.signal(Signal::KILL);
    starter.ended();
    let mut viewing = scene.call(&["attach"]).on_terminal(80, 24);
    viewing.wait_for("ready");
    viewing.type_in("echo on-$((1 + 1))\r");
    viewing.wait_for("on-2");
}
