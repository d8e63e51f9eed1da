//! What programs ask at their start, and what they are told.

use std::fmt::Write as _;

use crate::captures::{self, COLUMNS, LINES};
use crate::{show, terminal};

/// Every question, after what has to be set before it is asked.
const QUESTIONS: &[(&str, &str)] = &[
    ("attributes", "\x1b[c"),
    ("attributes, with a zero", "\x1b[0c"),
    ("attributes, the old way", "\x1bZ"),
    ("secondary attributes", "\x1b[>c"),
    ("tertiary attributes", "\x1b[=c"),
    ("version", "\x1b[>0q"),
    ("version, without a zero", "\x1b[>q"),
    ("status", "\x1b[5n"),
    ("cursor", "\x1b[3;7H\x1b[6n"),
    ("cursor, in origin mode", "\x1b[3;9r\x1b[?6h\x1b[2;4H\x1b[6n"),
    ("cursor, with a wrap pending", "\x1b[1;98Habc\x1b[6n"),
    ("cursor, the extended way", "\x1b[3;7H\x1b[?6n"),
    ("dark or light", "\x1b[?996n"),
    ("dark or light, on a light background", "\x1b]11;#ffffff\x07\x1b]10;#000000\x07\x1b[?996n"),
    ("keyboard", "\x1b[?u"),
    ("keyboard, after a push", "\x1b[>5u\x1b[?u"),
    ("keyboard, after a push and a pop", "\x1b[>5u\x1b[<u\x1b[?u"),
    ("keyboard, set without a push", "\x1b[=1;1u\x1b[?u"),
    ("other keys", "\x1b[>4;2m\x1b[?4m"),
    ("mode 1007", "\x1b[?1007$p"),
    ("mode 1016", "\x1b[?1016h\x1b[?1016$p"),
    ("mode 1049", "\x1b[?1049h\x1b[?1049$p"),
    ("mode 2004", "\x1b[?2004h\x1b[?2004$p"),
    ("mode 2026", "\x1b[?2026$p"),
    ("mode 2026, while it is set", "\x1b[?2026h\x1b[?2026$p"),
    ("mode 2027", "\x1b[?2027$p"),
    ("mode 2027, after a reset", "\x1b[?2027l\x1b[?2027$p"),
    ("mode 2031", "\x1b[?2031$p"),
    ("a mode that nobody knows", "\x1b[?5522$p"),
    ("standard mode 4", "\x1b[4h\x1b[4$p"),
    ("standard mode 99", "\x1b[99$p"),
    ("text colour", "\x1b]10;?\x07"),
    ("background colour", "\x1b]11;?\x1b\\"),
    ("cursor colour", "\x1b]12;?\x07"),
    ("three colours at once", "\x1b]10;?;?;?\x07"),
    ("a colour that was set", "\x1b]11;rgb:12/34/56\x07\x1b]11;?\x07"),
    ("numbered colours", "\x1b]4;1;?;16;?;244;?\x07"),
    ("a numbered colour that was set", "\x1b]4;5;#010203\x07\x1b]4;5;?\x1b\\"),
    ("program status", "\x1b]7501;?\x07"),
    ("program status, ended otherwise", "\x1b]7501;?\x1b\\"),
    ("size in pixels", "\x1b[14t"),
    ("cell in pixels", "\x1b[16t"),
    ("size in cells", "\x1b[18t"),
    ("capabilities", "\x1bP+q544e;436f;524742;536d756c78\x1b\\"),
    ("a capability that nobody has", "\x1bP+q6e6f6e65\x1b\\"),
    ("look", "\x1b[1;4:3;38;5;200;48;2;1;2;3m\x1bP$qm\x1b\\"),
    ("margins", "\x1b[2;5r\x1bP$qr\x1b\\"),
    ("cursor style", "\x1b[5 q\x1bP$q q\x1b\\"),
    ("a setting that nobody knows", "\x1bP$qx\x1b\\"),
    ("graphics", "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"),
    ("clipboard", "\x1b]52;c;?\x07"),
    ("title", "\x1b]2;secret\x07\x1b[21t"),
    ("notifications", "\x1b]99;i=1:p=?;\x1b\\"),
    ("other vendors' features", "\x1b]1337;Capabilities\x07"),
];

#[test]
fn every_question_has_its_answer() {
    let mut table = String::new();
    for (name, question) in QUESTIONS {
        let effects = terminal(COLUMNS, LINES).feed(question.as_bytes());
        writeln!(table, "{name}: {}", show(&effects.replies)).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let questions = b"\x1b[>0q\x1b[?u\x1b]7501;?\x07\x1b[c\x1b[?2026$p\x1b[16t";
    let replies = terminal(COLUMNS, LINES).feed(questions).replies;
    insta::assert_snapshot!(show(&replies), @r"\u{1b}P>|creel 0.1.0\u{1b}\\\u{1b}[?0u\u{1b}]7501;?\u{7}\u{1b}[?62;22c\u{1b}[?2026;2$y\u{1b}[6;16;8t");
}

#[test]
fn every_recorded_agent_is_answered_at_its_start() {
    let mut table = String::new();
    for capture in captures::all() {
        let mut terminal = terminal(COLUMNS, LINES);
        let replies = terminal.feed(&capture.bytes).replies;
        assert_eq!(terminal.replies_dropped(), 0, "{}", capture.name);
        writeln!(table, "{}: {}", capture.name, show(&replies)).unwrap();
    }
    insta::assert_snapshot!(table);
}
