//! Agents that can't be started.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use creel_keeper::LaunchError;
use creel_record::{EndReason, Mode};
use creel_sys::process::ProcessIdentity;

use crate::scene::{CREEL, Scene};
use crate::{Test, home};

/// Starts this program as somebody who isn't root.
pub(crate) const DRIVER: &str = "drive-denied";

/// `nobody`, on every Debian.
const NOBODY: u32 = 65_534;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("spawning::a_missing_program_is_named", missing_program),
        ("spawning::a_missing_interpreter_is_named", missing_interpreter),
        ("spawning::a_program_that_is_none_is_named", no_program),
        ("spawning::a_deleted_working_directory_is_named", deleted_cwd),
        ("spawning::a_forbidden_working_directory_is_named", forbidden_cwd),
        ("spawning::a_file_that_cannot_be_written_is_named", unwritable_file),
        ("spawning::a_holder_that_cannot_start_is_told_of", missing_holder),
        ("spawning::what_a_holder_started_that_died_without_a_word_is_ended", wordless_holder),
    ]
}

/// Launches, and asserts that the run ended as `spawn-failed` for the reason, and that another run
/// can follow.
#[track_caller]
fn check(scene: &Scene, plan: creel_api::plan::Plan, reason: &str) {
    let Err(error) = scene.try_launch(plan) else { unreachable!("it was started") };
    let LaunchError::SpawnFailed { run_number, reason: found } = &error else {
        unreachable!("{error:?}")
    };
    assert_eq!((found.as_str(), *run_number), (reason, 1));
    let session = scene.session();
    let run = session.current_run().expect("a run");
    assert_eq!(run.end_reason, Some(EndReason::SpawnFailed));
    assert!(reason.starts_with(run.detail.as_deref().expect("a reason").trim_end_matches('…')));
    // Other tests fork in this process, and have the lease until they start their program.
    drop(scene.lease());
    assert_eq!(std::fs::read_dir(home::dir().join("r")).map_or(0, |dir| sockets(dir, run)), 0);
}

fn sockets(dir: std::fs::ReadDir, run: &creel_record::Run) -> usize {
    let name = creel_api::keeper::socket_name(&run.id.to_string());
    dir.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name() == *name)).count()
}

fn missing_program() {
    let scene = Scene::new();
    let mut plan = scene.plan("");
    plan.command.program = "/nowhere/agent".into();
    check(&scene, plan, "can't run /nowhere/agent: No such file or directory (os error 2)");
}

fn script(scene: &Scene, text: &str) -> PathBuf {
    let path = scene.dir.join("agent");
    std::fs::write(&path, text).expect("writes");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    path
}

fn missing_interpreter() {
    let scene = Scene::new();
    let path = script(&scene, "#!/nowhere/node --flag\n");
    let mut plan = scene.plan("");
    plan.command.program.clone_from(&path);
    let reason = format!("can't run {}: its interpreter /nowhere/node is missing", path.display());
    check(&scene, plan, &reason);
}

fn no_program() {
    let scene = Scene::new();
    let path = script(&scene, "text");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    let mut plan = scene.plan("");
    plan.command.program.clone_from(&path);
    let reason = format!("can't run {}: Permission denied (os error 13)", path.display());
    check(&scene, plan, &reason);

    let scene = Scene::new();
    let mut plan = scene.plan("");
    plan.command.program.clone_from(&scene.dir);
    check(&scene, plan, &format!("can't run {}: it is a directory", scene.dir.display()));
}

fn deleted_cwd() {
    let scene = Scene::new();
    let mut plan = scene.plan("");
    plan.command.cwd = scene.dir.join("gone");
    let reason = format!(
        "can't enter the working directory {}: No such file or directory (os error 2)",
        plan.command.cwd.display()
    );
    check(&scene, plan, &reason);
}

/// Root may enter any directory, so that this one is done as somebody else.
fn forbidden_cwd() {
    let dir = std::env::temp_dir().join(format!("cd{}", std::process::id()));
    home::make(&dir);
    // Build directories may be out of reach for others than their owner.
    let reachable = |from: &Path, name: &str| {
        let to = dir.join(name);
        std::fs::copy(from, &to).expect("copies");
        to
    };
    let driver = reachable(&std::env::current_exe().expect("this program"), "driver");
    reachable(Path::new(CREEL), "creel");
    let is_root = Path::new("/proc/self").metadata().is_ok_and(|stat| {
        use std::os::unix::fs::MetadataExt;
        stat.uid() == 0
    });
    let mut command = std::process::Command::new(&driver);
    command.env_clear().envs(home::command(&dir).get_envs().filter_map(|(k, v)| Some((k, v?))));
    if is_root {
        for path in [dir.clone(), dir.join("r"), driver, dir.join("creel")] {
            std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).expect("chown");
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.arg(DRIVER).output().expect("the driver starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(home::left(&dir), vec![]);
    std::fs::remove_dir_all(&dir).expect("can be removed");
}

/// Runs the part of the test that root can't do.
pub(crate) fn drive() -> ExitCode {
    let dir = home::dir();
    let mut scene = Scene::at(dir.join("scene"), Mode::Interactive);
    scene.options.exe = dir.join("creel");
    let mut plan = scene.plan("");
    plan.command.cwd = scene.dir.join("closed");
    std::fs::create_dir(&plan.command.cwd).expect("a directory");
    std::fs::set_permissions(&plan.command.cwd, std::fs::Permissions::from_mode(0o600))
        .expect("a mode");
    let reason = format!(
        "can't enter the working directory {}: Permission denied (os error 13)",
        plan.command.cwd.display()
    );
    check(&scene, plan, &reason);
    ExitCode::SUCCESS
}

fn unwritable_file() {
    let scene = Scene::new();
    let mut plan = scene.plan("");
    let path = PathBuf::from("/proc/self/nothing/mcp.json");
    plan.command.files = vec![creel_api::plan::PlanFile { path, text: String::new() }];
    let reason =
        "can't make the directory /proc/self/nothing: No such file or directory (os error 2)";
    check(&scene, plan, reason);
}

fn missing_holder() {
    let mut scene = Scene::new();
    scene.options.exe = "/nowhere/creel".into();
    let reason = "can't start the holder /nowhere/creel: No such file or directory (os error 2)";
    let plan = scene.plan("");
    check(&scene, plan, reason);
}

fn wordless_holder() {
    let mut scene = Scene::new();
    let mut pids = scene.pipe("pids");
    let path = script(
        &scene,
        &format!(
            "#!/bin/sh\n(setsid sh -c 'echo $$ > {}; exec sleep 1000' &)\nexit 1\n",
            pids.path.display()
        ),
    );
    scene.options.exe = path;
    let plan = scene.plan("");
    check(&scene, plan, "its holder ended or hung before it said how the start went");
    let pid: i32 = pids.line().trim().parse().expect("a pid");
    let left = ProcessIdentity::of(pid).expect("/proc");
    assert!(left.is_none_or(|left| !left.is_alive().expect("/proc")), "{pid} lives on");
}
