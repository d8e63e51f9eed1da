//! `launch --key`.

use crate::world::{World, ends};

#[test]
fn eight_launches_under_one_key_make_one_session_and_one_run() {
    let world = World::new();
    let arguments =
        ["launch", "--key", "nightly 1", "sh", "echo run >> runs; creel session return once"];
    let children: Vec<_> = (0..8).map(|_| world.call(&arguments).spawn()).collect();
    let mut ids: Vec<String> = Vec::new();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        ids.push(String::from_utf8(output.stdout).expect("text").trim().to_owned());
    }
    ids.dedup();
    let [id] = ids.as_slice() else { panic!("one id, not {ids:?}") };
    let id = id.parse().expect("an id");
    world.until(id, |session| session.result_count == 1);
    let session = world.at_rest(id);
    assert_eq!(ends(&session), ["returned"]);
    assert_eq!(world.file("runs").lines().count(), 1);
    assert_eq!(world.store().ids().expect("readable").len(), 1);

    assert_eq!(world.out(&arguments), id.to_string());
    assert_eq!(world.at_rest(id).run_count, 1);
}

#[test]
fn a_key_with_other_arguments_is_refused() {
    let world = World::new();
    let id = world.out(&["launch", "--key", "k", "sh", "creel session return once"]);
    for other in [
        vec!["launch", "--key", "k", "sh", "creel session return twice"],
        vec!["launch", "--key", "k", "--title", "t", "sh", "creel session return once"],
        vec!["launch", "--key", "k", "--account", "work", "sh", "creel session return once"],
        vec!["launch", "--key", "k", "--no-output-log", "sh", "creel session return once"],
        vec!["launch", "--key", "k", "sh/verdict", "creel session return once"],
    ] {
        let refusal = world.refused(&other, 4, "key-taken");
        assert!(refusal.contains(&id), "{refusal}");
    }
    assert_eq!(world.store().ids().expect("readable").len(), 1);
}
