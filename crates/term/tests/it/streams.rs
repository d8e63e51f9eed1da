//! Streams that programs might write, and some that only a hostile one would.

use proptest::collection::vec;
use proptest::prelude::*;

/// Any stream: text, controls, sequences that mean something, and noise.
pub(crate) fn any() -> impl Strategy<Value = Vec<u8>> {
    vec(
        prop_oneof![
            8 => text(),
            4 => moves(),
            4 => looks(),
            3 => edits(),
            3 => modes(),
            2 => settings(),
            1 => commands(),
            1 => noise(),
        ],
        0..40,
    )
    .prop_map(|parts| parts.concat())
}

/// Text that scrolls, with looks and clusters.
pub(crate) fn scrolling() -> impl Strategy<Value = Vec<u8>> {
    vec(
        prop_oneof![
            6 => text(),
            3 => Just(b"\r\n".to_vec()),
            2 => looks(),
            1 => Just(b"\x1b[2J".to_vec()),
            1 => Just(b"\x1b[S".to_vec()),
        ],
        0..60,
    )
    .prop_map(|parts| parts.concat())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "[a-z _~]{1,12}",
        3 => prop::sample::select(vec![
            "漢字", "宽", "한", "é", "e\u{301}", "a\u{301}\u{302}", "👩\u{200d}👩\u{200d}👧", "👍🏽", "☝🏽",
            "🇩🇪", "🇩🇪🇫", "🇫", "#\u{fe0f}\u{20e3}", "❤\u{fe0f}", "❤", "\u{fe0f}", "\u{200d}",
            "🔥", "🏴\u{e0067}\u{e007f}", "⠋", "─", "\u{301}", "🏽", "◐\u{fe0e}", "❤\u{200d}🔥", "\u{ad}",
        ]).prop_map(str::to_owned),
    ]
    .prop_map(String::into_bytes)
}

fn csi(lasts: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let last = prop::sample::select(lasts.as_bytes().to_vec());
    (vec(0_u16..14, 0..3), last).prop_map(|(params, last)| {
        let params: Vec<String> = params.iter().map(u16::to_string).collect();
        format!("\x1b[{}{}", params.join(";"), char::from(last)).into_bytes()
    })
}

fn moves() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => prop::sample::select(vec![
            "\r", "\n", "\r\n", "\x08", "\t", "\x0b", "\x1bD", "\x1bE", "\x1bM", "\x1b7", "\x1b8", "\x1b[s",
            "\x1b[u",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        3 => csi("ABCDEFGHdfIZ`ae"),
    ]
}

fn edits() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => csi("JK@PXLMST"),
        2 => csi("b"),
        1 => Just(b"\x1b#8".to_vec()),
    ]
}

fn looks() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "\x1b[m",
        "\x1b[1m",
        "\x1b[2;3m",
        "\x1b[4:3m",
        "\x1b[4:0m",
        "\x1b[21m",
        "\x1b[5;7m",
        "\x1b[8;9m",
        "\x1b[22m",
        "\x1b[27m",
        "\x1b[31m",
        "\x1b[41m",
        "\x1b[94;103m",
        "\x1b[38;5;200m",
        "\x1b[48;5;17m",
        "\x1b[38;2;1;2;3m",
        "\x1b[48:2::4:5:6m",
        "\x1b[58:5:9m",
        "\x1b[58;2;7;8;9m",
        "\x1b[59m",
        "\x1b[39;49m",
        "\x1b]8;;http://a/?x=1;y\x07",
        "\x1b]8;id=7;http://b\x1b\\",
        "\x1b]8;;\x1b\\",
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x0e",
        "\x0f",
        "\x1bn",
        "\x1b*0",
    ])
    .prop_map(|text| text.as_bytes().to_vec())
}

fn modes() -> impl Strategy<Value = Vec<u8>> {
    let number = prop::sample::select(vec![
        "?1",
        "?3",
        "?5",
        "?6",
        "?7",
        "?9",
        "?12",
        "?25",
        "?47",
        "?66",
        "?1000",
        "?1002",
        "?1003",
        "?1004",
        "?1005",
        "?1006",
        "?1007",
        "?1015",
        "?1016",
        "?1047",
        "?1048",
        "?1049",
        "?2004",
        "?2026",
        "?2027",
        "?2031",
        "4",
        "20",
        "?1049",
        "?1000;1006",
        "?6",
        "4",
        "?2027",
    ]);
    let last = prop::sample::select(vec!['h', 'h', 'l']);
    (number, last).prop_map(|(number, last)| format!("\x1b[{number}{last}").into_bytes())
}

fn settings() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => csi("r"),
        4 => prop::sample::select(vec![
            "\x1bH", "\x1b[g", "\x1b[3g", "\x1b[?5W", "\x1b=", "\x1b>", "\x1b[!p", "\x1bc", "\x1b[3 q", "\x1b[0 q",
            "\x1b[>5u", "\x1b[>7u", "\x1b[<u", "\x1b[<9u", "\x1b[=1;1u", "\x1b[=4;2u", "\x1b[=1;3u", "\x1b[>4;2m",
            "\x1b[>4m", "\x1b[22;0t", "\x1b[23;0t", "\x1b[22;2t",
        ]).prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn commands() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "\x1b]0;✳ a title\x07",
        "\x1b]2;two; parts\x1b\\",
        "\x1b]2;\x07",
        "\x1b]7;file://h/tmp\x07",
        "\x1b]4;3;#102030\x07",
        "\x1b]4;1;rgb:1/2/3;2;?\x07",
        "\x1b]10;#fff\x07",
        "\x1b]11;rgb:0/0/0\x1b\\",
        "\x1b]12;?\x07",
        "\x1b]104\x07",
        "\x1b]104;3\x07",
        "\x1b]110\x07",
        "\x1b]9;4;3;0\x07",
        "\x1b]7501;state=idle\x07",
        "\x1b]777;notify;a;b\x07",
        "\x07",
        "\x1b[c",
        "\x1b[6n",
        "\x1bP+q544e\x1b\\",
        "\x1bP$qm\x1b\\",
        "\x1b_Gi=1;AAAA\x1b\\",
        "\x1b^x\x1b\\",
    ])
    .prop_map(|text| text.as_bytes().to_vec())
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => vec(prop::num::u8::ANY, 1..6),
        2 => prop::sample::select(vec![
            &b"\x1b"[..], b"\x1b[", b"\x1b[1;", b"\x1b[?", b"\x1b]0;ab", b"\x1bP", b"\x1b_", b"\xe2\x82", b"\xf0\x9f",
            b"\x1b[1\n2m", b"\x1b[9999999;5H", b"\x18", b"\x1a", b"\x1b[1:2<m", b"\x7f", b"\x1b( ", b"\xc2\x85",
        ]).prop_map(<[u8]>::to_vec),
    ]
}
