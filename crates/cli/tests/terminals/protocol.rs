//! What strangers on the socket can't do.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use creel_api::keeper::socket_name;
use creel_record::SessionId;

use crate::scene::{LONG, Scene};

fn connect(scene: &Scene, id: SessionId) -> BufReader<UnixStream> {
    let run = scene.session(id).current_run().expect("a run").id.to_string();
    let path = scene.env.runtime_dir().join(socket_name(&run));
    let stream = UnixStream::connect(path).expect("connects");
    stream.set_read_timeout(Some(LONG)).expect("a deadline");
    let mut reader = BufReader::new(stream);
    let mut hello = String::new();
    reader.read_line(&mut hello).expect("a hello");
    assert!(hello.contains("\"attachVersion\":1"), "{hello}");
    reader
}

/// Sends a line and returns the answer.
fn ask(client: &mut BufReader<UnixStream>, line: &str) -> String {
    client.get_mut().write_all(format!("{line}\n").as_bytes()).expect("sends");
    let mut answer = String::new();
    client.read_line(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_client_of_another_version_is_refused_by_name_and_stays_harmless() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let mut client = connect(&scene, id);
    let answer = ask(&mut client, r#"{"op":"attach","version":7,"mode":"full"}"#);
    assert!(answer.contains("unsupported-version"), "{answer}");
    assert!(answer.contains("version 1") && answer.contains("version 7"), "{answer}");
    assert!(ask(&mut client, r#"{"op":"dance"}"#).contains("unknown-op"));
    assert!(ask(&mut client, r#"{"op":"ping"}"#).contains("pong"));
    let sized = r#"{"op":"resize","size":{"columns":0,"lines":0}}"#;
    assert!(ask(&mut client, sized).contains("bad-size"));
    let large = r#"{"op":"resize","size":{"columns":10000,"lines":10000}}"#;
    assert!(ask(&mut client, large).contains("bad-size"));
    assert_eq!(scene.terminal(id).size.columns, 80);
}

#[test]
fn garbage_ends_its_own_connection_and_nothing_else() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let mut viewing = scene.attach(id, (80, 24));
    viewing.wait_for("ready");
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 100_000], b"{}\n"] {
        let mut client = connect(&scene, id);
        // It may be closed before all of it is taken.
        let _ = client.get_mut().write_all(garbage);
        let _ = client.get_mut().shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest);
    }
    let mut client = connect(&scene, id);
    let answer = ask(&mut client, r#"{"op":"attach","version":1,"mode":"full"}"#);
    assert!(answer.contains("attached"), "{answer}");
    let _ = client.get_mut().write_all(&[0xff; 64]);
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(String::from_utf8_lossy(&rest).contains("not understood"));
    viewing.type_in("echo fine-$((1 + 1))\r");
    viewing.wait_for("fine-2");
}

#[test]
fn a_viewer_that_reads_nothing_delays_nobody_and_gets_a_redraw() {
    let scene = Scene::new();
    let id = scene.start("read go; seq 1 400000; echo all-out");
    let mut stuck = connect(&scene, id);
    ask(&mut stuck, r#"{"op":"attach","version":1,"mode":"full"}"#);
    let mut viewing = scene.attach(id, (80, 24));
    viewing.type_in("go\r");
    viewing.wait_for("all-out");
    let status = scene.terminal(id);
    assert!(status.viewers[0].redraw_count > 0, "{status:?}");
    // What it reads at last ends with the screen as it is.
    stuck.get_mut().set_read_timeout(Some(Duration::from_secs(5))).expect("a deadline");
    let mut received = stuck.buffer().to_vec();
    let mut chunk = [0; 65536];
    while let Ok(count) = stuck.get_mut().read(&mut chunk) {
        received.extend_from_slice(&chunk[..count]);
        if received.windows(7).any(|window| window == b"all-out") {
            return;
        }
    }
    panic!("the last screen never comes; {} bytes came", received.len());
}
