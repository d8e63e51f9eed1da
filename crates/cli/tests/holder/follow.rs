//! What is owed after a run.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use creel_api::keeper::Owed;
use creel_api::plan::Plan;
use creel_record::event::fact::SessionClosed;
use creel_record::{EndReason, Mode, Refusal, RunId, Source};
use creel_spool::Change;
use creel_sys::process::Signal;

use crate::Test;
use crate::scene::{CREEL, LONG, Live, Scene, draft, now, unique};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("follow::the_planner_gets_the_lease_and_its_plan_is_started", planned),
        ("follow::a_launch_that_died_halfway_is_lost", stranded),
        ("follow::after_a_failed_start_it_is_asked_again", failed_start),
        ("follow::a_planner_that_fails_is_asked_again", failing),
        ("follow::a_debt_that_cannot_be_planned_is_recorded_as_a_failed_start", given_up),
        ("follow::a_debt_that_somebody_settles_is_waited_for_no_more", settled),
        ("follow::a_holder_that_is_to_leave_waits_for_no_plan", leaving),
    ]
}

/// Puts a planner that does as `script` says beside the real holder and keeper.
fn with_planner(scene: &mut Scene, script: &str) {
    let path = scene.dir.join("creel");
    let text = format!("#!/bin/sh\ncase $1 in plan) {script} ;; *) exec {CREEL} \"$@\" ;; esac\n");
    std::fs::write(&path, text).expect("writes");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    scene.options.exe = path;
}

/// A planner that gives one plan once, and reports what it was asked and whether it has the lease.
fn with_plan(change: impl FnOnce(&mut Plan)) -> Scene {
    with_plan_in(Scene::new(), change)
}

fn with_plan_in(mut scene: Scene, change: impl FnOnce(&mut Plan)) -> Scene {
    let dir = scene.dir.display().to_string();
    with_planner(
        &mut scene,
        &format!(
            "echo \"$2 $3 $(readlink /proc/$$/fd/4)\" >> {dir}/asked
             if [ -e {dir}/next ]; then cat {dir}/next; rm {dir}/next
             else echo '{{\"owed\":\"nothing\"}}'; fi"
        ),
    );
    let mut next = scene.plan("echo second; exit 6");
    next.run.run_id = RunId::ordered(now(), unique()).to_string();
    next.run.cause = "resume".to_owned();
    change(&mut next);
    let owed = Owed::Run { plan: Box::new(next) };
    let owed = serde_json::to_vec(&owed).expect("JSON");
    std::fs::write(scene.dir.join("next"), owed).expect("writes");
    scene
}

/// Runs the first run to the end, and asserts the ends of all.
#[track_caller]
fn check(scene: &Scene, expected: &[(EndReason, Option<i32>)]) {
    let live = scene.script("exit 5");
    assert!(live.launched.holder.wait_gone(LONG).expect("waits"));
    drop(scene.lease());
    let session = scene.session();
    let ends: Vec<_> =
        session.runs.iter().map(|run| (run.end_reason.expect("an end"), run.exit_code)).collect();
    assert_eq!(ends, expected);
}

const FIRST: (EndReason, Option<i32>) = (EndReason::ExitNonzero, Some(5));

fn planned() {
    let scene = with_plan(|_| {});
    check(&scene, &[FIRST, (EndReason::ExitNonzero, Some(6))]);
    assert_eq!(scene.output(2), b"second\n");
    let asked = std::fs::read_to_string(scene.dir.join("asked")).expect("was asked");
    let line = format!(
        "{} {} {}",
        scene.store.root().display(),
        scene.id,
        scene.store.lease_path(scene.id).display()
    );
    assert_eq!(asked.lines().collect::<Vec<_>>(), [&line, &line]);
}

fn stranded() {
    let scene = with_plan(|_| {});
    // The second holder takes its launcher with it, before it started anything.
    let path = &scene.options.exe;
    let text = std::fs::read_to_string(path).expect("the planner");
    let die = scene.dir.join("die");
    let hold = format!(
        "hold) if [ -e {die} ]; then rm {die}; kill -KILL $PPID; exit 1; fi
         touch {die}; exec {CREEL} hold ;;",
        die = die.display(),
    );
    let text = text.replace("case $1 in ", &format!("case $1 in {hold} "));
    std::fs::write(path, text).expect("writes");
    check(&scene, &[FIRST, (EndReason::Lost, None)]);
}

fn failed_start() {
    let scene = with_plan(|plan| plan.command.program = "/nowhere/agent".into());
    check(&scene, &[FIRST, (EndReason::SpawnFailed, None)]);
    let asked = std::fs::read_to_string(scene.dir.join("asked")).expect("was asked");
    assert_eq!(asked.lines().count(), 2);
}

fn failing() {
    for script in
        ["exit 9", "echo nonsense", "kill -KILL $$", r#"echo '{"owed":"blocked","why":"x"}'"#]
    {
        let mut scene = with_plan_in(Scene::in_mode(Mode::Headless), |_| {});
        let path = scene.options.exe.clone();
        let failed = scene.dir.join("failed").display().to_string();
        let text = std::fs::read_to_string(&path).expect("the planner");
        let fail = format!("plan) if [ ! -e {failed} ]; then touch {failed}; {script}; exit; fi;");
        std::fs::write(&path, text.replace("plan)", &fail)).expect("writes");
        scene.options.exe = path;
        check(&scene, &[FIRST, (EndReason::ExitNonzero, Some(6))]);
    }
}

fn given_up() {
    let mut scene = Scene::in_mode(Mode::Headless);
    with_planner(&mut scene, r#"echo '{"owed":"blocked","why":"the catalog is wrong"}'"#);
    scene.options.patience = Duration::ZERO;
    check(&scene, &[FIRST, (EndReason::SpawnFailed, None)]);
    let session = scene.session();
    assert_eq!(session.work_state().as_str(), "awaiting");
    assert_eq!(session.runs[1].detail.as_deref(), Some("the catalog is wrong"));
}

/// Runs the first run to the end, with a planner that never has a plan, and does something once it
/// was asked; the holder is gone then, long before its patience is over.
fn check_left(act: impl FnOnce(&Scene, &Live<'_>)) {
    let mut scene = Scene::in_mode(Mode::Headless);
    let mut asked = scene.pipe("asked");
    let say = format!("echo > {}", asked.path.display());
    with_planner(&mut scene, &format!(r#"{say}; echo '{{"owed":"blocked","why":"x"}}'"#));
    scene.options.patience = Duration::from_secs(3600);
    let live = scene.script("exit 5");
    asked.line();
    act(&scene, &live);
    assert!(live.launched.holder.wait_gone(LONG).expect("waits"));
    assert_eq!(scene.session().run_count, 1);
}

fn settled() {
    check_left(|scene, _| {
        let closed = scene.store.transact(scene.id, |_| {
            let closed = SessionClosed::default();
            Ok::<_, Refusal>(Change::Append(draft(Source::Operator, closed), ()))
        });
        closed.expect("closes");
    });
}

fn leaving() {
    check_left(|_, live| {
        live.launched.holder.signal(Signal::TERM).expect("it is ours");
    });
}
