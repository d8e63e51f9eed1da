//! The run's socket.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use creel_api::keeper::{MAX_LINE_BYTES, Phase, socket_name};
use creel_keeper::client::{Client, ClientError};
use creel_record::EndReason;
use creel_sys::runtime_dir::RuntimeDir;
use creel_sys::socket::{LineReader, connect_within};

use crate::Test;
use crate::scene::{LONG, Live, Pipe, Scene};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("protocol::a_live_run_says_how_it_stands", status),
        ("protocol::an_unknown_request_is_answered_and_the_connection_stays", unknown),
        ("protocol::garbage_ends_the_connection_and_nothing_else", garbage),
        ("protocol::waiters_hear_the_end", waiters),
        ("protocol::a_run_that_is_over_has_no_keeper", over),
        ("protocol::the_socket_is_for_its_owner", mode),
    ]
}

/// Runs `test` beside an agent that waits, and then ends it.
fn check(test: impl FnOnce(&Scene, &Live<'_>)) {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let go = scene.pipe("go");
    let live = scene.launch(waiting(&scene, &ready, &go));
    ready.line();
    test(&scene, &live);
    std::fs::write(&go.path, "now\n").expect("writes");
    live.check_end((EndReason::ExitZero, Some(0), None));
}

fn waiting(scene: &Scene, ready: &Pipe, go: &Pipe) -> creel_api::plan::Plan {
    let (ready, go) = (ready.path.display(), go.path.display());
    scene.plan(&format!("echo 0123456789; echo > {ready}; read line < {go}"))
}

fn status() {
    check(|_, live| {
        let mut client = live.client();
        client.ping(LONG).expect("is there");
        let status = client.status(LONG).expect("answers");
        assert_eq!((status.phase, status.agent_pid), (Phase::Running, live.launched.agent.pid));
        assert_eq!((status.keeper_starts, status.dropped_bytes), (1, 0));
        assert!(status.output_bytes <= 11);
    });
}

fn socket(live: &Live<'_>) -> std::os::unix::net::UnixStream {
    let path = RuntimeDir::open()
        .expect("a directory")
        .socket_path(&socket_name(&live.run_id.to_string()))
        .expect("a short path");
    connect_within(&path, LONG).expect("connects")
}

fn unknown() {
    check(|_, live| {
        let mut stream = socket(live);
        let mut ask = |request: &str| {
            stream.write_all(request.as_bytes()).expect("sends");
            let line = LineReader::new(&stream, MAX_LINE_BYTES).next_line(LONG).expect("a line");
            String::from_utf8(line.expect("an open connection")).expect("text")
        };
        assert!(ask("").starts_with("{\"version\":1,"));
        assert_eq!(
            ask("{\"op\":\"dance\"}\n"),
            r#"{"reply":"error","code":"unknown-op","message":"this keeper doesn't know the request"}"#
        );
        assert_eq!(ask("{\"op\":\"ping\"}\n"), r#"{"reply":"pong"}"#);
    });
}

fn garbage() {
    check(|_, live| {
        for bytes in [b"hello\n".to_vec(), vec![b'x'; 2 * MAX_LINE_BYTES]] {
            let mut stream = socket(live);
            stream.set_read_timeout(Some(LONG)).expect("a deadline");
            // The keeper may close before it has read all of it.
            let _ = stream.write_all(&bytes);
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
        }
        live.client().ping(LONG).expect("is there");
    });
}

fn waiters() {
    let scene = Scene::new();
    let mut ready = scene.pipe("ready");
    let go = scene.pipe("go");
    let live = scene.launch(waiting(&scene, &ready, &go));
    ready.line();
    std::thread::scope(|threads| {
        let waiters: Vec<_> = (0..20)
            .map(|_| {
                let mut client = live.client();
                assert!(!client.wait_closed(Duration::ZERO).expect("waits"));
                threads.spawn(move || client.wait_closed(LONG).expect("waits"))
            })
            .collect();
        std::fs::write(&go.path, "now\n").expect("writes");
        for waiter in waiters {
            assert!(waiter.join().expect("ends"));
        }
        assert!(scene.session().live_run().is_none(), "the end is recorded first");
    });
    live.check_end((EndReason::ExitZero, Some(0), None));
}

fn over() {
    let scene = Scene::new();
    let live = scene.script("exit 0");
    live.ended();
    let refused = Client::connect(scene.id, live.run_id, LONG);
    assert!(matches!(refused, Err(ClientError::NotRunning { .. })), "{refused:?}");
}

fn mode() {
    check(|_, live| {
        let dir = RuntimeDir::open().expect("a directory");
        let path = dir.path().join(socket_name(&live.run_id.to_string()));
        let mode = |path: &std::path::Path| {
            path.metadata().expect("is there").permissions().mode() & 0o777
        };
        assert_eq!((mode(dir.path()), mode(&path)), (0o700, 0o600));
    });
}
