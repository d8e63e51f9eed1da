//! Sessions that start sessions.

use creel_record::SessionId;
use creel_sys::process::ProcessIdentity;

use crate::world::{Gate, World, ends, shelf};

/// The child that a session waits for, once it works.
pub(crate) fn child_of(world: &World, id: SessionId) -> SessionId {
    let parent = world.until(id, |session| {
        session.dispatches.first().is_some_and(|dispatch| dispatch.is_materialized)
    });
    parent.dispatches[0].child_session_id
}

#[test]
fn a_result_passes_up_through_three_levels() {
    let world = World::new();
    let low = "creel session return --finish low";
    let middle = format!("creel session return \"middle of $(creel request -q sh \"{low}\")\"");
    std::fs::write(world.env.work_dir().join("middle"), middle).expect("a file");
    let top = "creel session return \"top of $(creel request -q sh --file middle)\"";
    let output = world.run(&["request", "-q", "sh", top]).success();
    assert_eq!(output.stdout, "top of middle of low");

    let top: SessionId =
        output.stderr.trim().strip_prefix("Session: ").expect("id").parse().expect("an id");
    let store = world.store();
    let ids = store.ids().expect("readable");
    assert_eq!(ids.len(), 3);
    let mut depths = Vec::new();
    for id in ids {
        let session = world.at_rest(id);
        assert_eq!(session.root_session_id, top);
        assert_eq!(session.dispatches, [], "every dispatch is settled");
        assert_eq!(session.pending.count, 0, "a collected result wakes nobody");
        depths.push((session.depth, session.mode.as_str()));
    }
    depths.sort_unstable();
    assert_eq!(depths, [(0, "headless"), (1, "subagent"), (2, "subagent")]);
}

#[test]
fn a_tree_of_three_levels_survives_the_end_of_each_upper_level() {
    let world = World::new();
    let gate = world.gate("gate");
    let low = format!("creel session set phase ready; {}; creel session return low", gate.wait());
    std::fs::write(world.env.work_dir().join("low"), low).expect("a file");
    std::fs::write(world.env.work_dir().join("middle"), "creel request -q sh --file low")
        .expect("a file");
    let top = world.launch("creel request -q sh --file middle");
    let middle = child_of(&world, top);
    let low = child_of(&world, middle);
    world.until_phase(low, "ready");

    world.run(&["kill", "--force", &top.to_string()]).success();
    assert_eq!(ends(&world.at_rest(top)), ["killed"]);
    for id in [middle, low] {
        assert!(world.session(id).live_run().is_some(), "the levels below run on");
    }
    world.run(&["close", "--force", &middle.to_string()]).success();
    assert_eq!(ends(&world.at_rest(middle)), ["closed"]);
    assert!(world.session(low).live_run().is_some());

    gate.open();
    world.until(low, |session| session.result_count == 1);
    assert_eq!(shelf(&world.at_rest(low)), ("finished", "finished"));
    assert_eq!(world.out(&["result", &low.to_string()]), "low");
}

#[test]
fn a_peer_launched_from_inside_a_session_is_nobodys_child_and_survives_it() {
    let world = World::new();
    let gate = world.gate("gate");
    let peer = format!("{}; creel session return peer", gate.wait());
    std::fs::write(world.env.work_dir().join("peer"), peer).expect("a file");
    let script = "creel session set peer \"$(creel launch sh --file peer)\"; exec sleep 600";
    let id = world.launch(script);
    let session = world.until(id, |session| session.interface.contains_key("peer"));
    let peer: SessionId = session.interface["peer"].parse().expect("launch prints an id");
    assert_eq!(session.dispatches, []);
    world.run(&["kill", &id.to_string()]).success();
    assert_eq!(ends(&world.at_rest(id)), ["killed"]);

    let running = world.session(peer);
    assert!(running.live_run().is_some());
    assert_eq!((running.parent, running.depth, running.mode.as_str()), (None, 0, "headless"));
    gate.open();
    world.until(peer, |session| session.result_count == 1);
}

#[test]
fn a_tree_is_no_deeper_and_no_wider_than_its_caps() {
    let world = World::new();
    let script = "ORBH_DISPATCH_DEPTH_CAP=0 creel request -q sh true 2> deep; echo $? >> codes; \
                  ORBH_DISPATCH_FANOUT_CAP=0 creel request -q sh true 2> wide; echo $? >> codes; \
                  ORBH_DISPATCH_DEPTH_CAP=x creel request -q sh true 2> bad; echo $? >> codes; \
                  creel session return done";
    let id = world.launch(script);
    world.until(id, |session| session.result_count == 1);
    assert_eq!(world.file("codes"), "4\n4\n2\n");
    assert!(world.file("deep").contains("[too-deep]"), "{}", world.file("deep"));
    assert!(world.file("wide").contains("[too-wide]"), "{}", world.file("wide"));
    assert!(world.file("bad").contains("ORBH_DISPATCH_DEPTH_CAP"), "{}", world.file("bad"));
    assert_eq!(world.store().ids().expect("readable"), [id], "no child was made");
}

#[test]
fn two_requests_never_share_the_last_slot() {
    let world = World::new();
    let gate = world.gate("gate");
    let child = format!("{}; creel session return done", gate.wait());
    std::fs::write(world.env.work_dir().join("child"), child).expect("a file");
    let script = "for n in 1 2 3 4; do \
                  (ORBH_DISPATCH_FANOUT_CAP=1 creel request -q sh --file child 2>> talk; \
                   echo $? >> codes; creel session note $n) & done; \
                  wait; creel session return all";
    let id = world.launch(script);
    world.until(id, |session| session.note_count == 3);
    assert_eq!(world.file("codes"), "4\n4\n4\n", "{}", world.file("talk"));
    gate.open();
    world.until(id, |session| session.result_count == 1);
    assert_eq!(world.file("codes"), "4\n4\n4\n0\n");
}

#[test]
fn a_result_whose_collector_was_killed_wakes_its_parent() {
    let world = World::new();
    let gate = world.gate("gate");
    let child = format!("{}; creel session return --finish found", gate.wait());
    std::fs::write(world.env.work_dir().join("child"), child).expect("a file");
    let go = world.gate("go");
    let script = format!(
        "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > digest; \
         creel session return --finish woken; exit; fi; \
         creel request -q sh --file child > /dev/null 2>&1 & \
         {}; kill -9 $!; creel session return --await waiting",
        go.wait()
    );
    let id = world.launch(&script);
    let child = child_of(&world, id);
    world.until(child, |session| session.live_run().is_some_and(|run| run.agent.is_some()));
    go.open();
    world.until(id, |session| session.result_count == 1);
    world.at_rest(id);
    gate.open();
    let session = world.until(id, |session| session.result_count == 2);
    assert_eq!(session.runs[1].cause.as_str(), "wake");
    assert!(world.file("digest").contains("found"), "{}", world.file("digest"));
    assert_eq!(session.dispatches, []);
}

#[test]
fn a_result_that_outlives_its_parents_run_wakes_the_parent() {
    let world = World::new();
    let gate = world.gate("gate");
    // The request is of the parent's run, also in a process session of its own, and ends with it.
    let script = "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > digest; \
                  creel session return --finish woken; exit; fi; \
                  setsid creel request -q sh --file child > /dev/null 2>&1 & \
                  until read line < go; do :; done; creel session return --await waiting";
    let go = world.gate("go");
    let child = format!("{}; creel session return --finish found", gate.wait());
    std::fs::write(world.env.work_dir().join("child"), child).expect("a file");
    let id = world.launch(script);
    let child = child_of(&world, id);
    world.until(child, |session| session.live_run().is_some_and(|run| run.agent.is_some()));
    go.open();
    world.until(id, |session| session.result_count == 1);
    assert_eq!(shelf(&world.at_rest(id)), ("awaiting", "parked"));
    gate.open();
    let session = world.until(id, |session| session.result_count == 2);
    assert_eq!(session.runs[1].cause.as_str(), "wake");
    assert!(world.file("digest").contains("found"), "{}", world.file("digest"));
    assert_eq!(session.dispatches, [], "the debt is paid");
}

#[test]
fn a_result_wakes_no_parent_in_a_store_that_nobody_trusts() {
    let world = World::new();
    let root = world.env.work_dir().join("orb");
    let gate = world.gate("gate");
    let go = world.gate("go");
    let child = format!("{}; creel session return --finish found", gate.wait());
    std::fs::write(world.env.work_dir().join("child"), child).expect("a file");
    let script = format!(
        "creel request -q sh --file child > /dev/null 2>&1 & {}; creel session return --await x",
        go.wait()
    );
    let root_text = root.display().to_string();
    let launch = ["--orb-root", &root_text, "--create-store", "launch", "sh", &script];
    let id: SessionId = world.out(&launch).parse().expect("an id");
    let store = crate::world::open(&root);
    let at_rest = |id| {
        let lease = store.lease_within(id, crate::world::DEADLINE).expect("it can be asked for");
        drop(lease.expect("it comes free in time"));
        store.read(id).expect("readable").snapshot.session
    };
    let parent = crate::world::until(&store, id, |session| {
        session.dispatches.first().is_some_and(|dispatch| dispatch.is_materialized)
    });
    let child = parent.dispatches[0].child_session_id;
    crate::world::until(&store, child, |session| session.live_run().is_some());
    go.open();
    crate::world::until(&store, id, |session| session.result_count == 1);
    at_rest(id);
    gate.open();
    crate::world::until(&store, child, |session| session.result_count == 1);
    at_rest(child);
    assert_eq!(at_rest(id).run_count, 1);
}

#[test]
fn a_result_that_came_before_its_collector_was_killed_wakes_the_parent_at_once() {
    let world = World::new();
    // The request is stopped while its child works, and dies with the run that it belongs to.
    let gate = world.gate("gate");
    let go = world.gate("go");
    let script = format!(
        "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > digest; \
         creel session return --finish woken; exit; fi; \
         creel request -q sh --file child > /dev/null 2>&1 & \
         {go}; kill -STOP $!; {go}; creel session return --await x",
        go = go.wait()
    );
    let child = format!("{}; creel session return --finish found", gate.wait());
    std::fs::write(world.env.work_dir().join("child"), child).expect("a file");
    let id = world.launch(&script);
    let child = child_of(&world, id);
    world.until(child, |session| session.live_run().is_some_and(|run| run.agent.is_some()));
    go.open();
    gate.open();
    world.until(child, |session| session.result_count == 1);
    world.at_rest(child);
    go.open();
    let session = world.until(id, |session| session.result_count == 2);
    assert_eq!(session.runs[1].cause.as_str(), "wake");
    assert!(world.file("digest").contains("found"), "{}", world.file("digest"));
}

/// Launches a parent that lives on beside its child, which hangs; returns both.
fn parent_and_child(world: &World, go: &Gate) -> (SessionId, SessionId) {
    std::fs::write(world.env.work_dir().join("child"), "creel session set phase ready; sleep 600")
        .expect("a file");
    let script = format!(
        "creel request -q sh --file child > /dev/null 2>&1 & {}; creel session return over",
        go.wait()
    );
    let id = world.launch(&script);
    let child = child_of(world, id);
    world.until_phase(child, "ready");
    world.until(child, |session| session.live_run().is_some_and(|run| run.holder.is_some()));
    (id, child)
}

#[test]
fn a_child_is_ended_while_its_parent_lives() {
    let world = World::new();
    let go = world.gate("go");
    let (parent, child) = parent_and_child(&world, &go);
    let agent = agent_of(&world, child);
    let begun = std::time::Instant::now();
    world.run(&["kill", &child.to_string()]).success();
    assert!(begun.elapsed() < crate::unreachable::SOON, "{:?}", begun.elapsed());
    assert!(!agent.is_alive().expect("readable"));
    let session = world.at_rest(child);
    assert_eq!((ends(&session), session.runs[0].signal), (vec!["killed"], Some(9)));
    assert!(world.session(parent).live_run().is_some(), "the parent works on");
    go.open();
    world.until(parent, |session| session.result_count == 1);
}

#[test]
fn what_a_childs_dead_holder_left_is_ended_although_the_parents_holder_adopted_it() {
    let world = World::new();
    let go = world.gate("go");
    let (parent, child) = parent_and_child(&world, &go);
    let agent = agent_of(&world, child);
    crate::recovery::kill_machinery(&world.session(child));
    world.run(&["kill", &child.to_string()]).success();
    assert!(!agent.is_alive().expect("readable"), "nothing of a dead run lives on");
    assert!(world.session(parent).live_run().is_some(), "the parent works on");
    go.open();
    world.until(parent, |session| session.result_count == 1);
}

fn agent_of(world: &World, id: SessionId) -> ProcessIdentity {
    let run = world.session(id).live_run().cloned().expect("it runs");
    let facts = run.agent.expect("it is known");
    ProcessIdentity { pid: facts.pid, start_ticks: facts.start_ticks, boot_id: facts.boot_id }
}
