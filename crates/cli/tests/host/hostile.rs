//! Who has no business here.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use crate::scene::{Scene, finished, talk};

/// Sends a head to the loopback port, with the host's own address and token put in.
fn check(scene: &Scene, head: &str, expected: (u16, &str)) {
    let (stream, address) = scene.connect_loopback();
    let head = head.replace("ADDRESS", &address).replace("TOKEN", &scene.token());
    let (status, body) = talk(stream, &finished(&head, ""));
    let code = serde_json::from_str::<serde_json::Value>(&body)
        .ok()
        .and_then(|body| body["code"].as_str().map(str::to_owned))
        .unwrap_or_default();
    assert_eq!((status, code.as_str()), expected, "{head}\n{body}");
}

#[test]
fn the_loopback_port_is_for_programs_with_the_token_and_pages_of_its_own() {
    let scene = Scene::hosted();
    let get = "GET /v1/host HTTP/1.1\r\n";
    let token = "authorization: Bearer TOKEN\r\n";
    check(&scene, &format!("{get}host: ADDRESS\r\n{token}"), (200, ""));
    check(&scene, &format!("{get}host: ADDRESS\r\n"), (401, "bad-token"));
    check(&scene, &format!("{get}host: evil.example\r\n{token}"), (403, "bad-host"));
    let origin = "origin: http://evil.example\r\n";
    check(&scene, &format!("{get}host: ADDRESS\r\n{origin}{token}"), (403, "bad-origin"));
    check(
        &scene,
        &format!("{get}host: ADDRESS\r\n{token}x-creel-api: 2.0\r\n"),
        (400, "api-version"),
    );
    let wrong = "authorization: Bearer 0000000000000000000000000000000000000000\r\n";
    check(&scene, &format!("{get}host: ADDRESS\r\n{wrong}"), (401, "bad-token"));
    // Not even what there is is told.
    check(&scene, "GET /nothing HTTP/1.1\r\nhost: ADDRESS\r\n", (401, "bad-token"));
    check(&scene, "OPTIONS /v1/host HTTP/1.1\r\nhost: ADDRESS\r\n", (401, "bad-token"));
    check(
        &scene,
        &format!("DELETE /v1/host HTTP/1.1\r\nhost: ADDRESS\r\n{token}"),
        (405, "wrong-method"),
    );
}

#[test]
fn files_and_sockets_are_of_this_user_alone() {
    let scene = Scene::hosted();
    let mode = |path: std::path::PathBuf| {
        std::fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!(mode(scene.socket()), 0o600);
    assert_eq!(mode(scene.state_dir()), 0o700);
    for file in ["token", "lock", "log"] {
        assert_eq!(mode(scene.state_dir().join(file)), 0o600, "{file}");
    }
    let log = std::fs::read_to_string(scene.state_dir().join("log")).expect("a log");
    assert!(!log.contains(&scene.token()));
}

#[test]
fn bodies_have_a_bound_and_garbage_is_told_where_it_is() {
    let scene = Scene::hosted();
    let put = |body: &str| {
        let (status, answer) = scene.ask("PUT", "/v1/layout", body);
        (status, answer["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(put(""), (400, "bad-body".to_owned()));
    assert_eq!(put("{\"layout\":"), (400, "bad-body".to_owned()));
    assert_eq!(put("\u{0}\u{1}"), (400, "bad-body".to_owned()));
    assert_eq!(put(&"[".repeat(200_000)), (400, "bad-body".to_owned()));
    assert_eq!(put(&" ".repeat(300_000)), (413, "body-too-large".to_owned()));
    let nested = r#"{"kind":"split","direction":"row","ratio":500,"first":{"kind":"pane","id":"a"},"second":"#;
    let deep = format!(
        r#"{{"layout":{{"version":1,"active":"t","tabs":[{{"id":"t","focus":"a","root":{}{{"kind":"pane","id":"b"}}{}}}]}}}}"#,
        nested.repeat(40),
        "}".repeat(40)
    );
    assert_eq!(put(&deep), (422, "layout-invalid".to_owned()));
    let deeper = deep.replace(nested, &nested.repeat(40));
    assert_eq!(put(&deeper).0, 400);
    assert_eq!(scene.ask("GET", "/v1/layout", "").1["revision"], 0, "nothing was changed");
}

#[test]
fn bytes_that_are_no_request_harm_nobody() {
    let scene = Scene::hosted();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5000));
    for bytes in ["\0\0\0\0", "hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", &long, &many] {
        let mut stream = scene.connect();
        // It may be closed before all of it is sent.
        let _ = stream.write_all(bytes.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_eq!(scene.ask("GET", "/v1/host", "").0, 200);
}

#[test]
fn who_sends_a_head_drop_by_drop_is_cut_off_and_holds_up_nobody() {
    let scene = Scene::hosted();
    let mut slow: Vec<_> = (0..100).map(|_| scene.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /v1/host HT").expect("writes");
    }
    assert_eq!(scene.ask("GET", "/v1/host", "").0, 200, "others are answered meanwhile");
    for stream in &mut slow {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it is closed in time");
    }
}

#[test]
fn a_full_house_is_not_a_dead_one() {
    let scene = Scene::hosted();
    // More than there are places: those beyond wait until the silent are cut off.
    let silent: Vec<_> = (0..140).map(|_| scene.connect()).collect();
    assert_eq!(scene.ask("GET", "/v1/host", "").0, 200);
    drop(silent);
}
