//! A disk that fills up under a run, and a record that can't be written for a while.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use creel_api::keeper::{Phase, Status};
use creel_record::event::fact::NoteAdded;
use creel_record::{EndReason, Mode, Refusal, Source};
use creel_spool::Change;
use creel_sys::Deadline;
use creel_sys::fs::{Fs, LockMode, OpenHow};
use creel_sys::os_fs::OsFs;

use crate::scene::{LONG, Live, Scene, draft};
use crate::{Test, home};

/// Run inside of a mount namespace, where a small file system can be mounted by anybody.
pub(crate) const DRIVER: &str = "drive-disk-full";
pub(crate) const OWING_DRIVER: &str = "drive-disk-full-owing";

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("disk_full::a_full_disk_costs_output_and_neither_agent_nor_record", full),
        ("disk_full::what_is_owed_is_decided_by_the_log_while_nothing_else_can_be_written", owing),
        ("disk_full::a_locked_record_holds_up_neither_agent_nor_socket", locked),
    ]
}

/// Asks until the status is as it should be.
fn status(live: &Live<'_>, is_so: impl Fn(&Status) -> bool) -> Status {
    let deadline = Deadline::after(LONG);
    let mut client = live.client();
    loop {
        let status = client.status(LONG).expect("answers");
        if is_so(&status) {
            return status;
        }
        assert!(!deadline.is_past(), "the status stays {status:#?}");
    }
}

fn full() {
    in_namespace("cf", DRIVER);
}

fn owing() {
    in_namespace("co", OWING_DRIVER);
}

fn in_namespace(name: &str, driver_name: &str) {
    let dir = std::env::temp_dir().join(format!("{name}{}", std::process::id()));
    home::make(&dir);
    std::fs::create_dir(dir.join("disk")).expect("a directory");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]);
    let driver = home::command(&dir);
    command.env_clear().envs(driver.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let output =
        command.arg(driver.get_program()).arg(driver_name).output().expect("unshare (util-linux)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(home::left(&dir), vec![]);
    std::fs::remove_dir_all(&dir).expect("can be removed");
}

/// Mounts a small disk.
fn small_disk(dir: &Path) -> PathBuf {
    let disk = dir.join("disk");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&disk)
        .status()
        .expect("mount");
    assert!(mounted.success());
    disk
}

/// The end of the run fits into the log, and no snapshot of it onto the disk.
pub(crate) fn drive_owing() -> ExitCode {
    let dir = home::dir();
    let disk = small_disk(&dir);
    let mut scene = Scene::at(disk.join("scene"), Mode::Headless);
    scene.options.patience = Duration::ZERO;
    let mut ready = crate::scene::Pipe::new(&dir.join("ready"));
    let go = crate::scene::Pipe::new(&dir.join("go"));
    let (ready_path, go_path) = (ready.path.display(), go.path.display());
    let live = scene.script(&format!("echo > {ready_path}; read line < {go_path}; exit 3"));
    ready.line();
    scene.wait_for(|session| session.live_run().is_some_and(|run| run.agent.is_some()));
    let filler = disk.join("filler");
    fill(&filler);
    std::fs::write(&go.path, "now\n").expect("writes");
    assert!(live.launched.holder.wait_gone(LONG).expect("waits"));
    std::fs::remove_file(&filler).expect("makes room");
    let look = scene
        .store
        .transact(scene.id, |session| Ok::<_, Refusal>(Change::Nothing(session.clone())));
    let session = look.expect("readable").value;
    let ends: Vec<_> = session.runs.iter().filter_map(|run| run.end_reason).collect();
    // The catalog knows no target `test`: what is owed can't be planned, and is given up.
    assert_eq!(ends, [EndReason::ExitNonzero, EndReason::SpawnFailed]);
    ExitCode::SUCCESS
}

pub(crate) fn drive() -> ExitCode {
    let dir = home::dir();
    let disk = small_disk(&dir);
    let scene = Scene::at(disk.join("scene"), Mode::Interactive);
    let outside = |name: &str| dir.join(name);
    let mut ready = crate::scene::Pipe::new(&outside("ready"));
    let go = crate::scene::Pipe::new(&outside("go"));
    let live = scene.script(&format!(
        "seq 100; echo > {ready}; read line < {go}
         seq 100000; echo > {ready}; read line < {go}; exit 3",
        ready = ready.path.display(),
        go = go.path.display()
    ));
    ready.line();
    scene.wait_for(|session| session.live_run().is_some_and(|run| run.agent.is_some()));
    let filler = disk.join("filler");
    fill(&filler);
    fill_log(&scene);

    std::fs::write(&go.path, "now\n").expect("writes");
    ready.line();
    let full = status(&live, |status| status.disk_error.is_some());
    assert_eq!((full.phase, full.exit_code), (Phase::Running, None), "the agent lives");

    std::fs::write(&go.path, "now\n").expect("writes");
    let stuck = status(&live, |status| status.record_error.is_some());
    assert_eq!(stuck.exit_code, Some(3));
    // What the keeper gave back of its own may have been room enough for the end, and for no more.
    let is_recorded = scene.session().live_run().is_none();
    let expected = if is_recorded { Phase::Deciding } else { Phase::Recording };
    assert_eq!(stuck.phase, expected, "{stuck:#?}");

    std::fs::remove_file(&filler).expect("makes room");
    live.check_end((EndReason::ExitNonzero, Some(3), None));
    let first: String = (1..=100).map(|n| format!("{n}\n")).collect();
    assert!(scene.output(1).starts_with(first.as_bytes()));
    ExitCode::SUCCESS
}

fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).expect("creates");
    let mut part = vec![0; 64 * 1024];
    while !part.is_empty() {
        if file.write_all(&part).is_err() {
            part.truncate(part.len() / 2);
        }
    }
}

/// Adds notes until the last page of the log is full as well.
fn fill_log(scene: &Scene) {
    let note = || {
        scene.store.transact(scene.id, |_| {
            let note = NoteAdded { text: "a".to_owned() };
            Ok::<_, Refusal>(Change::Append(draft(Source::Operator, note), ()))
        })
    };
    while note().is_ok() {}
}

fn locked() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let go = scene.pipe("go");
    let (ready_path, go_path) = (ready.path.display(), go.path.display());
    let live = scene.script(&format!("echo > {ready_path}; read line < {go_path}; exit 3"));
    ready.line();
    scene.wait_for(|session| session.live_run().is_some_and(|run| run.agent.is_some()));
    let log = OsFs.open(&scene.store.log_path(scene.id), OpenHow::ReadWrite).expect("a log");
    assert!(log.lock(LockMode::Exclusive, LONG).expect("locks"));
    std::fs::write(&go.path, "now\n").expect("writes");
    let stuck = status(&live, |status| status.phase == Phase::Recording);
    assert_eq!(stuck.exit_code, Some(3));
    drop(log);
    live.check_end((EndReason::ExitNonzero, Some(3), None));
}
