//! Stores of projects.

use std::fs;

use crate::world::World;

#[test]
fn a_cloned_project_with_a_hostile_store_starts_nothing_until_it_is_trusted() {
    let world = World::new();
    // Somebody else's machine, on which the store was filled: a session that is owed its first run.
    let project = world.env.work_dir().join("project");
    let root = project.join(".orb");
    let root_text = root.display().to_string();
    fs::create_dir_all(&project).expect("a directory");
    let script = "echo pwned >> ../pwned; creel session return --await x";
    let call = |arguments: &[&str]| world.call(arguments).cwd(&project).run();
    let launched =
        call(&["--orb-root", &root_text, "--create-store", "launch", "sh", script]).success();
    let id = launched.stdout.trim().to_owned();
    let boot = creel_sys::boot::boot_id().expect("a boot");
    let store = creel_spool::Store::open(&root, std::sync::Arc::new(creel_sys::os_fs::OsFs), &boot)
        .expect("a store");
    let lease = store.lease_within(id.parse().expect("an id"), crate::world::DEADLINE);
    drop(lease.expect("asked for").expect("free in time"));
    fs::remove_file(world.env.work_dir().join("pwned")).expect("it ran when it was named");
    // Something waits for it now.
    let message = creel_record::event::fact::MessageReceived { text: "go".to_owned() };
    let now = creel_record::Timestamp::from_millis(1);
    let draft = creel_record::event::Draft {
        id: creel_record::EventId::ordered(now, [9; 10]),
        source: creel_record::Source::Operator,
        time: now,
        fact: message.into(),
    };
    store
        .transact(id.parse().expect("an id"), |_| {
            Ok::<_, creel_record::Refusal>(creel_spool::Change::Append(draft, ()))
        })
        .expect("written");
    // A catalog and settings that came with the project count for nothing.
    fs::write(root.join("catalog.toml"), "[harness.sh]\nprogram = \"/bin/false\"\n")
        .expect("a file");

    for arguments in [
        vec!["list"],
        vec!["reconcile", "--grace", "0"],
        vec!["reconcile", "--all", "--grace", "0"],
    ] {
        let output = call(&arguments).success();
        assert!(!output.stdout.contains(&id), "{output:?}");
    }
    let scope = call(&["scope", "--json"]).success();
    assert!(scope.stdout.contains(&root_text) && scope.stdout.contains("untrusted"), "{scope:?}");
    assert!(call(&["list"]).stderr.contains("not trusted"));
    assert_eq!(world.file("pwned"), "", "nothing was started");

    call(&["store", "trust", "."]).success();
    let swept = world.run(&["reconcile", "--all", "--grace", "0"]).success();
    assert!(swept.stdout.contains(&id), "{swept:?}");
    let lease = store.lease_within(id.parse().expect("an id"), crate::world::DEADLINE);
    drop(lease.expect("asked for").expect("free in time"));
    assert_eq!(world.file("pwned"), "pwned\n");
}

#[test]
fn an_agent_works_in_the_store_that_it_was_started_from() {
    let world = World::new();
    let project = world.env.work_dir().join("project");
    fs::create_dir_all(&project).expect("a directory");
    let call = |arguments: &[&str]| world.call(arguments).cwd(&project).run();
    call(&["store", "trust", "--create-store", "."]).success();
    let script = "cd / && creel session return \"$(creel scope)\"";
    let output = call(&["request", "-q", "sh", script]).success();
    let root = project.join(".orb").display().to_string();
    assert!(output.stdout.contains(&root), "{output:?}");
    assert!(!world.env.store_root().exists(), "the machine store was not needed");
}
