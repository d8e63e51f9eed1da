//! What reaches the agent, and what doesn't reach anybody else.

use std::collections::BTreeSet;
use std::path::PathBuf;

use creel_keeper::LaunchError;
use creel_record::EndReason;

use crate::Test;
use crate::crashes::keeper_of;
use crate::scene::{LONG, Scene};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("bounds::the_agent_gets_the_planned_environment_and_nothing_else", environment),
        ("bounds::the_agent_inherits_its_three_streams_and_nothing_else", descriptors),
        ("bounds::secrets_of_the_plan_are_in_no_other_process", secrets),
        ("bounds::a_session_has_one_run_at_a_time", one_run_at_a_time),
        ("bounds::files_of_the_plan_are_for_nobody_else", files),
        ("bounds::nothing_is_left_of_an_ended_run", nothing_is_left),
    ]
}

fn environment() {
    let scene = Scene::new();
    let mut plan = scene.plan("");
    plan.command.program = "/usr/bin/env".into();
    plan.command.args = vec!["-0".to_owned()];
    let expected: BTreeSet<String> =
        plan.command.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    scene.launch(plan).ended();
    let output = String::from_utf8(scene.output(1)).expect("text");
    let found: BTreeSet<String> = output.split_terminator('\0').map(str::to_owned).collect();
    assert_eq!(found, expected);
}

/// The descriptors of a process, with what they are.
fn fds(pid: i32) -> Vec<(u32, PathBuf)> {
    let mut fds: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("a process")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let number = entry.file_name().to_str().expect("a number").parse().expect("a number");
            (number, std::fs::read_link(entry.path()).expect("a link"))
        })
        .collect();
    fds.sort();
    fds
}

fn descriptors() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    // The pipe to report on is closed again before the process that is looked at runs.
    let live = scene.script(&format!("echo > {}; exec sleep 1000", ready.path.display()));
    ready.line();
    live.client();
    let found = fds(live.launched.agent.pid);
    let numbers: Vec<u32> = found.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 2], "{found:?}");
    let lease = scene.store.lease_path(scene.id);
    for pid in [live.launched.holder.pid, keeper_of(&live).expect("a keeper").pid] {
        assert!(fds(pid).iter().any(|(_, path)| *path == lease), "{pid} keeps the lease");
    }
    assert!(found.iter().all(|(_, path)| *path != lease));
    scene.request_end(EndReason::Closed);
    live.client().end(EndReason::Closed, LONG).expect("is heard");
    live.ended();
}

fn secrets() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let live = scene.script(&format!("echo > {}; exec sleep 1000", ready.path.display()));
    ready.line();
    live.client();
    for pid in [live.launched.holder.pid, keeper_of(&live).expect("a keeper").pid] {
        for file in ["environ", "cmdline"] {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).expect("a process");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.contains("s3cr3t"), "{file} of {pid}: {text}");
        }
        let environ = std::fs::read(format!("/proc/{pid}/environ")).expect("a process");
        let names: BTreeSet<String> = String::from_utf8_lossy(&environ)
            .split_terminator('\0')
            .map(|pair| pair.split('=').next().unwrap_or_default().to_owned())
            .collect();
        let expected = ["CREEL_RUNTIME_DIR", "HOME", "ORBH_SESSION_ID", "PATH"];
        assert_eq!(names, expected.map(str::to_owned).into());
    }
    scene.request_end(EndReason::Closed);
    live.client().end(EndReason::Closed, LONG).expect("is heard");
    live.ended();
    for file in walk(scene.store.root()) {
        let bytes = std::fs::read(&file).expect("a file");
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cr3t"), "{}", file.display());
    }
}

fn walk(dir: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

fn one_run_at_a_time() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let go = scene.pipe("go");
    let live = scene.script(&format!(
        "echo > {}; read line < {}",
        ready.path.display(),
        go.path.display()
    ));
    ready.line();
    assert!(scene.store.lease(scene.id).expect("a lease file").is_none(), "the lease is taken");
    // Somebody who holds a descriptor of the lease after all is refused by the record.
    let mut dir = std::fs::File::open(scene.store.lease_path(scene.id)).expect("a lease file");
    let stolen = creel_spool::Lease::from_fd(dir.try_clone().expect("a clone").into());
    let refused =
        creel_keeper::launch_with(&scene.store, scene.plan("exit 0"), stolen, &scene.options);
    assert!(matches!(refused, Err(LaunchError::Start(_))), "{refused:?}");
    let mut note = String::new();
    std::io::Read::read_to_string(&mut dir, &mut note).expect("reads");
    std::fs::write(&go.path, "now\n").expect("writes");
    live.check_end((EndReason::ExitZero, Some(0), None));
    assert_eq!(scene.session().run_count, 1);
}

fn files() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    let file = scene.run_dir(1).join("mcp.json");
    let mut plan = scene.plan(&format!("cat {}", file.display()));
    let text = "{\"a\":1}".to_owned();
    plan.command.files = vec![creel_api::plan::PlanFile { path: file.clone(), text: text.clone() }];
    scene.launch(plan).check_end((EndReason::ExitZero, Some(0), None));
    assert_eq!(String::from_utf8_lossy(&scene.output(1)), text);
    for path in walk(&scene.run_dir(1)) {
        let mode = path.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    let mode = scene.run_dir(1).metadata().expect("a directory").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
}

fn nothing_is_left() {
    let scene = Scene::new();
    let live = scene.script("exit 0");
    let run = live.check_end((EndReason::ExitZero, Some(0), None));
    let name = creel_api::keeper::socket_name(&live.run_id.to_string());
    let socket = creel_sys::runtime_dir::RuntimeDir::open().expect("a directory");
    assert!(!socket.path().join(name).exists(), "the socket stays");
    assert!(run.cgroup.is_none_or(|group| !PathBuf::from(group).exists()), "the cgroup stays");
}
