//! Nothing grows without bound, whatever is fed.

use creel_term::{EventKind, MAX_STRING_BYTES, Options, Size, SizeRefused, TermEvent, Terminal};

use crate::terminal;

fn with_history(max_lines: usize, max_bytes: usize) -> Terminal {
    let size = Size::new(80, 24).expect("a possible size");
    Terminal::new(Options {
        history_max_lines: max_lines,
        history_max_bytes: max_bytes,
        ..Options::new(size)
    })
}

fn lines(count: usize, text: &str) -> Vec<u8> {
    (0..count).flat_map(|number| format!("{number:06} {text}\r\n").into_bytes()).collect()
}

#[test]
fn sizes_that_no_terminal_has_are_refused() {
    for (columns, lines) in [(0, 0), (0, 24), (80, 0), (10_000, 10_000), (1001, 1), (1, 501)] {
        assert_eq!(Size::new(columns, lines), Err(SizeRefused { columns, lines }));
    }
    assert!(Size::new(1, 1).is_ok() && Size::new(1000, 500).is_ok());
    insta::assert_snapshot!(
        Size::new(10_000, 10_000).unwrap_err(),
        @"a terminal of 10000x10000 is refused: 1x1 to 1000x500 are possible"
    );
}

#[test]
fn the_oldest_rows_are_dropped_and_counted() {
    let mut terminal = with_history(100, usize::MAX);
    terminal.feed(&lines(1000, "x"));
    // One empty row is below the last line.
    assert_eq!(terminal.history_lines(), 100);
    assert_eq!(terminal.history_dropped(), 1000 - 23 - 100);
    let first = terminal.text(terminal.all_rows()).lines().next().map(str::to_owned);
    assert_eq!(first.as_deref(), Some("000877 x"));
}

#[test]
fn the_history_keeps_its_limit_of_bytes() {
    let mut terminal = with_history(usize::MAX, 200_000);
    for _ in 0..50 {
        terminal.feed(&lines(500, &"long text with colours \x1b[31mred\x1b[m ".repeat(4)));
        assert!(terminal.history_bytes() <= 200_000 + 4096, "{}", terminal.history_bytes());
    }
    assert!(terminal.history_lines() > 500, "{}", terminal.history_lines());
    let dropped = terminal.history_dropped();
    assert_eq!(dropped + terminal.history_lines() as u64, 50 * 500 * 2 - 23);
}

#[test]
fn ten_thousand_lines_of_eighty_bytes_take_less_than_a_megabyte() {
    let mut terminal = with_history(10_000, 4_000_000);
    terminal.feed(&lines(10_100, &"x".repeat(73)));
    assert_eq!(terminal.history_lines(), 10_000);
    let bytes = terminal.memory_bytes();
    assert!(bytes < 1_000_000, "{bytes}");
}

#[test]
fn no_history_is_kept_when_none_is_wanted() {
    for mut terminal in [with_history(0, 1_000_000), with_history(1000, 0)] {
        terminal.feed(&lines(1000, "x"));
        assert_eq!(terminal.history_lines(), 0);
        assert_eq!(terminal.history_dropped(), 1000 - 23);
    }
}

#[test]
fn a_flood_of_questions_is_answered_with_as_many_bytes_at_most() {
    for question in ["\x1b[c", "\x1b]4;1;?;2;?;3;?\x07", "\x1bP+q544e;544e;544e\x1b\\", "\x1b[6n"] {
        let mut terminal = terminal(80, 24);
        let flood = question.repeat(50_000);
        let replies = terminal.feed(flood.as_bytes()).replies;
        assert!(replies.len() <= flood.len() + 16 * 1024, "{question:?}: {}", replies.len());
        assert!(terminal.replies_dropped() > 0, "{question:?}");
    }
}

#[test]
fn a_string_without_an_end_takes_a_bounded_buffer() {
    for start in ["\x1b]0;", "\x1bP+q", "\x1b_G", "\x1b^", "\x1bX", "\x1b["] {
        let mut terminal = terminal(80, 24);
        terminal.feed(start.as_bytes());
        let before = terminal.memory_bytes();
        for _ in 0..200 {
            terminal.feed(&[b'1'; 16 * 1024]);
            let more = terminal.memory_bytes().saturating_sub(before);
            assert!(more <= 3 * MAX_STRING_BYTES, "{start:?}: {more}");
        }
        let redraw = terminal.redraw(Default::default());
        assert!(redraw.len() < 4096, "{start:?}: what is dropped is not handed on");
        let effects = terminal.feed(b"\x07\x1b\\\r\nok");
        assert_eq!(terminal.title(), "", "{start:?}");
        let is_told = |event: &TermEvent| event.kind != EventKind::BellRung;
        assert!(!effects.events.iter().any(is_told), "{start:?}: {:?}", effects.events);
        assert!(terminal.text(terminal.screen_rows()).contains("ok"));
    }
}

#[test]
fn a_string_of_the_longest_length_is_read() {
    let mut terminal = terminal(80, 24);
    let payload = "x".repeat(MAX_STRING_BYTES - 3);
    let effects = terminal.feed(format!("\x1b]52;{payload}\x07").as_bytes());
    assert_eq!(effects.events.len(), 1);
    let effects = terminal.feed(format!("\x1b]52;{payload}x\x07").as_bytes());
    assert_eq!(effects.events.len(), 0);
}

#[test]
fn stacks_and_clusters_do_not_grow() {
    let mut terminal = terminal(80, 24);
    terminal.feed("\x1b[>5u".repeat(100_000).as_bytes());
    terminal.feed("\x1b]2;a title\x07\x1b[22;0t".repeat(100_000).as_bytes());
    terminal.feed(format!("e{}", "\u{301}".repeat(100_000)).as_bytes());
    let state = terminal.state();
    assert_eq!(state.keyboard.len(), 16);
    assert_eq!(state.titles.len(), 16);
    assert_eq!(state.rows[0].cells[0].text.chars().count(), 32);
}

#[test]
fn a_huge_repetition_prints_at_most_a_screen() {
    let mut terminal = terminal(80, 24);
    terminal.feed(b"x\x1b[65535b");
    assert_eq!(terminal.history_lines(), 1);
}

#[test]
fn bells_in_a_row_are_told_once() {
    let mut terminal = terminal(80, 24);
    assert_eq!(terminal.feed(&[7; 10_000]).events.len(), 1);
}
