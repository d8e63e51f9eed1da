//! Output and transcript of ordinary agents.

use creel_api::transcript::{Content, RawBytes};
use creel_record::EndReason;

use crate::Test;
use crate::scene::Scene;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("output::both_streams_are_kept_to_the_last_byte", both_streams),
        ("output::bytes_that_are_no_text_come_back", no_text),
    ]
}

fn both_streams() {
    let scene = Scene::new();
    scene.script("seq 20000; seq 20001 40000 >&2; printf 'no newline'").check_end((
        EndReason::ExitZero,
        Some(0),
        None,
    ));
    let mut expected: Vec<u8> = (1..=40000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    expected.extend_from_slice(b"no newline");
    let mut output = scene.output(1);
    assert_eq!(output.len(), expected.len());
    // The streams are two pipes: only within one of them there is an order.
    let sort = |bytes: &mut Vec<u8>| {
        let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort();
        lines
    };
    assert_eq!(sort(&mut scene.raw().into_bytes()).len(), sort(&mut expected).len());
    output.sort_unstable();
    expected.sort_unstable();
    assert_eq!(output, expected);
}

fn no_text() {
    let scene = Scene::new();
    scene.script(r"printf '\377\376\n'; exit 0").ended();
    let raw = scene.transcript().into_iter().find_map(|entry| match entry.content {
        Content::Raw { bytes, .. } => Some(bytes),
        _ => None,
    });
    let raw = raw.expect("output");
    assert!(matches!(raw, RawBytes::Base64(_)), "{raw:?}");
    assert_eq!(raw.decode().expect("bytes"), b"\xff\xfe\n");
}
