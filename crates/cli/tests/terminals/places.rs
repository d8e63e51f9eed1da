//! The name under which a run's socket is found: taken away, it comes back.

use std::fs;
use std::path::PathBuf;

use creel_api::keeper::socket_name;
use creel_record::SessionId;
use creel_sys::Deadline;
use creel_sys::watch::DirWatch;

use crate::scene::{LONG, Scene};

/// Takes the name of a socket away in some way, and waits until it leads to the run again.
fn check(start: impl Fn(&Scene) -> SessionId, take_away: impl Fn(&Scene, &PathBuf)) {
    let scene = Scene::new();
    let id = start(&scene);
    scene.holder(id);
    let agent = scene.status(id).agent_pid;
    let run = scene.session(id).current_run().expect("a run").id.to_string();
    let socket = scene.env.runtime_dir().join(socket_name(&run));
    for _ in 0..3 {
        // The home stays, whatever becomes of the directory in it.
        let watch = DirWatch::new(scene.env.root()).expect("a watch");
        take_away(&scene, &socket);
        let deadline = Deadline::after(LONG);
        while !is_listened(&socket) {
            assert!(!deadline.is_past(), "the socket never comes back");
            let inside = DirWatch::new(&scene.env.runtime_dir());
            if is_listened(&socket) {
                break;
            }
            match inside {
                Ok(inside) => drop(inside.wait(deadline.remaining())),
                Err(_) => drop(watch.wait(deadline.remaining())),
            }
        }
        assert_eq!(scene.status(id).agent_pid, agent);
    }
    assert_eq!(scene.status(id).keeper_starts, 1, "the keeper stayed");
    scene.out(&["kill", &id.to_string()]);
    scene.ended(id);
    assert!(!socket.exists());
}

fn is_listened(socket: &PathBuf) -> bool {
    std::os::unix::net::UnixStream::connect(socket).is_ok()
}

fn on_terminal(scene: &Scene) -> SessionId {
    scene.start("echo ready")
}

fn headless(scene: &Scene) -> SessionId {
    scene.out(&["launch", "sh", "sleep 1000"]).parse().expect("an id")
}

#[test]
fn a_removed_socket_comes_back() {
    let remove = |_: &Scene, socket: &PathBuf| fs::remove_file(socket).expect("it is there");
    check(on_terminal, remove);
    check(headless, remove);
}

#[test]
fn a_removed_runtime_directory_comes_back() {
    let remove = |scene: &Scene, _: &PathBuf| {
        // Its makers may put something back while it is removed.
        while fs::remove_dir_all(scene.env.runtime_dir()).is_err() {}
    };
    check(on_terminal, remove);
    check(headless, remove);
}

#[test]
fn a_runtime_directory_that_was_moved_away_is_made_again() {
    check(on_terminal, |scene, _| {
        let away = scene.env.root().join("away");
        let _ = fs::remove_dir_all(&away);
        fs::rename(scene.env.runtime_dir(), away).expect("it is there");
    });
}

#[test]
fn a_socket_that_another_file_took_the_place_of_comes_back_when_that_is_gone() {
    check(on_terminal, |_, socket| {
        let other = socket.with_extension("other");
        fs::write(&other, "").expect("it can be written");
        fs::rename(&other, socket).expect("it takes the place");
        fs::remove_file(socket).expect("it is gone");
    });
}

/// Runs where nobody may watch anything.
const BLIND: &str = r#"
echo 0 > /proc/sys/user/max_inotify_instances || exit 99
id=$(creel i -d sh 'echo ready') || exit 98
creel terminal send "$id" 'first' || exit 97
rm "$CREEL_RUNTIME_DIR"/r-* || exit 96
creel terminal send "$id" 'second' || exit 95
rm -r "$CREEL_RUNTIME_DIR" || exit 94
creel terminal read "$id" | head -n 1
creel kill "$id"
"#;

#[test]
fn a_holder_that_can_watch_nothing_puts_its_socket_back_when_it_is_called() {
    let scene = Scene::new();
    let arguments = ["--user", "--map-root-user", "sh", "-c", BLIND];
    let output = scene.env.call_of("unshare", &arguments).run().success();
    assert!(output.stdout.starts_with("ready"), "{output:?}");
}
