//! Waiting for turns of other sessions.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use creel_record::command::end::{AskedEnd, request_end};
use creel_record::{EndReason, SessionId};
use creel_sys::process::{ProcessIdentity, Signal};
use creel_sys::tree::{ProcessTable, cmdline};

use crate::scene::Scene;

fn finish(scene: &Scene, id: SessionId, result: &str) {
    scene.as_agent(id, &["session", "return", result]).run().success();
}

fn stop(scene: &Scene, id: SessionId, reason: EndReason) {
    scene.append(id, |session| {
        request_end(session, &AskedEnd::from(reason)).unwrap().into_fact().unwrap()
    });
}

#[test]
fn outcomes_come_in_the_order_of_the_arguments() {
    let scene = Scene::new();
    let ids = ["a", "b", "c"].map(|title| scene.peer(title));
    let [a, b, c] = ids.map(|id| id.to_string());
    let waiting = scene.env.call(&["wait", &a, &b, &c]).spawn();
    finish(&scene, ids[2], "third");
    finish(&scene, ids[1], "second");
    finish(&scene, ids[0], "first");
    let output = waiting.wait_with_output().unwrap();
    let expected = format!("{a} result run 1\n{b} result run 1\n{c} result run 1\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn an_outcome_is_printed_as_soon_as_all_before_it_are() {
    let scene = Scene::new();
    let (first, second) = (scene.peer("first"), scene.peer("second"));
    let call = ["wait", &first.to_string(), &second.to_string()];
    let mut waiting = scene.env.call(&call).spawn();
    finish(&scene, first, "done");
    let mut lines = BufReader::new(waiting.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), format!("{first} result run 1"));
    finish(&scene, second, "done");
    assert_eq!(lines.next().unwrap().unwrap(), format!("{second} result run 1"));
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_pending_when_the_time_is_up_is_said() {
    let scene = Scene::new();
    let (done, open) = (scene.peer("done"), scene.peer("open"));
    finish(&scene, done, "it");
    let call = ["wait", &open.to_string(), &done.to_string(), "--timeout", "0", "--json"];
    insta::assert_snapshot!(scene.run(&call).normal());
}

#[test]
fn what_is_no_result_fails_the_wait() {
    let scene = Scene::new();
    let killed = scene.peer("killed");
    stop(&scene, killed, EndReason::Killed);
    scene.exit(killed, 1);
    let output = scene.run(&["wait", &killed.to_string()]);
    assert_eq!(output.stdout, format!("{killed} abandoned run 1\n"));
    assert_eq!(output.code, 1);
}

#[test]
fn a_turn_is_followed_through_its_reprompts() {
    let scene = Scene::new();
    let id = scene.peer("forgetful");
    // As its keeper has it.
    let lease = scene.store.lease(id).unwrap().unwrap();
    let waiting = scene.env.call(&["wait", &id.to_string()]).spawn();
    scene.exit(id, 0);
    scene.start(id);
    finish(&scene, id, "at last");
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{id} result run 2\n"));
    drop(lease);
}

#[test]
fn a_wait_says_that_nobody_works_where_it_may_not_start_anything() {
    let scene = Scene::with_store(|env| env.work_dir().join("orb"));
    let root = scene.store.root().display().to_string();
    let id = scene.peer("forgetful").to_string();
    scene.exit(id.parse().unwrap(), 0);
    let output = scene.run(&["--orb-root", &root, "wait", &id]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("nobody works on session"), "{output:?}");
    let next = format!("Next: creel --orb-root {root} reconcile {id} --grace 0\n");
    assert!(output.stderr.ends_with(&next), "{output:?}");
    let session = scene.store.read(id.parse().unwrap()).unwrap().snapshot.session;
    assert_eq!(session.run_count, 1, "nothing was started");
}

#[test]
fn a_wait_that_nobody_reads_ends_quietly() {
    let scene = Scene::new();
    let id = scene.peer("quiet");
    let mut waiting = scene.env.call(&["wait", &id.to_string()]).spawn();
    drop(waiting.stdout.take());
    assert!(waiting.wait().unwrap().success());
}

#[test]
fn next_waits_for_a_newer_result() {
    let scene = Scene::new();
    let id = scene.peer("again");
    scene.as_agent(id, &["session", "return", "--await", "old"]).run().success();
    scene.exit(id, 0);
    let now = scene.run(&["wait", "--next", &id.to_string(), "--timeout", "0"]);
    assert_eq!((now.code, now.stdout), (7, format!("{id} pending\n")));
    let waiting = scene.env.call(&["wait", "--next", &id.to_string(), "--json"]).spawn();
    scene.start(id);
    finish(&scene, id, "new");
    let output = waiting.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"text\":\"new\""), "{text}");
}

#[test]
fn what_a_parent_waited_for_is_owed_no_more() {
    let scene = Scene::new();
    let parent = scene.peer("parent");
    let child = scene.child(parent, "child");
    finish(&scene, child, "delivered");
    let dispatches = || scene.store.read(parent).unwrap().snapshot.session.dispatches.len();
    scene.run(&["wait", &child.to_string()]).success();
    assert_eq!(dispatches(), 1, "an operator's wait collects nothing for the parent");
    scene.as_agent(parent, &["wait", &child.to_string()]).run().success();
    let session = scene.store.read(parent).unwrap().snapshot.session;
    assert_eq!(session.dispatches, []);
    assert_eq!(session.pending.count, 0, "what was collected wakes nobody");
}

#[test]
fn a_run_whose_holder_and_keeper_were_killed_is_seen_out() {
    let scene = Scene::new();
    let fifo = scene.env.work_dir().join("never");
    let fifo = fifo.display().to_string();
    scene.env.call_of("mkfifo", &[&fifo]).run().success();
    let launched = scene.run(&["launch", "sh", &format!("cat {fifo}")]).success();
    let id: SessionId = launched.stdout.trim().parse().unwrap();
    let mut watch = scene.store.watch().unwrap();
    let holder = loop {
        let session = scene.store.read(id).unwrap().snapshot.session;
        if let Some(holder) = session.live_run().and_then(|run| run.holder.clone()) {
            break ProcessIdentity::of(holder.pid).unwrap().unwrap();
        }
        assert!(!watch.wait(Duration::from_secs(60)).unwrap().is_empty(), "it never ran");
    };
    let table = ProcessTable::read().unwrap();
    let keeper = table
        .descendants_of(holder.pid)
        .into_iter()
        .find(|pid| cmdline(*pid).get(1).is_some_and(|word| word == "keep"))
        .expect("the holder has a keeper");
    let keeper = ProcessIdentity::of(keeper).unwrap().unwrap();
    let waiting = scene.env.call(&["wait", &id.to_string(), "--timeout", "100"]).spawn();
    // Stopped first, so that it doesn't see its holder go.
    keeper.signal(Signal::STOP).unwrap();
    holder.signal(Signal::KILL).unwrap();
    holder.wait_gone(Duration::from_secs(60)).unwrap();
    keeper.signal(Signal::KILL).unwrap();
    let output = waiting.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, format!("{id} abandoned run 1\n"), "{:?}", String::from_utf8(output.stderr));
    let reason = scene.store.read(id).unwrap().snapshot.session.runs[0].end_reason;
    assert_eq!(reason, Some(EndReason::Lost));
}

#[test]
fn a_reconcile_that_records_a_childs_result_wakes_the_parent_in_the_same_call() {
    let scene = Scene::new();
    let parent = scene.peer("parent");
    let child = scene.child(parent, "child");
    scene.as_agent(child, &["session", "return", "found"]).run().success();
    scene.exit(child, 0);
    scene.as_agent(parent, &["session", "return", "--await", "waiting"]).run().success();
    scene.exit(parent, 0);
    // The parent is old; what is recorded of its child makes it young.
    let told = scene.run(&["reconcile", &parent.to_string()]).stdout;
    assert!(told.contains("1 results of children recorded, run 2 started (wake)"), "{told}");
}
