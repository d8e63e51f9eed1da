//! Units and scopes. No service manager runs where these tests do: a stand-in takes its place, and
//! `systemd-analyze` looks at the unit where it is there.

use std::path::Path;
use std::process::Command;

use crate::scene::Scene;

#[test]
fn the_unit_is_written_printed_and_removed() {
    let scene = Scene::new();
    let path = scene.world.env.home().join(".config/systemd/user/creel-host.service");
    let printed = scene.world.run(&["host", "install-service", "--print"]).success().stdout;
    assert!(!path.exists());
    assert!(printed.contains("\nKillMode=process\n"));
    let written = scene.world.run(&["host", "install-service"]).success();
    assert!(written.stdout.starts_with("Written: "), "{written:?}");
    assert_eq!(std::fs::read_to_string(&path).expect("a unit"), printed);
    scene.world.run(&["host", "uninstall-service"]).success();
    assert!(!path.exists());
    std::fs::write(&path, "[Unit]\n").expect("writes");
    scene.world.refused(&["host", "install-service"], 5, "service-unusable");
    scene.world.refused(&["host", "uninstall-service"], 5, "service-unusable");
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let analyze = Path::new("/usr/bin/systemd-analyze");
    if !analyze.exists() {
        eprintln!("skipped: no systemd-analyze here; the unit was not verified");
        return;
    }
    let scene = Scene::new();
    scene.world.run(&["host", "install-service"]).success();
    let unit = scene.world.env.home().join(".config/systemd/user/creel-host.service");
    let verified = Command::new(analyze)
        .args(["--user", "verify", "--man=no"])
        .arg(&unit)
        .env("XDG_RUNTIME_DIR", scene.world.env.runtime_dir())
        .output()
        .expect("it can be started");
    let told = String::from_utf8_lossy(&verified.stderr);
    let about_us: Vec<&str> = told.lines().filter(|line| line.contains("creel-host")).collect();
    assert_eq!(about_us, [""; 0], "{told}");
    assert!(verified.status.success(), "{told}");
}

/// Makes a user manager's socket, and a `systemd-run` that writes down how it was called.
fn stand_in(scene: &Scene, then: &str) -> String {
    let user_dir = scene.world.env.root().join("u");
    std::fs::create_dir_all(user_dir.join("systemd")).expect("a directory");
    std::fs::write(user_dir.join("systemd/private"), "").expect("a file");
    let log = scene.world.env.root().join("scopes");
    scene.world.program("systemd-run", &format!("echo \"$@\" >> {}\n{then}", log.display()));
    user_dir.display().to_string()
}

#[test]
fn a_host_and_what_it_starts_get_scopes_of_their_own() {
    let scene = Scene::new();
    let then = "while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"";
    let user_dir = stand_in(&scene, then);
    scene.world.call(&["host", "start"]).env("XDG_RUNTIME_DIR", &user_dir).run().success();
    let id = scene.world.launch("sleep 600");
    scene.until_live(id);
    let session = scene.world.until(id, |s| s.live_run().is_some_and(|r| r.holder.is_some()));
    let holder = session.live_run().and_then(|run| run.holder.clone()).expect("a holder");
    crate::kills::kill_machinery(&scene, id);
    assert!(holder.pid > 0);
    scene.world.until(id, |session| session.live_run().is_none());
    let scopes = std::fs::read_to_string(scene.world.env.root().join("scopes")).expect("calls");
    let calls: Vec<&str> = scopes.lines().collect();
    let flags = "--user --scope --quiet --collect -- ";
    assert!(calls[0].starts_with(flags) && calls[0].ends_with(" host run"), "{scopes}");
    assert!(calls[1].starts_with(flags) && calls[1].contains(" reconcile "), "{scopes}");
}

#[test]
fn a_manager_that_gives_no_scope_is_no_hindrance() {
    let scene = Scene::new();
    let user_dir = stand_in(&scene, "echo 'Failed to connect to bus' >&2; exit 1");
    let start = scene.world.call(&["host", "start"]).env("XDG_RUNTIME_DIR", &user_dir);
    let told = start.run().success().stdout;
    assert!(told.starts_with("Started: pid "), "{told}");
    let scopes = std::fs::read_to_string(scene.world.env.root().join("scopes")).expect("a call");
    assert_eq!(scopes.lines().count(), 1);
}
