//! What strangers on the socket can't do.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use creel_api::attach::{ToViewer, take_frame};
use creel_api::keeper::socket_name;
use creel_record::SessionId;
use creel_term::{Options, Size, Terminal};

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

/// A viewer that checks what it is sent.
struct Checking {
    screen: Terminal,
    position: u64,
    is_redrawing: bool,
    redraw_count: usize,
}

impl Checking {
    fn take(&mut self, frame: ToViewer) {
        match frame {
            ToViewer::Redraw { offset, is_first, is_last, bytes, .. } => {
                assert_eq!(is_first, !self.is_redrawing, "redraws come whole");
                self.redraw_count += usize::from(is_first);
                self.screen.feed(&bytes);
                self.position = offset;
                self.is_redrawing = !is_last;
            }
            ToViewer::Output { offset, end, bytes } => {
                assert!(!self.is_redrawing, "no output inside of a redraw");
                assert_eq!(offset, self.position, "neither gap nor repeat");
                self.screen.feed(&bytes);
                self.position = end;
            }
            _ => {}
        }
    }
}

#[test]
fn output_continues_without_gap_or_repeat_or_the_screen_comes_anew() {
    let scene = Scene::new();
    let script = "read go; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); printf '\\033[3%dm\\346\\274\\242 %d \\033[0m\\033[%dG|\\n' $((i % 8)) $i $((i % 60 + 10)); done; echo all-out; read stay";
    let id = scene.start(script);
    let mut client = connect(&scene, id);
    ask(&mut client, r#"{"op":"attach","version":1,"mode":"read-only"}"#);
    let size = Size::new(80, 24).expect("a size");
    let screen = Terminal::new(Options::new(size));
    let mut viewer = Checking { screen, position: 0, is_redrawing: false, redraw_count: 0 };
    scene.out(&["terminal", "send", &id.to_string(), "go", "-e"]);
    let mut received = client.buffer().to_vec();
    let mut chunk = [0; 4096];
    loop {
        while let Some(frame) = take_frame(&mut received).expect("frames") {
            viewer.take(frame);
        }
        if viewer.screen.text(viewer.screen.screen_rows()).contains("all-out") {
            break;
        }
        let count = client.get_mut().read(&mut chunk).expect("more comes");
        assert_ne!(count, 0, "the connection ends early");
        received.extend_from_slice(&chunk[..count]);
    }
    assert!(viewer.redraw_count >= 1);
    let mut fresh = scene.attach(id, (80, 24));
    fresh.wait_for("all-out");
    assert_eq!(fresh.screen().state().difference(&viewer.screen.state()), "");
}
