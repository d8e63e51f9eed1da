//! What a terminal tells besides what it shows.

use std::fmt::Write as _;

use crate::captures::{self, COLUMNS, LINES};
use crate::terminal;

/// Feeds bytes and returns their events, one a line.
fn told(bytes: &[u8]) -> String {
    let mut text = String::new();
    for event in terminal(COLUMNS, LINES).feed(bytes).events {
        let kind = format!("{:?}", event.kind);
        writeln!(text, "{}: {kind}", event.offset_bytes).expect("a string takes every byte");
    }
    text
}

#[test]
fn what_is_not_for_the_screen_is_told_with_its_place() {
    insta::assert_snapshot!(told(
        b"\x07\x1b]0;a \xe2\x9c\xb3 title\x07\x1b]7;file://host/tmp\x1b\\\x1b]8;id=a;http://x\x1b\\link\x1b]8;;\x1b\\\
          \x1b]9;4;3;0\x07\x1b]9;text\x07\x1b]7501;state=working:app=a\x07\x1b]777;notify;a;b\x07\x1b]99;i=1;x\x1b\\\
          \x1b]133;A\x07\x1b[?1004h\x1b[?1004h\x1b[?2004h\x1b[?1049h\x1b[?1049l\x1b[?1003h\x1b[>5u\x1b[<u\x1b[22;0t\
          \x1b]2;other\x07\x1b[23;0t\x1bc"
    ));
}

#[test]
fn a_command_that_is_cancelled_is_none() {
    assert_eq!(told(b"\x1b]0;title\x18"), "");
    assert_eq!(told(b"\x1b]x;title\x07"), "");
}

#[test]
fn the_program_status_of_recorded_agents_is_told() {
    let mut table = String::new();
    for capture in captures::all() {
        for line in told(&capture.bytes).lines().filter(|line| line.contains("7501")) {
            let payload: Vec<u8> = line
                .split_once("payload: [")
                .into_iter()
                .flat_map(|(_, list)| list.trim_end_matches("] }").split(", "))
                .filter_map(|byte| byte.parse().ok())
                .collect();
            writeln!(table, "{} {}", capture.name, crate::show(&payload)).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
