//! What agents say and keep.

use creel_record::WorkState;
use creel_record::limits::MAX_PAYLOAD_BYTES;

use crate::scene::Scene;

fn state(scene: &Scene, id: creel_record::SessionId) -> WorkState {
    scene.store.read(id).unwrap().snapshot.session.work_state()
}

#[test]
fn a_key_that_an_agent_sets_is_read_by_anybody() {
    let scene = Scene::new();
    let id = scene.peer("keys");
    let set = scene.as_agent(id, &["session", "set", "phase", "reading", "the", "code"]).run();
    assert_eq!(set.normal(), "exit 0\n");
    let get = scene.run(&["session", &id.to_string()[..8], "get", "phase"]);
    assert_eq!(get.normal(), "exit 0\nstdout:\nreading the code\n");
    insta::assert_snapshot!(scene.as_agent(id, &["session", "get", "progress"]).run().normal());
}

#[test]
fn a_value_may_begin_with_a_hyphen() {
    let scene = Scene::new();
    let id = scene.peer("hyphens");
    scene.as_agent(id, &["session", "set", "blockers", "- none"]).run().success();
    let get = scene.as_agent(id, &["session", "get", "blockers"]).run();
    assert_eq!(get.stdout, "- none\n");
    scene.as_agent(id, &["session", "return", "- did it\n- all", "--await"]).run().success();
    assert_eq!(scene.run(&["result", &id.to_string()]).stdout, "- did it\n- all");
    assert_eq!(state(&scene, id), WorkState::Awaiting);
}

#[test]
fn checklist_5_a_return_without_a_flag_finishes() {
    let scene = Scene::new();
    let id = scene.peer("finish");
    assert_eq!(scene.as_agent(id, &["session", "return", "done"]).run().normal(), "exit 0\n");
    assert_eq!(state(&scene, id), WorkState::Finished);
    assert_eq!(scene.run(&["result", &id.to_string()]).normal(), "exit 0\nstdout:\ndone␊\n");
}

#[test]
fn the_same_return_again_answers_as_the_first_and_another_is_refused() {
    let scene = Scene::new();
    let id = scene.peer("twice");
    scene.as_agent(id, &["session", "return", "--await", "one"]).run().success();
    let events = |scene: &Scene| scene.store.read(id).unwrap().snapshot.log.sequence;
    let before = events(&scene);
    scene.as_agent(id, &["session", "return", "--await", "one"]).run().success();
    assert_eq!(events(&scene), before);
    let other = scene.as_agent(id, &["session", "return", "--await", "two"]).run();
    insta::assert_snapshot!(other.normal());
    assert_eq!(events(&scene), before);
    assert_eq!(scene.run(&["result", &id.to_string()]).stdout, "one");
}

#[test]
fn a_late_return_is_stored_on_the_run_that_speaks() {
    let scene = Scene::new();
    let id = scene.unstarted("late", None);
    let first = scene.start(id);
    scene.exit(id, 0);
    scene.start(id);
    let late =
        scene.as_agent(id, &["session", "return", "old"]).env("CREEL_RUN_ID", first.to_string());
    late.run().success();
    assert_eq!(state(&scene, id), WorkState::Working);
    assert_eq!(scene.run(&["result", &id.to_string(), "--run", "1"]).stdout, "old");
    insta::assert_snapshot!(scene.run(&["result", &id.to_string(), "--run", "2"]).normal());
}

#[test]
fn a_text_comes_from_standard_input_or_a_file_as_it_is() {
    let scene = Scene::new();
    let id = scene.peer("long");
    let long = "ż".repeat(MAX_PAYLOAD_BYTES / 2);
    let over = scene.as_agent(id, &["session", "return", "-"]).stdin(format!("{long}x")).run();
    insta::assert_snapshot!(over.normal());
    scene.as_agent(id, &["session", "return", "-"]).stdin(long.clone()).run().success();
    assert!(scene.run(&["result", &id.to_string()]).stdout == long);
    let file = scene.env.work_dir().join("note");
    std::fs::write(&file, "a\nb\n").unwrap();
    let file = file.display().to_string();
    scene.as_agent(id, &["session", "note", "--file", &file]).run().success();
    let binary = scene.as_agent(id, &["session", "note", "-"]).stdin(vec![b'a', 0xff]).run();
    insta::assert_snapshot!(binary.normal());
    let missing = scene.as_agent(id, &["session", "note", "--file", "/nowhere/at/all"]).run();
    insta::assert_snapshot!(missing.normal());
}

#[test]
fn the_same_title_again_appends_nothing() {
    let scene = Scene::new();
    let id = scene.peer("before");
    let register = ["session", "register", "Title \u{1b}[31m", "What it is about"];
    insta::assert_snapshot!(scene.as_agent(id, &register).run().normal());
    let register = ["session", "register", "Title", "What it is about"];
    let said = scene.as_agent(id, &register).run();
    assert_eq!(said.stdout, "Registered: Title — What it is about\n");
    let before = scene.store.read(id).unwrap().snapshot.log.sequence;
    scene.as_agent(id, &register).run().success();
    assert_eq!(scene.store.read(id).unwrap().snapshot.log.sequence, before);
}

#[test]
fn what_another_session_writes_is_attributed_to_it() {
    let scene = Scene::new();
    let (writer, id) = (scene.peer("writer"), scene.peer("written"));
    let note = ["session", &id.to_string(), "note", "seen"];
    scene.as_agent(writer, &note).run().success();
    let artifact = ["session", &id.to_string(), "artifact", "out/report.md"];
    scene.as_agent(writer, &artifact).run().success();
    let events = scene.run(&["events", &id.to_string(), "--after", "2", "--json"]);
    insta::assert_snapshot!(events.normal());
}

#[test]
fn an_answer_is_printed_and_taken() {
    let scene = Scene::new();
    let id = scene.peer("asks");
    let ask = scene.as_agent(id, &["session", "ask", "Which one?", "--timeout", "100"]).spawn();
    wait_for(&scene, id, WorkState::NeedsInput);
    let inspect = scene.run(&["inspect", &id.to_string(), "--json"]);
    assert!(inspect.stdout.contains("\"question\":\"Which one?\""), "{inspect:?}");
    let question = scene.store.read(id).unwrap().snapshot.session.questions[0].id;
    scene.append(id, |session| {
        creel_record::command::question::answer(session, Some(question), "The left\none")
            .unwrap()
            .into()
    });
    let output = ask.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "The left\none\n");
    assert_eq!(output.status.code(), Some(0));
    let session = scene.store.read(id).unwrap().snapshot.session;
    assert!(session.questions.is_empty());
    assert_eq!(session.work_state(), WorkState::Working);
}

#[test]
fn a_question_that_timed_out_stays_open() {
    let scene = Scene::new();
    let id = scene.peer("asks");
    let asked = scene.as_agent(id, &["session", "ask", "Anybody?", "--timeout", "0"]).run();
    assert_eq!(asked.code, 7, "{asked:?}");
    assert_eq!(asked.stdout, "");
    assert_eq!(state(&scene, id), WorkState::NeedsInput);
}

/// Waits for a state by the store's own feed.
fn wait_for(scene: &Scene, id: creel_record::SessionId, wanted: WorkState) {
    let mut watch = scene.store.watch().unwrap();
    let deadline = creel_sys::Deadline::after(std::time::Duration::from_secs(60));
    while state(scene, id) != wanted {
        assert!(!deadline.is_past(), "{id} never was {wanted}");
        watch.wait(deadline.remaining()).unwrap();
    }
}
