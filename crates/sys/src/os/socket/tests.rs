use super::*;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use crate::os::scripted::{LONG, in_own_process};

const SHORT: Duration = Duration::from_millis(10);

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn a_listener_is_ours_alone_and_tells_who_calls() {
    let dir = dir();
    let path = dir.path().join("s");
    let listener = bind_listener(&path).expect("a listener");
    let mode = std::fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    assert!(accept_within(&listener, SHORT).expect("nobody").is_none());
    let caller = connect_within(&path, LONG).expect("a connection");
    let called = accept_within(&listener, LONG).expect("a call").expect("a call");
    let own = Peer {
        pid: i32::try_from(std::process::id()).expect("a pid"),
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
    };
    assert_eq!([Peer::of(&caller), Peer::of(&called)].map(|peer| peer.expect("a peer")), [own; 2]);
    assert!(own.is_same_user());
    assert!(!Peer { uid: own.uid + 1, ..own }.is_same_user());
}

#[test]
fn a_dead_socket_is_replaced_and_nothing_else() {
    let name = concat!(module_path!(), "::a_dead_socket_is_replaced_and_nothing_else");
    // A child that another test is forking would keep the dead socket alive for a moment.
    in_own_process(name, &[], || {
        let dir = dir();
        let path = dir.path().join("s");
        let first = bind_listener(&path).expect("a listener");
        assert!(matches!(bind_listener(&path), Err(BindError::InUse { .. })));
        drop(first);
        let refused = connect_within(&path, LONG).expect_err("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let second = bind_listener(&path).expect("a listener in its place");
        connect_within(&path, LONG).expect("a connection");
        drop(second);
        let file = dir.path().join("file");
        std::fs::write(&file, "kept").expect("a file");
        assert!(matches!(bind_listener(&file), Err(BindError::Io { .. })));
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "kept");
        assert!(bind_listener(&dir.path().join("none/s")).is_err());
    });
}

#[test]
fn of_many_who_bind_one_place_one_listens() {
    let dir = dir();
    let path = dir.path().join("s");
    let dead = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let address = SocketAddrUnix::new(&path).expect("an address");
    bind(dead.expect("a socket"), &address).expect("a socket that never listens");
    let binders: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || bind_listener(&path))
        })
        .collect();
    let bound: Vec<_> =
        binders.into_iter().map(|binder| binder.join().expect("a thread")).collect();
    assert_eq!(bound.iter().filter(|bound| bound.is_ok()).count(), 1, "{bound:?}");
    connect_within(&path, LONG).expect("it is the one that can be reached");
}

#[test]
fn a_call_that_nobody_takes_ends() {
    let dir = dir();
    let path = dir.path().join("s");
    let _listener = bind_listener(&path).expect("a listener");
    let mut waiting = Vec::new();
    let ended = loop {
        match connect_within(&path, SHORT) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error.kind(),
        }
        assert!(waiting.len() < 10_000, "the queue has a bound");
    };
    assert_eq!(ended, io::ErrorKind::TimedOut);
    assert!(matches!(bind_listener(&path), Err(BindError::InUse { .. })), "somebody is there");
}

/// Checks the lines read from what a peer sent before it closed.
fn check(sent: &[u8], expected: &[Result<Option<&str>, &str>]) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    theirs.write_all(sent).expect("a write");
    drop(theirs);
    let mut reader = LineReader::new(&ours, 5);
    for expected in expected {
        let line = reader.next_line(LONG).map_err(|error| error.to_string());
        let line = line.map(|line| line.map(|line| String::from_utf8_lossy(&line).into_owned()));
        let expected = expected.map(|line| line.map(str::to_owned)).map_err(str::to_owned);
        assert_eq!(line, expected);
    }
}

#[test]
fn a_line_ends_within_its_bound() {
    check(b"", &[Ok(None), Ok(None)]);
    check(b"a\n\nfive5\n", &[Ok(Some("a")), Ok(Some("")), Ok(Some("five5")), Ok(None)]);
    check(b"sixsix\n", &[Err("the line is longer than 5 bytes")]);
    check(b"ok\nsixsix", &[Ok(Some("ok")), Err("the line is longer than 5 bytes")]);
    check(b"a\nbc", &[Ok(Some("a")), Err("the connection was closed within a line")]);
}

#[test]
fn a_line_that_is_late_is_not_lost() {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    let mut reader = LineReader::new(&ours, 100);
    theirs.write_all(b"late").expect("a write");
    assert!(matches!(reader.next_line(SHORT), Err(LineError::TimedOut)));
    theirs.write_all(b"r\n").expect("a write");
    assert_eq!(reader.next_line(LONG).expect("a line"), Some(b"later".to_vec()));
}
