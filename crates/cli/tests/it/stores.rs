//! Which store is used, and which is trusted.

use creel_testkit::env::TestEnv;

use crate::scene::{Scene, open};

/// A user that owns nothing here.
const STRANGER: u32 = 65_534;

/// Everything below a directory, and itself.
fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![dir.to_owned()];
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() && !path.is_symlink() {
            true => found.extend(walk(&path)),
            false if path.is_symlink() => {}
            false => found.push(path),
        }
    }
    found
}

fn home() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_creel"))
}

/// A cloned project that brings a store along.
fn project(env: &TestEnv) -> std::path::PathBuf {
    let dir = env.work_dir().join("cloned/src");
    std::fs::create_dir_all(&dir).unwrap();
    open(&env.work_dir().join("cloned/.orb"));
    dir
}

#[test]
fn finding_out_the_store_creates_nothing() {
    let env = home();
    insta::assert_snapshot!("machine", env.run(&["scope"]).normal());
    insta::assert_snapshot!("machine_json", env.run(&["scope", "--json"]).normal());
    let named = env.call(&["scope"]).env("ORBH_ORB_ROOT_DIR", "/nowhere/orb").run();
    insta::assert_snapshot!("variable", named.normal());
    let flag = env.call(&["scope", "--orb-root", "rel"]).env("ORBH_ORB_ROOT_DIR", "/nowhere").run();
    insta::assert_snapshot!("flag", flag.normal());
    let other = env.run(&["scope", "--expect", "/nowhere/orb"]);
    insta::assert_snapshot!("mismatch", other.normal());
    let machine = env.store_root().display().to_string();
    env.run(&["scope", "--expect", &machine]).success();
    assert_eq!(std::fs::read_dir(env.home()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(env.work_dir()).unwrap().count(), 0);
}

#[test]
fn a_cloned_store_is_not_used_until_a_person_trusts_it() {
    let env = home();
    let dir = project(&env);
    let scope = |dir: &std::path::Path| env.call(&["scope"]).cwd(dir).run();
    insta::assert_snapshot!("untrusted", scope(&dir).normal());
    insta::assert_snapshot!("listed", env.call(&["list"]).cwd(&dir).run().normal());
    let cloned = env.work_dir().join("cloned").display().to_string();
    insta::assert_snapshot!("trust", env.run(&["store", "trust", &cloned]).normal());
    insta::assert_snapshot!("trusted", scope(&dir).normal());
    insta::assert_snapshot!("stores", env.run(&["store", "list"]).normal());
    insta::assert_snapshot!("stores_json", env.run(&["store", "list", "--json"]).normal());
    // Within a session the workspace decides, wherever the shell stands.
    let agent = env.call(&["scope"]).env("ORBH_CWD", &cloned).run();
    assert_eq!(agent.stdout, scope(&dir).stdout);
    let path = env.run(&["scope", "-p", &cloned]);
    assert_eq!(path.stdout, scope(&dir).stdout);
    insta::assert_snapshot!("forget", env.run(&["store", "forget", &cloned]).normal());
    insta::assert_snapshot!("forget_again", env.run(&["store", "forget", &cloned]).normal());
    assert_eq!(scope(&dir).normal(), scope(&dir).normal());
    assert!(scope(&dir).stdout.contains("machine store"));
}

#[test]
fn an_agent_trusts_nothing() {
    let scene = Scene::new();
    let dir = project(&scene.env);
    let cloned = dir.parent().unwrap().display().to_string();
    let id = scene.peer("agent");
    let trust = scene.as_agent(id, &["store", "trust", &cloned]).run();
    insta::assert_snapshot!("in_its_environment", trust.normal());
    // Clearing the variable doesn't hide the processes above.
    let line = format!("env -u ORBH_SESSION_ID creel store trust {cloned}; exit $?");
    let trust =
        scene.env.call_of("sh", &["-c", &line]).env("ORBH_SESSION_ID", id.to_string()).run();
    insta::assert_snapshot!("below_its_processes", trust.normal());
    assert_eq!(scene.run(&["store", "list", "--json"]).stdout.lines().count(), 1);
}

#[test]
fn a_named_store_works_for_its_command_without_trust() {
    let env = home();
    project(&env);
    let root = env.work_dir().join("cloned/.orb").display().to_string();
    assert_eq!(env.run(&["--orb-root", &root, "list"]).normal(), "exit 0\n");
    assert_eq!(env.run(&["list", "--orb-root", &root]).normal(), "exit 0\n");
    let missing = env.work_dir().join("new/orb").display().to_string();
    insta::assert_snapshot!(env.run(&["list", "--orb-root", &missing]).normal());
    env.run(&["list", "--orb-root", &missing, "--create-store"]).success();
    env.run(&["list", "--orb-root", &missing]).success();
}

#[test]
fn a_store_can_be_made_and_trusted_at_once() {
    let env = home();
    let dir = env.work_dir().display().to_string();
    insta::assert_snapshot!("missing", env.run(&["store", "trust", &dir]).normal());
    insta::assert_snapshot!("made", env.run(&["store", "trust", "--create-store", &dir]).normal());
    let scope = env.run(&["scope"]);
    assert!(scope.stdout.contains("a trusted .orb"), "{scope:?}");
}

#[test]
fn a_hostile_store_in_a_cloned_project_starts_nothing() {
    let scene = Scene::with_store(|env| env.work_dir().join("cloned/.orb"));
    // It says that a run shall start, and what it shall run.
    let id = scene.unstarted("hostile", None);
    let typed = id.to_string();
    let log = || std::fs::read(scene.store.log_path(id)).unwrap();
    let before = log();
    let dir = scene.env.work_dir().join("cloned");
    for arguments in [
        &["list", "--all"][..],
        &["inspect", &typed],
        &["wait", &typed, "--timeout", "0"],
        &["reconcile"],
        &["reconcile", "--all"],
        &["resume", &typed, "go"],
        &["close", &typed],
        &["verify"],
        &["heal"],
    ] {
        let output = scene.env.call(arguments).cwd(&dir).run();
        assert!(!output.stdout.contains(&typed), "{arguments:?}: {output:?}");
        assert_eq!(log(), before, "{arguments:?}: {output:?}");
    }
    insta::assert_snapshot!(scene.env.call(&["store", "list"]).cwd(&dir).run().normal());
    // Even to wait in it by name starts nothing: nobody vouches for it.
    let root = scene.store.root().display().to_string();
    let wait = scene.run(&["--orb-root", &root, "wait", &typed, "--timeout", "1"]);
    assert_eq!(wait.code, 1, "{wait:?}");
    assert!(wait.stderr.contains("nobody works on session"), "{wait:?}");
    assert_eq!(log(), before);
}

#[test]
fn a_store_that_lost_its_manifest_is_not_taken_for_an_empty_one() {
    let scene = Scene::new();
    let id = scene.unstarted("kept", None).to_string();
    let root = scene.store.root().display().to_string();
    let manifest = scene.store.root().join("manifest.json");
    std::fs::remove_file(&manifest).unwrap();
    for arguments in [
        &["list"][..],
        &["inspect", &id],
        &["launch", "sh", "true"],
        &["reconcile"],
        &["verify"],
        &["heal"],
        &["--orb-root", &root, "list"],
    ] {
        let output = scene.run(arguments);
        assert_eq!(output.code, 5, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains("[store-unusable]"), "{output:?}");
        assert!(output.stderr.contains("manifest.json is missing"), "{output:?}");
        assert!(!manifest.exists(), "{arguments:?}");
    }
    let next = scene.run(&["list"]).stderr;
    let next = next.split("Next: creel ").nth(1).expect("a command");
    let arguments: Vec<&str> = next.split_whitespace().collect();
    assert!(scene.run(&arguments).success().stdout.contains("kept"));
    assert!(scene.run(&["list"]).success().stdout.contains("kept"));
}

/// Checks that no verb starts anything in a store as it is, and says so alike.
#[track_caller]
fn check_start_refused(scene: &Scene, id: &str, (uid, code, word): (u32, i32, &str)) {
    for arguments in
        [&["launch", "sh", "true"][..], &["request", "sh", "true"], &["resume", id, "true"]]
    {
        let output = scene.env.call(arguments).user(uid).run();
        assert_eq!(output.code, code, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(&format!("[{word}]\nNext: ")), "{output:?}");
        assert!(output.stderr.contains("nothing was changed"), "{output:?}");
    }
}

#[test]
fn nothing_is_started_in_a_store_that_may_not_be_written() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let scene = Scene::new();
    let id = scene.unstarted("kept", None).to_string();
    // Any user may read it, and none but root write it.
    let open_up = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for entry in walk(scene.env.root()) {
        open_up(&entry, if entry.is_dir() { 0o755 } else { 0o644 });
    }
    chown(scene.env.runtime_dir(), Some(STRANGER), None).unwrap();
    open_up(&scene.env.runtime_dir(), 0o700);
    check_start_refused(&scene, &id, (STRANGER, 5, "read-only-store"));

    let manifest = scene.store.root().join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let version = creel_record::snapshot::SCHEMA_VERSION;
    std::fs::write(&manifest, text.replace(version, "99.0")).unwrap();
    check_start_refused(&scene, &id, (STRANGER, 6, "newer-store"));
}
