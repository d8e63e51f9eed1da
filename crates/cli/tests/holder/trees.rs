//! Ending an agent with everything it started.

use creel_record::EndReason;
use creel_sys::process::ProcessIdentity;

use crate::Test;
use crate::scene::{LONG, Pipe, Scene};

use creel_keeper::Grouping;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("trees::what_the_agent_leaves_behind_is_ended", leftovers),
        ("trees::leftovers_are_found_without_a_cgroup", leftovers_without_cgroup),
        ("trees::an_agent_that_ignores_everything_is_killed", an_agent_that_ignores_everything),
        ("trees::a_kill_does_not_wait_for_the_grace", a_kill_does_not_wait_for_the_grace),
        ("trees::a_returned_agent_that_lives_on_is_ended", a_returned_agent_is_ended),
        ("trees::a_process_of_somebody_else_is_left_alone", somebody_else),
        ("trees::a_pipe_held_by_a_stranger_does_not_hold_the_run", a_held_pipe),
    ]
}

/// A script that leaves four kinds of processes behind and reports their pids to a pipe.
fn leaving(pipe: &Pipe, end: &str) -> String {
    let path = pipe.path.display();
    let report = format!("echo \\$\\$ > {path}; exec sleep 1000");
    format!(
        r#"
        sh -c "{report}" &
        nohup sh -c "{report}" >/dev/null 2>&1 &
        setsid sh -c "{report}" &
        (setsid sh -c "trap '' TERM HUP INT; {report}" &)
        {end}
        "#
    )
}

fn check_leftovers(grouping: Grouping) {
    let mut scene = Scene::new();
    scene.options.grouping = grouping;
    let mut pipe = scene.pipe("pids");
    let go = scene.pipe("go");
    let script = leaving(&pipe, &format!("read line < {}; exit 4", go.path.display()));
    let live = scene.script(&script);
    let left: Vec<ProcessIdentity> = (0..4).map(|_| pipe.process()).collect();
    std::fs::write(&go.path, "now\n").expect("writes");
    let run = live.check_end((EndReason::ExitNonzero, Some(4), None));
    for process in left {
        assert!(!process.is_alive().expect("/proc"), "{process} lives on");
    }
    if let Some(group) = &run.cgroup {
        assert!(!std::path::Path::new(group).exists(), "{group} stays");
    }
    assert!(grouping == Grouping::OwnCgroup || run.cgroup.is_none());
}

fn leftovers() {
    check_leftovers(Grouping::OwnCgroup);
}

fn leftovers_without_cgroup() {
    check_leftovers(Grouping::None);
}

const STUBBORN: &str = "trap '' TERM HUP INT QUIT; echo ready > PIPE; \
     while :; do sleep 1000 & wait $!; done";

fn stubborn(pipe: &Pipe) -> String {
    STUBBORN.replace("PIPE", &pipe.path.display().to_string())
}

fn an_agent_that_ignores_everything() {
    let scene = Scene::new();
    let mut pipe = scene.pipe("ready");
    let live = scene.script(&stubborn(&pipe));
    pipe.line();
    scene.request_end(EndReason::Closed);
    let mut client = live.client();
    client.end(EndReason::Closed, LONG).expect("is heard");
    assert!(client.wait_closed(LONG).expect("waits"));
    live.check_end((EndReason::Closed, None, Some(9)));
}

fn a_kill_does_not_wait_for_the_grace() {
    let scene = Scene::new();
    let mut pipe = scene.pipe("ready");
    let mut plan = scene.plan(&stubborn(&pipe));
    // Longer than any test waits: the first attempt is still in its grace when the second comes.
    plan.watch.end_grace_ms = 3_600_000;
    let live = scene.launch(plan);
    pipe.line();
    scene.request_end(EndReason::Closed);
    live.client().end(EndReason::Closed, LONG).expect("is heard");
    scene.request_end(EndReason::Killed);
    live.client().end(EndReason::Killed, LONG).expect("is heard");
    live.check_end((EndReason::Killed, None, Some(9)));
}

fn a_returned_agent_is_ended() {
    let scene = Scene::new();
    let mut pipe = scene.pipe("ready");
    let live = scene.script(&format!("echo > {}; exec sleep 1000", pipe.path.display()));
    pipe.line();
    scene.record_return(live.run_id, "the result");
    live.client().returned(LONG).expect("is heard");
    let run = live.check_end((EndReason::Returned, None, Some(15)));
    assert_eq!(scene.result(&run), "the result");
}

fn somebody_else() {
    let scene = Scene::new();
    let mut stranger = std::process::Command::new("sleep")
        .arg("1000")
        .env_clear()
        .env("ORBH_SESSION_ID", "another")
        .spawn()
        .expect("sleep");
    scene.script("exit 0").check_end((EndReason::ExitZero, Some(0), None));
    assert!(stranger.try_wait().expect("waits").is_none(), "a stranger was ended");
    stranger.kill().expect("kills");
    stranger.wait().expect("ends");
}

fn a_held_pipe() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let go = scene.pipe("go");
    let live = scene.script(&format!(
        "echo $$ > {}; read line < {}; echo last; exit 0",
        ready.path.display(),
        go.path.display()
    ));
    let agent = ready.process();
    // Opened through /proc, as a stranger can get hold of it: no process of the run.
    let held = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{}/fd/1", agent.pid))
        .expect("the pipe");
    std::fs::write(&go.path, "now\n").expect("writes");
    live.check_end((EndReason::ExitZero, Some(0), None));
    assert_eq!(scene.output(1), b"last\n");
    drop(held);
}
