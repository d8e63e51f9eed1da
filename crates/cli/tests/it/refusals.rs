//! What is refused, with which code, and that nothing was changed by it.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use creel_record::SessionId;
use creel_record::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use creel_testkit::env::Output;

use crate::scene::Scene;

/// The bytes of a session's log, which no refusal changes.
fn log(scene: &Scene, id: SessionId) -> Vec<u8> {
    std::fs::read(scene.store.log_path(id)).unwrap()
}

/// Checks that a call is refused with `code` and two lines, and that it wrote nothing.
#[track_caller]
fn check(scene: &Scene, id: SessionId, expected: (i32, &str), call: impl FnOnce() -> Output) {
    let before = log(scene, id);
    let output = call();
    let (exit, code) = expected;
    assert_eq!(output.code, exit, "{output:?}");
    assert_eq!(output.stdout, "", "{output:?}");
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with("Next: "), "{output:?}");
    assert!(
        lines[0].starts_with("creel: ") && lines[0].ends_with(&format!("[{code}]")),
        "{output:?}"
    );
    assert_eq!(log(scene, id), before, "{output:?}");
}

#[test]
fn ids_that_name_no_session_or_several() {
    let scene = Scene::new();
    let one = scene.unstarted("one", Some("aaaa0000-0000-4000-8000-000000000001"));
    scene.unstarted("two", Some("aaaa0000-0000-4000-8000-000000000002"));
    scene.start(one);
    let native = "0197f1b2-0000-7000-8000-0123456789ab";
    scene.identify(one, native);
    let check = |expected, typed: &str| {
        for verb in ["inspect", "result", "peek", "events", "wait"] {
            check(&scene, one, expected, || scene.run(&[verb, typed]));
        }
        let set = ["session", typed, "set", "a", "b"];
        check(&scene, one, expected, || scene.run(&set));
    };
    check((3, "unknown-id"), "bbbb0000-0000-4000-8000-000000000001");
    check((3, "unknown-id"), "bbbb");
    check((3, "malformed-id"), "aaa");
    check((3, "malformed-id"), "AAAA0000-0000-4000-8000-000000000001");
    check((3, "malformed-id"), "../../../etc/passwd");
    check((4, "ambiguous-id"), "aaaa0000");
    check((3, "foreign-id"), native);
    insta::assert_snapshot!("ambiguous", scene.run(&["inspect", "aaaa"]).normal());
    insta::assert_snapshot!("foreign", scene.run(&["inspect", native]).normal());
    scene.run(&["inspect", "aaaa0000-0000-4000-8000-000000000001"]).success();
}

#[test]
fn command_lines_that_cannot_be_meant() {
    let scene = Scene::new();
    let id = scene.peer("usage");
    let agent = |arguments: &[&str]| scene.as_agent(id, arguments).run();
    let usage = |arguments: &[&str]| check(&scene, id, (2, "usage"), || agent(arguments));
    usage(&["session", "return", "--finish", "--await", "x"]);
    usage(&["session", "return"]);
    usage(&["session", "return", "x", "--file", "y"]);
    usage(&["session", "sett", "a", "b"]);
    usage(&["session", "set", "a"]);
    usage(&["session"]);
    usage(&["wait"]);
    usage(&["result", &id.to_string(), "--run", "one"]);
    usage(&["list", "--path", "/nowhere"]);
    usage(&["no-such-verb"]);
    check(&scene, id, (2, "no-session"), || scene.run(&["session", "set", "a", "b"]));
    let unset = || scene.env.call(&["session", "get", "a"]).env("ORBH_SESSION_ID", "").run();
    check(&scene, id, (2, "no-session"), unset);
    let bad =
        || scene.as_agent(id, &["session", "set", "a", "b"]).env("ORBH_SESSION_ID", "x").run();
    check(&scene, id, (3, "malformed-id"), bad);
    let not_text = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let binary = || scene.as_agent(id, &["session", "set", "key"]).arg(not_text).run();
    check(&scene, id, (2, "non-utf8"), binary);
    insta::assert_snapshot!(binary().normal());
}

#[test]
fn checklist_15_keys_of_the_system_are_not_set() {
    let scene = Scene::new();
    let id = scene.peer("core");
    for key in ["core:", "core:interface", "core:wake-at"] {
        let set = || scene.as_agent(id, &["session", "set", key, "x"]).run();
        check(&scene, id, (4, "reserved-key"), set);
    }
    scene.as_agent(id, &["session", "set", "phase", "kept"]).run().success();
    scene.exit(id, 0);
    scene.start(id);
    assert_eq!(scene.as_agent(id, &["session", "get", "phase"]).run().stdout, "kept\n");
}

#[test]
fn texts_over_their_bounds() {
    let scene = Scene::new();
    let id = scene.peer("long");
    let set = |key: &str, value: &str| scene.as_agent(id, &["session", "set", key, value]).run();
    let (key, value) = ("k".repeat(MAX_KEY_BYTES), "v".repeat(MAX_VALUE_BYTES));
    set(&key, &value).success();
    check(&scene, id, (4, "too-long"), || set(&format!("{key}k"), "v"));
    check(&scene, id, (4, "too-long"), || set("k", &format!("{value}v")));
    check(&scene, id, (4, "control-character"), || set("a\nb", "v"));
    check(&scene, id, (4, "empty"), || set("", "v"));
    let title = "t".repeat(513);
    let register = || scene.as_agent(id, &["session", "register", &title, ""]).run();
    check(&scene, id, (4, "too-long"), register);
    let note = || scene.as_agent(id, &["session", "note", ""]).run();
    check(&scene, id, (4, "empty"), note);
    for n in 0..6 {
        set(&format!("{n}"), &value).success();
    }
    check(&scene, id, (4, "too-long"), || set("all", &value));
}

#[test]
fn verbs_that_the_record_refuses() {
    let scene = Scene::new();
    let id = scene.unstarted("fresh", None);
    let agent = |arguments: &[&str]| scene.as_agent(id, arguments).run();
    check(&scene, id, (4, "no-run"), || agent(&["session", "return", "x"]));
    check(&scene, id, (4, "no-run"), || agent(&["session", "ask", "x"]));
    check(&scene, id, (3, "no-result"), || agent(&["result", &id.to_string()]));
    check(&scene, id, (3, "unknown-key"), || agent(&["session", "get", "x"]));
    scene.start(id);
    agent(&["session", "return", "x"]).success();
    check(&scene, id, (4, "already-returned"), || agent(&["session", "return", "y"]));
    check(&scene, id, (4, "already-returned"), || agent(&["session", "return", "--await", "x"]));
    check(&scene, id, (4, "wrong-state"), || agent(&["session", "ask", "x"]));
}

#[test]
fn a_store_of_a_newer_schema_is_read_and_not_written() {
    let scene = Scene::new();
    let id = scene.peer("newer");
    let manifest = scene.store.root().join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"1.0\"", "\"2.0\"")).unwrap();
    let set = || scene.as_agent(id, &["session", "set", "a", "b"]).run();
    check(&scene, id, (6, "newer-store"), set);
    insta::assert_snapshot!(set().normal());
    assert_eq!(scene.run(&["list", "--json"]).success().stdout.lines().count(), 1);
    scene.run(&["inspect", &id.to_string()]).success();
}

#[test]
fn a_store_that_may_not_be_written_is_read() {
    let scene = Scene::new();
    let id = scene.peer("read only");
    scene.as_agent(id, &["session", "return", "kept"]).run().success();
    let outsider = Outsider::new(&scene);
    let set = || outsider.call(&["session", &id.to_string(), "set", "a", "b"]);
    check(&scene, id, (5, "read-only-store"), set);
    assert_eq!(outsider.call(&["result", &id.to_string()]).success().stdout, "kept");
    assert_eq!(outsider.call(&["list", "--json"]).success().stdout.lines().count(), 1);
}

#[test]
fn a_store_path_that_is_a_file() {
    let scene = Scene::new();
    let id = scene.peer("elsewhere");
    let file = scene.env.work_dir().join("file");
    std::fs::write(&file, "").unwrap();
    let below = file.join("orb");
    for root in [&file, &below] {
        let root = root.display().to_string();
        for create in [&["list"][..], &["list", "--create-store"]] {
            let call = || scene.run(&[&["--orb-root", &root], create].concat());
            check(&scene, id, (5, "store-unusable"), call);
        }
    }
    let other = scene.env.work_dir().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("manifest.json"), "{\"schemaVersion\":\"1.0\",\"kind\":\"x\"}")
        .unwrap();
    let other = other.display().to_string();
    check(&scene, id, (5, "foreign-store"), || scene.run(&["list", "--orb-root", &other]));
    let homeless = || scene.env.call(&["list"]).without("HOME").without("XDG_DATA_HOME").run();
    check(&scene, id, (5, "no-home"), homeless);
}

/// Somebody who may read a scene's store and not write it.
struct Outsider<'s> {
    scene: &'s Scene,
    /// Root passes every permission, so another user must try; a user just gives up their own.
    uid: Option<u32>,
}

impl<'s> Outsider<'s> {
    const NOBODY: u32 = 65534;

    fn new(scene: &'s Scene) -> Self {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| {
            use std::os::unix::fs::MetadataExt as _;
            own.uid() == 0
        });
        let outsider = Self { scene, uid: is_root.then_some(Self::NOBODY) };
        outsider.set_modes(false);
        outsider
    }

    fn set_modes(&self, writable: bool) {
        let (dir, file) = match (self.uid.is_some(), writable) {
            (true, _) => (0o755, 0o644),
            (false, true) => (0o700, 0o600),
            (false, false) => (0o500, 0o400),
        };
        set_modes(self.scene.env.root(), self.scene.store.root(), (dir, file));
    }

    fn call(&self, arguments: &[&str]) -> Output {
        let call = self.scene.env.call(arguments);
        match self.uid {
            Some(uid) => call.user(uid).run(),
            None => call.run(),
        }
    }
}

impl Drop for Outsider<'_> {
    fn drop(&mut self) {
        self.set_modes(true);
    }
}

/// Sets the modes of a store and all in it; opens the way to it.
fn set_modes(top: &Path, root: &Path, modes: (u32, u32)) {
    for above in root.ancestors().skip(1).take_while(|above| above.starts_with(top)) {
        set_mode(above, 0o755);
    }
    set_modes_below(root, modes);
}

fn set_modes_below(dir: &Path, (dir_mode, file_mode): (u32, u32)) {
    // Opened first, so that what is in it can be set.
    set_mode(dir, 0o700);
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set_modes_below(&path, (dir_mode, file_mode));
        } else {
            set_mode(&path, file_mode);
        }
    }
    set_mode(dir, dir_mode);
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
