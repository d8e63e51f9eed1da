//! Parents at rest that are owed what came of a child which has no keeper any more.

use creel_record::SessionId;

use crate::recovery::kill_machinery;
use crate::trees::child_of;
use crate::world::{World, ends};

/// Starts a parent whose request for `child` ends with its own run, and which then rests.
fn parent_at_rest(world: &World, child: &str) -> (SessionId, SessionId) {
    std::fs::write(world.env.work_dir().join("child"), child).expect("a file");
    let go = world.gate("go");
    let script = format!(
        "if [ -n \"$ORBH_PROMPT\" ]; then printf '%s' \"$ORBH_PROMPT\" > digest; \
         creel session return --finish woken; exit; fi; \
         creel request -q sh --file child > /dev/null 2>&1 & {}; \
         creel session return --await waiting",
        go.wait()
    );
    let parent = world.launch(&script);
    let child = child_of(world, parent);
    world.until(child, |session| session.live_run().is_some_and(|run| run.agent.is_some()));
    go.open();
    world.until(parent, |session| session.result_count == 1);
    world.at_rest(parent);
    (parent, child)
}

#[track_caller]
fn check_woken(world: &World, parent: SessionId) {
    let session = world.until(parent, |session| session.result_count == 2);
    assert_eq!(session.runs[1].cause.as_str(), "wake");
    assert_eq!(session.dispatches, [], "the debt is paid");
    let digest = world.file("digest");
    assert!(digest.contains("No result"), "{digest}");
}

#[test]
fn an_end_of_a_child_at_rest_wakes_its_parent() {
    for verb in ["kill", "close", "end", "discard"] {
        let world = World::new();
        let (parent, child) = parent_at_rest(&world, "creel session ask --timeout 0 'which door?'");
        world.until(child, |session| session.live_run().is_none());
        assert_eq!(world.at_rest(child).work_state().as_str(), "needs-input");
        world.run(&[verb, &child.to_string()]).success();
        check_woken(&world, parent);
    }
}

#[test]
fn a_lost_child_wakes_its_parent_whoever_finds_it() {
    for finder in ["wait", "close", "reconcile"] {
        let world = World::new();
        let (parent, child) = parent_at_rest(&world, "exec sleep 600");
        kill_machinery(&world.session(child));
        let text = child.to_string();
        let arguments: &[&str] = match finder {
            "reconcile" => &["reconcile", &text, "--grace", "0"],
            _ => &[finder, &text],
        };
        world.run(arguments);
        assert_ne!(ends(&world.session(child)), ["live"], "{finder}");
        check_woken(&world, parent);
    }
}

#[test]
fn who_waits_for_a_parent_at_rest_gives_it_what_its_children_came_to() {
    let world = World::new();
    let (parent, child) = parent_at_rest(&world, "exec sleep 600");
    // Somebody who wakes nobody saw the child out.
    kill_machinery(&world.session(child));
    let lease = world.store().lease(child).expect("it can be asked for").expect("it is free");
    drop(lease);
    creel_keeper::takeover(&world.store(), child, &creel_keeper::TakeoverOptions::default())
        .expect("its tree is ended");
    let output = world.run(&["wait", &parent.to_string(), "--next"]).success();
    assert!(output.stdout.contains("result run 2"), "{output:?}");
    check_woken(&world, parent);
}
