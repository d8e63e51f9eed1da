//! The stream of events: in order, without gap or repeat, across everything that may happen to it.

use std::io::Read;

use crate::scene::{Scene, Stream};

#[test]
fn a_reader_that_reconnects_misses_nothing_and_hears_nothing_twice() {
    let scene = Scene::hosted();
    let mut stream = Stream::open(&scene, None);
    let first = stream.next().expect("a reset");
    assert_eq!((first.kind.as_str(), &first.data["reason"]), ("reset", &"start".into()));
    assert_eq!(first.data["status"]["isRunning"], true);

    let id = scene.world.launch("creel session return done");
    let mut cursor = first.clone();
    let mut kinds = Vec::new();
    // Dropped after every single event.
    loop {
        let mut stream = Stream::open(&scene, Some(&cursor.id));
        let event = stream.next().expect("an event");
        assert_eq!(event.sequence(), cursor.sequence() + 1);
        let is_done = event.kind == "session"
            && event.data["session"]["id"] == id.to_string()
            && event.data["session"]["currentRun"]["endReason"] == "returned";
        kinds.push(event.kind.clone());
        cursor = event;
        if is_done {
            break;
        }
    }
    assert!(kinds.iter().any(|kind| kind == "run"), "{kinds:?}");

    // The first stream was never closed, and has heard the very same.
    let mut heard = Vec::new();
    while heard.len() < kinds.len() {
        heard.push(stream.next().expect("an event").kind);
    }
    assert_eq!(heard, kinds);
}

#[test]
fn a_cursor_of_another_host_or_of_nobody_begins_with_a_reset() {
    let scene = Scene::hosted();
    let before = Stream::open(&scene, None).next().expect("a reset");
    let check = |cursor: &str, reason: &str| {
        let event = Stream::open(&scene, Some(cursor)).next().expect("a reset");
        assert_eq!((event.kind.as_str(), event.data["reason"].as_str()), ("reset", Some(reason)));
    };
    check("nonsense", "unknown-cursor");
    check(&format!("{}9", before.id), "unknown-cursor");
    scene.kill(&scene.identity());
    scene.start();
    check(&before.id, "other-host");
}

#[test]
fn a_stream_ends_with_its_host() {
    let scene = Scene::hosted();
    let mut stream = Stream::open(&scene, None);
    stream.next().expect("a reset");
    scene.world.run(&["host", "stop"]).success();
    while stream.next().is_some() {}
}

#[test]
fn a_reader_that_is_too_slow_begins_again_with_a_reset() {
    let scene = Scene::hosted();
    let mut slow = Stream::open(&scene, None);
    slow.next().expect("a reset");
    // Far more than the ring and every buffer on the way hold together, each with a large title.
    let pane = |n: usize| format!(r#"{{"kind":"pane","id":"p{n}"}}"#);
    let layout = |n: usize| {
        format!(
            r#"{{"layout":{{"version":1,"active":"t","tabs":[{{"id":"t","focus":"p{n}","root":{}}}]}}}}"#,
            pane(n)
        )
    };
    for n in 0..4200 {
        let (status, answer) = scene.ask("PUT", "/v1/layout", &layout(n));
        assert_eq!(status, 200, "{answer}");
    }
    let old = Stream::open(&scene, Some(&cursor_of(&scene, 1))).next().expect("a reset");
    assert_eq!((old.kind.as_str(), old.data["reason"].as_str()), ("reset", Some("too-old")));
    // It takes what is left for it, in order; where that ends, it is told.
    let mut last = 0;
    loop {
        let event = slow.next().expect("an event");
        assert!(event.sequence() > last || event.kind == "reset");
        last = event.sequence();
        if event.data["revision"] == 4200 || event.data["layout"]["revision"] == 4200 {
            break;
        }
    }
}

fn cursor_of(scene: &Scene, sequence: u64) -> String {
    format!("{}-{sequence}", scene.status().epoch.expect("an epoch"))
}

#[test]
fn who_hangs_up_is_not_kept() {
    let scene = Scene::hosted();
    for _ in 0..200 {
        let mut stream = scene.connect();
        std::io::Write::write_all(&mut stream, b"GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n")
            .expect("writes");
        let mut some = [0; 16];
        stream.read_exact(&mut some).expect("an answer");
    }
    assert_eq!(scene.ask("GET", "/v1/host", "").0, 200, "there is room for more");
}
