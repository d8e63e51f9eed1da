use super::*;

use std::fs;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::os::scripted::{LONG, in_own_process};

const SHORT: Duration = Duration::from_millis(10);

/// Checks that a change is seen, whether it came before the wait or during it, and once.
fn check(change: impl Fn(&Path) + Sync) {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("a"), "x").expect("a file");
    let watch = DirWatch::new(dir.path()).expect("a watch");
    assert_eq!(watch.wait(SHORT).expect("a wait"), Waited::TimedOut);
    change(dir.path());
    assert_eq!(watch.wait(LONG).expect("a wait"), Waited::Changed);
    assert_eq!(watch.wait(Duration::ZERO).expect("a wait"), Waited::TimedOut);
    fs::write(dir.path().join("a"), "x").expect("a file");
    watch.drain().expect("changes forgotten");
    thread::scope(|scope| {
        scope.spawn(|| change(dir.path()));
        assert_eq!(watch.wait(LONG).expect("a wait"), Waited::Changed);
    });
}

#[test]
fn every_kind_of_change_is_seen() {
    check(|dir| fs::write(dir.join("a"), "longer").expect("a write"));
    check(|dir| fs::write(dir.join("b"), "").expect("a file"));
    check(|dir| fs::remove_file(dir.join("a")).expect("a removal"));
    check(|dir| fs::rename(dir.join("a"), dir.join("b")).expect("a rename"));
}

#[test]
fn many_changes_are_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let watch = DirWatch::new(dir.path()).expect("a watch");
    for name in 0..500 {
        fs::write(dir.path().join(format!("a file with a long name {name}")), "x").expect("a file");
    }
    assert_eq!(watch.wait(LONG).expect("a wait"), Waited::Changed);
    assert_eq!(watch.wait(Duration::ZERO).expect("a wait"), Waited::TimedOut);
}

#[test]
fn a_directory_that_goes_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, moved) = (dir.path().join("a"), dir.path().join("b"));
    fs::create_dir(&path).expect("a directory");
    let watch = DirWatch::new(&path).expect("a watch");
    fs::rename(&path, &moved).expect("a rename");
    assert!(matches!(watch.wait(LONG), Err(WatchError::Gone { .. })));
    let watch = DirWatch::new(&moved).expect("a watch");
    fs::remove_dir(&moved).expect("a removal");
    assert!(matches!(watch.wait(LONG), Err(WatchError::Gone { .. })));
    assert!(matches!(DirWatch::new(&moved), Err(WatchError::Io { .. })));
    fs::write(&path, "").expect("a file");
    assert!(matches!(DirWatch::new(&path), Err(WatchError::Io { .. })), "no directory");
}

#[test]
fn without_an_instance_the_limits_are_named() {
    let name = concat!(module_path!(), "::without_an_instance_the_limits_are_named");
    in_own_process(name, &[], || {
        let before = getrlimit(Resource::Nofile);
        let none = Rlimit { current: Some(0), ..before };
        setrlimit(Resource::Nofile, none).expect("a lower limit");
        let refused = DirWatch::new(Path::new("/tmp"));
        setrlimit(Resource::Nofile, before).expect("the limit of before");
        let message = refused.expect_err("no descriptor").to_string();
        assert!(message.contains("fs.inotify.max_user_instances"), "{message}");
    });
}
