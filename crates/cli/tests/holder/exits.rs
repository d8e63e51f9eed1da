//! How the end of an agent is recorded.

use creel_api::plan::{JsonRule, ProviderRule};
use creel_api::transcript::Content;
use creel_record::{Disposition, EndReason, RunStatus, Source};

use crate::Test;
use crate::scene::Scene;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("exits::codes_and_signals_are_recorded", codes_and_signals_are_recorded),
        ("exits::a_run_is_recorded_from_start_to_end", a_run_is_recorded_from_start_to_end),
        ("exits::the_exit_code_is_the_verdict_where_it_is_said_to_be", verdict),
        ("exits::a_signal_is_no_verdict", a_signal_is_no_verdict),
        ("exits::a_native_id_is_recorded", a_native_id_is_recorded),
        ("exits::a_provider_error_is_recorded", a_provider_error_is_recorded),
        ("exits::a_return_in_a_directory_is_taken", a_return_in_a_directory_is_taken),
        ("exits::standard_input_is_whole_whether_or_not_it_is_read", standard_input),
    ]
}

fn check(script: &str, expected: (EndReason, Option<i32>, Option<i32>)) {
    let scene = Scene::new();
    let live = scene.script(script);
    let run = live.check_end(expected);
    assert!(run.agent.is_some(), "run.spawned is recorded");
    assert!(scene.session().live_run().is_none());
}

fn codes_and_signals_are_recorded() {
    check("exit 0", (EndReason::ExitZero, Some(0), None));
    check("exit 3", (EndReason::ExitNonzero, Some(3), None));
    check("kill -KILL $$", (EndReason::Signal, None, Some(9)));
    check("kill -SEGV $$", (EndReason::Signal, None, Some(11)));
}

fn a_run_is_recorded_from_start_to_end() {
    let scene = Scene::new();
    let live = scene.script("echo out; echo err >&2");
    live.ended();
    let kinds: Vec<String> = scene
        .transcript()
        .into_iter()
        .map(|entry| match entry.content {
            Content::Message { text, .. } => format!("message {text}"),
            Content::RunStarted { cause, .. } => format!("started {cause}"),
            Content::RunEnded { exit_code, .. } => format!("ended {exit_code:?}"),
            Content::Raw { .. } => "raw".to_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["started launch", "message the prompt", "raw", "raw", "ended Some(0)"]);
    let mut raw = scene.raw();
    assert!(raw.contains("out\n") && raw.contains("err\n"), "{raw}");
    raw.clear();
    assert_eq!(scene.output(1).len(), 8);

    let live = scene.script("echo again");
    live.ended();
    let entries = scene.transcript();
    assert!(entries.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1));
    assert_eq!(entries.last().expect("an entry").run, 2);
    assert_eq!(scene.output(2), b"again\n");
}

fn verdict() {
    for (script, expected) in [
        ("echo checked", "exit code 0\nchecked"),
        ("echo broken >&2; exit 3", "exit code 3\nbroken"),
        ("exit 1", "exit code 1"),
    ] {
        let scene = Scene::new();
        let mut plan = scene.plan(script);
        plan.watch.verdict_by_exit = true;
        let run = scene.launch(plan).ended();
        assert_eq!(run.end_reason, Some(EndReason::Returned));
        assert_eq!(scene.result(&run), expected);
        let result = run.result.expect("a result");
        assert_eq!((result.source, result.disposition), (Source::Keeper, Disposition::Finish));
        let ends = scene.transcript();
        assert!(
            ends.iter().any(|entry| matches!(&entry.content,
                Content::Result { text, .. } if text == expected)),
            "{ends:?}"
        );
    }
}

fn a_signal_is_no_verdict() {
    let scene = Scene::new();
    let mut plan = scene.plan("kill -KILL $$");
    plan.watch.verdict_by_exit = true;
    let run = scene.launch(plan).check_end((EndReason::Signal, None, Some(9)));
    assert!(run.result.is_none());
}

fn a_native_id_is_recorded() {
    let scene = Scene::new();
    let mut plan = scene.plan(r#"echo '{"type":"init","session_id":"n-1"}'; exit 0"#);
    plan.watch.native_id = vec![JsonRule {
        when: vec![("/type".to_owned(), "init".to_owned())],
        pointer: "/session_id".to_owned(),
    }];
    let run = scene.launch(plan).ended();
    assert_eq!(run.native_session_id.as_deref(), Some("n-1"));
    assert_eq!(scene.session().native_session_id.as_deref(), Some("n-1"));
}

fn a_provider_error_is_recorded() {
    let scene = Scene::new();
    let mut plan = scene.plan("echo 'usage limit reached' >&2; exit 1");
    plan.watch.provider_error = vec![ProviderRule {
        kind: "usage-limit".to_owned(),
        when: Vec::new(),
        text: "usage limit".to_owned(),
    }];
    let run = scene.launch(plan).check_end((EndReason::ProviderError, Some(1), None));
    assert_eq!(run.detail.as_deref(), Some("usage-limit: usage limit reached"));
    assert_eq!(run.status(false), RunStatus::Failed);
}

fn a_return_in_a_directory_is_taken() {
    let scene = Scene::new();
    let dir = scene.dir.join("return");
    let script = format!("cd {}; echo done > new; mv new finish; exec sleep 1000", dir.display());
    let mut plan = scene.plan(&script);
    plan.watch.return_dir = Some(dir);
    let run = scene.launch(plan).check_end((EndReason::Returned, None, Some(15)));
    assert_eq!(scene.result(&run), "done\n");
}

fn standard_input() {
    let scene = Scene::new();
    let mut plan = scene.plan("");
    plan.command.args = vec!["-c".to_owned(), "wc -c".to_owned()];
    plan.command.stdin = "x".repeat(3_000_000);
    scene.launch(plan).ended();
    assert_eq!(String::from_utf8_lossy(&scene.output(1)).trim(), "3000000");

    let mut plan = scene.plan("");
    plan.command.args = vec!["-c".to_owned(), "exit 7".to_owned()];
    plan.command.stdin = "x".repeat(3_000_000);
    scene.launch(plan).check_end((EndReason::ExitNonzero, Some(7), None));
}
