//! A newer program's keepers take over running holders; a bad one does not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use creel_record::SessionId;
use creel_sys::process::ProcessIdentity;
use creel_testkit::viewing::Viewing;

use crate::scene::{LONG, Scene};

/// A home whose program is a copy that can be replaced.
struct Installed {
    scene: Scene,
    program: PathBuf,
}

impl Installed {
    fn new() -> Self {
        let scene = Scene::new();
        let program = scene.env.root().join("creel-installed");
        copy(Path::new(env!("CARGO_BIN_EXE_creel")), &program);
        let link = scene.env.root().join("bin/creel");
        fs::remove_file(&link).expect("a link");
        std::os::unix::fs::symlink(&program, link).expect("a link");
        Self { scene, program }
    }

    fn replace(&self, make: impl FnOnce(&Path)) {
        let new = self.program.with_extension("new");
        make(&new);
        fs::rename(&new, &self.program).expect("it is replaced");
    }

    /// Has the keeper leave, and waits until another answers.
    fn hand_over(&self, id: SessionId) -> ProcessIdentity {
        let before = self.scene.keeper(id);
        let starts = self.scene.status(id).keeper_starts;
        self.scene.client(id).hand_over(LONG).expect("a keeper");
        assert!(before.wait_gone(LONG).expect("a pidfd"));
        assert!(self.scene.status(id).keeper_starts > starts);
        self.scene.keeper(id)
    }

    fn check(&self, id: SessionId, viewing: &mut Viewing, word: &str) {
        viewing.type_in(&format!("echo {word}-$((20 + 2))\r"));
        viewing.wait_for(&format!("{word}-22"));
        assert_eq!(self.scene.terminal(id).doubt, None);
    }
}

fn copy(from: &Path, to: &Path) {
    // By a program of its own, so that no child of a test running beside this one has it open.
    let copied = std::process::Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(copied.success());
}

fn exe(process: &ProcessIdentity) -> PathBuf {
    fs::read_link(format!("/proc/{}/exe", process.pid)).expect("its program")
}

#[test]
fn keepers_of_a_newer_program_take_over_and_viewers_stay() {
    let installed = Installed::new();
    let id = installed.scene.start("echo ready");
    let mut viewing = installed.scene.attach(id, (80, 24));
    viewing.wait_for("ready");
    installed.replace(|new| copy(Path::new(env!("CARGO_BIN_EXE_creel")), new));
    let keeper = installed.hand_over(id);
    assert_eq!(exe(&keeper), installed.program, "not the file that was removed");
    let holder = exe(&installed.scene.holder(id)).display().to_string();
    assert!(holder.ends_with("(deleted)"), "{holder}");
    installed.check(id, &mut viewing, "upgraded");
    installed.scene.out(&["kill", &id.to_string()]);
    installed.scene.ended(id);
}

/// Replaces the program by something that keeps nothing; the run goes on all the same.
fn falls_back(make: impl FnOnce(&Path)) {
    let installed = Installed::new();
    let id = installed.scene.start("echo ready");
    let mut viewing = installed.scene.attach(id, (80, 24));
    viewing.wait_for("ready");
    installed.replace(make);
    let keeper = installed.hand_over(id);
    let program = exe(&keeper).display().to_string();
    assert!(program.ends_with("(deleted)"), "{program}");
    installed.check(id, &mut viewing, "kept");
    // Put right again, it takes over.
    installed.replace(|new| copy(Path::new(env!("CARGO_BIN_EXE_creel")), new));
    assert_eq!(exe(&installed.hand_over(id)), installed.program);
    installed.check(id, &mut viewing, "again");
    installed.scene.out(&["kill", &id.to_string()]);
    installed.scene.ended(id);
}

#[test]
fn a_newer_program_that_fails_leaves_the_run_to_the_one_that_started_it() {
    let script = |text: &'static str, mode: u32| {
        move |path: &Path| {
            fs::write(path, text).expect("it can be written");
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
    };
    falls_back(script("#!/bin/sh\nexit 1\n", 0o755));
    falls_back(script("#!/no/interpreter\n", 0o755));
    falls_back(script("not a program", 0o644));
    falls_back(script("", 0o755));
}
