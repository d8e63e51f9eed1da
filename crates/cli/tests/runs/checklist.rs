//! The contract's checklist, point by point, as far as it shows in real processes. Points 1, 10, 12
//! and 13 are fold tests of the record.

use creel_record::SessionId;

use crate::world::{World, ends, shelf};

/// Launches a script that returns, and waits until it is over.
fn returned(world: &World, script: &str) -> SessionId {
    let id = world.launch(script);
    world.until(id, |session| session.result_count > 0);
    world.at_rest(id);
    id
}

#[test]
fn checklist_02_each_mutation_is_one_line_and_reads_never_open_the_log() {
    let world = World::new();
    let id = returned(&world, "creel session set phase one; creel session return done");
    let text = id.to_string();
    let log = world.store().log_path(id);
    let lines = || std::fs::read_to_string(&log).expect("a log").lines().count() as u64;
    let sequence = || world.store().read(id).expect("readable").snapshot.log.sequence;
    assert_eq!(lines(), sequence());
    for change in [
        vec!["session", &text, "set", "phase", "two"],
        vec!["session", &text, "note", "seen"],
        vec!["session", &text, "register", "Title", "Description"],
        vec!["park", &text],
    ] {
        let before = lines();
        world.run(&change).success();
        assert_eq!((lines(), sequence()), (before + 1, before + 1), "{change:?}");
    }
    world.run(&["verify", &text]).success();

    // Whoever reads the log gets nonsense from here on.
    let len = std::fs::metadata(&log).expect("a log").len();
    std::fs::write(&log, vec![b'x'; usize::try_from(len).expect("small")]).expect("written");
    assert_eq!(world.out(&["session", &text, "get", "phase"]), "two");
    let listed: serde_json::Value =
        serde_json::from_str(&world.out(&["list", "--json"])).expect("one object");
    assert_eq!((&listed["id"], &listed["title"]), (&text.clone().into(), &"Title".into()));
    assert_ne!(world.run(&["verify", &text]).code, 0);
}

#[test]
fn checklist_03_a_deleted_snapshot_is_rebuilt_equal() {
    let world = World::new();
    let id = returned(&world, "creel session set phase one; creel session return done");
    let snapshot = world.store().log_path(id).with_extension("json");
    let before = std::fs::read(&snapshot).expect("a snapshot");
    std::fs::remove_file(&snapshot).expect("it can go");
    assert_ne!(world.run(&["inspect", &id.to_string()]).code, 0, "no reader makes one");
    assert!(!snapshot.exists());
    world.run(&["rebuild-session-snapshots", &id.to_string()]).success();
    assert_eq!(std::fs::read(&snapshot).expect("a snapshot"), before);
}

#[test]
fn checklist_04_the_spool_stays_in_its_place_after_a_resume() {
    let world = World::new();
    let id = returned(&world, "creel session return one");
    let path = world.env.store_root().join(format!("spaces/local/spools/{id}.jsonl"));
    assert!(path.is_file());
    world.out(&["resume", &id.to_string(), "creel session return two"]);
    world.until(id, |session| session.result_count == 2);
    world.at_rest(id);
    assert!(path.is_file());
    let spools = world.env.store_root().join("spaces/local/spools");
    let logs = std::fs::read_dir(spools).expect("a directory").filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().ends_with(".jsonl")
    });
    assert_eq!(logs.count(), 1);
}

#[test]
fn checklist_05_a_return_without_a_flag_is_a_finish() {
    let world = World::new();
    let id = returned(&world, "creel session return plain");
    assert_eq!(world.session(id).work_state().as_str(), "finished");
    let id = returned(&world, "creel session return --await more");
    assert_eq!(world.session(id).work_state().as_str(), "awaiting");
}

#[test]
fn checklist_06_an_exit_without_a_return_is_working_then_twice_reprompted_then_failed() {
    let world = World::new();
    let gate = world.gate("gate");
    let id = world.launch(&format!("creel session set phase $$; {}", gate.wait()));
    for run in 1..=3 {
        let session = world.until(id, |s| s.run_count == run && s.live_run().is_some());
        assert_eq!(session.work_state().as_str(), "working", "run {run}");
        gate.open();
    }
    world.until(id, |session| session.work_state().as_str() == "awaiting");
    let session = world.at_rest(id);
    assert_eq!(ends(&session), ["exit-zero", "exit-zero", "failed-unreturned"]);
    assert_eq!(world.out(&["reconcile", "--grace", "0"]), "", "a third never happens");
    assert_eq!(world.at_rest(id).run_count, 3);
}

#[test]
fn checklist_07_no_reprompt_follows_a_deliberate_end_and_each_has_its_own() {
    let world = World::new();
    for (verb, reason) in
        [("kill", "killed"), ("close", "closed"), ("park", "parked"), ("discard", "discarded")]
    {
        let id = world.launch("creel session set phase ready; exec sleep 600");
        world.until_phase(id, "ready");
        world.run(&[verb, &id.to_string()]).success();
        let session = world.at_rest(id);
        assert_eq!(ends(&session), [reason]);
        assert_eq!(world.out(&["reconcile", "--grace", "0"]), "");
        assert_eq!(world.session(id).run_count, 1);
    }
}

#[test]
fn checklist_08_results_are_read_by_the_latest_and_by_run() {
    let world = World::new();
    let id = returned(&world, "creel session return --await one");
    let text = id.to_string();
    world.out(&["resume", &text, "creel session set phase ready; exec sleep 600"]);
    world.until_phase(id, "ready");
    world.run(&["park", &text]).success();
    world.out(&["resume", &text, "creel session return --finish three"]);
    world.until(id, |session| session.result_count == 2);
    world.at_rest(id);
    assert_eq!(world.out(&["result", &text]), "three");
    assert_eq!(world.out(&["result", &text, "--run", "1"]), "one");
    assert_eq!(world.out(&["result", &text, "--run", "3"]), "three");
    let refusal = world.refused(&["result", &text, "--run", "2"], 3, "no-result");
    assert!(refusal.contains('1') && refusal.contains('3'), "{refusal}");
}

#[test]
fn checklist_09_a_return_comes_before_a_question_and_a_question_before_working() {
    let world = World::new();
    let gate = world.gate("gate");
    let script = format!(
        "creel session set phase ready; {gate}; creel session ask 'left?' > /dev/null & {gate}; \
         creel session return done; {gate}",
        gate = gate.wait()
    );
    let id = world.launch(&script);
    let state = |session: &creel_record::Session| session.work_state().as_str();
    assert_eq!(state(&world.until_phase(id, "ready")), "working");
    gate.open();
    world.until(id, |session| state(session) == "needs-input");
    gate.open();
    let session = world.until(id, |session| session.result_count == 1);
    assert_eq!(state(&session), "finished");
    gate.open();
    world.at_rest(id);
}

#[test]
fn checklist_11_the_shelf_follows_the_end_and_a_resume_clears_it() {
    let world = World::new();
    let cases = [
        ("creel session return --finish x", "finished"),
        ("creel session return --await x", "parked"),
        ("true", "error"),
        ("creel close", "closed"),
        ("creel park", "parked"),
        ("creel discard", "closed"),
    ];
    let gate = world.gate("gate");
    for (script, retention) in cases {
        let id = world.launch(script);
        world.until(id, |session| session.retention.as_str() == retention);
        let session = world.at_rest(id);
        assert_eq!((script, session.retention.as_str()), (script, retention));
        let again = format!("creel session set phase ready; {}; creel kill", gate.wait());
        world.run(&["resume", "--undiscard", &id.to_string(), &again]).success();
        assert_eq!(shelf(&world.until_phase(id, "ready")), ("working", "active"));
        gate.open();
        world.at_rest(id);
    }
}

#[test]
fn checklist_14_a_discarded_session_is_hidden_from_the_default_list() {
    let world = World::new();
    let kept = returned(&world, "creel session return kept");
    let gone = returned(&world, "creel session return gone");
    world.run(&["discard", &gone.to_string()]).success();
    let listed = world.out(&["list", "--json"]);
    assert!(listed.contains(&kept.to_string()) && !listed.contains(&gone.to_string()), "{listed}");
    let all = world.out(&["list", "--json", "--all"]);
    assert!(all.contains(&kept.to_string()) && all.contains(&gone.to_string()), "{all}");
    assert_eq!(world.out(&["result", &gone.to_string()]), "gone");
}

#[test]
fn checklist_15_core_keys_are_refused_and_free_keys_outlive_a_resume() {
    let world = World::new();
    let script = "creel session set progress 3/7; creel session set core:wake-at now 2> refusal; \
                  creel session set code $?; creel session return --await one";
    let id = returned(&world, script);
    assert!(world.file("refusal").contains("[reserved-key]"), "{}", world.file("refusal"));
    let script = "creel session return \"$(creel session get progress) $(creel session get code)\"";
    world.out(&["resume", &id.to_string(), script]);
    world.until(id, |session| session.result_count == 2);
    world.at_rest(id);
    assert_eq!(world.out(&["result", &id.to_string()]), "3/7 4");
}
