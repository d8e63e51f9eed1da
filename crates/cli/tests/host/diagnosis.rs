//! `creel doctor`.

use creel_api::doctor::{DoctorView, Verdict};

use crate::scene::Scene;

fn view(scene: &Scene, code: i32) -> DoctorView {
    let output = scene.world.run(&["doctor", "--json"]);
    assert_eq!(output.code, code, "{output:?}");
    serde_json::from_str(&output.stdout).expect("a view")
}

#[track_caller]
fn check(view: &DoctorView, name: &str, verdict: Verdict, part: &str) {
    let found = view.checks.iter().find(|check| check.name == name).expect("it is looked at");
    assert_eq!(found.verdict, verdict, "{found:?}");
    assert!(found.detail.contains(part), "{found:?}");
}

#[test]
fn a_fresh_home_has_nothing_wrong_with_it() {
    let scene = Scene::new();
    let view = view(&scene, 0);
    check(&view, "store", Verdict::Info, "is not created yet");
    check(&view, "host", Verdict::Info, "does not run");
    check(&view, "run sockets", Verdict::Good, "0, each with a listener");
    check(&view, "runs", Verdict::Good, "0 live");
    check(&view, "git", Verdict::Good, "git version");
    assert_eq!(view.boundary.live_session_count, 0);
    let text = scene.world.out(&["doctor"]);
    assert!(text.starts_with("Stronger than a detach: "), "{text}");
}

#[test]
fn what_lives_and_what_is_left_over_is_counted() {
    let scene = Scene::hosted();
    let id = scene.world.launch("sleep 600");
    scene.until_live(id);
    let seen = view(&scene, 0);
    check(&seen, "host", Verdict::Good, "1 living sessions");
    check(&seen, "runs", Verdict::Good, "1 live");
    assert_eq!(seen.boundary.live_session_count, 1);
    assert!(seen.boundary.ends_session_count <= 1);
    scene.kill(&scene.identity());
    crate::kills::kill_machinery(&scene, id);
    let seen = view(&scene, 0);
    check(&seen, "runs", Verdict::Weak, "1 are marked live and have no holder");
    check(&seen, "run sockets", Verdict::Weak, "1 of 1 are left over");
    let next = seen.checks.iter().find(|check| check.name == "runs").and_then(|it| it.next.clone());
    assert_eq!(next.as_deref(), Some("creel reconcile --all"));
    scene.world.run(&["reconcile", "--all", "--grace", "0"]).success();
    let seen = view(&scene, 0);
    check(&seen, "runs", Verdict::Good, "0 live");
    check(&seen, "run sockets", Verdict::Good, "0, each");
}

#[test]
fn an_agent_that_hangs_when_asked_for_its_version_is_cut_off() {
    let scene = Scene::new();
    scene.world.program("claude", "exec sleep 600");
    scene.world.program("codex", "echo codex-cli 9.9.9");
    scene.world.program("gemini", "exit 3");
    let view = view(&scene, 0);
    check(&view, "agent claude", Verdict::Info, "no version within");
    check(&view, "agent codex", Verdict::Info, "codex-cli 9.9.9");
    check(&view, "agent gemini", Verdict::Info, "no version: exit code 3");
}

#[test]
fn what_does_not_work_is_bad_and_the_exit_says_so() {
    let scene = Scene::new();
    scene.world.launch("true");
    std::fs::write(scene.world.env.store_root().join("manifest.json"), "{}").expect("writes");
    let seen = view(&scene, 1);
    assert!(seen.checks.iter().any(|it| it.name == "store" && it.verdict == Verdict::Bad));
}
