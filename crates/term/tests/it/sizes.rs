//! Another size, and text that flows.

use creel_term::{Size, Terminal};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{show, streams, terminal};

fn resize(terminal: &mut Terminal, columns: u16, lines: u16) {
    terminal.resize(Size::new(columns, lines).expect("tests use possible sizes"));
}

fn screen(terminal: &Terminal) -> String {
    terminal.text(terminal.screen_rows()).trim_end_matches('\n').to_owned()
}

/// Feeds text, takes sizes one after the other, and checks the rows that are shown then.
fn check(text: &str, sizes: &[(u16, u16)], expected: &[&str]) {
    let mut terminal = terminal(10, 4);
    terminal.feed(text.as_bytes());
    for (columns, lines) in sizes {
        resize(&mut terminal, *columns, *lines);
    }
    let rows: Vec<String> = terminal.rows(terminal.screen_rows()).map(|row| row.text()).collect();
    assert_eq!(rows, expected, "{text:?} in {sizes:?}");
}

#[test]
fn lines_flow_into_the_width() {
    check("abcdefghijkl\r\nxy", &[(6, 4)], &["abcdef", "ghijkl", "xy", ""]);
    check("abcdefghijkl\r\nxy", &[(20, 4)], &["abcdefghijkl", "xy", "", ""]);
    check("ab漢字\r\n", &[(3, 4)], &["ab", "漢", "字", ""]);
    check("ab漢字", &[(3, 4), (10, 4)], &["ab漢字", "", "", ""]);
}

#[test]
fn what_has_no_room_leaves_at_the_top_and_comes_back() {
    check("1\r\n2\r\n3\r\n4", &[(10, 2)], &["3", "4"]);
    check("1\r\n2\r\n3\r\n4", &[(10, 2), (10, 4)], &["1", "2", "3", "4"]);
    check("1\r\n2\r\n3\r\nabcdefghij", &[(5, 4), (10, 4)], &["1", "2", "3", "abcdefghij"]);
}

#[test]
fn empty_rows_at_the_bottom_go_first() {
    check("1\r\n2", &[(10, 2)], &["1", "2"]);
    check("1\r\n2", &[(10, 2), (10, 4)], &["1", "2", "", ""]);
    check("old\r\n\x1b[2J\x1b[H1\r\n2", &[(10, 6)], &["1", "2", "", "", "", ""]);
}

#[test]
fn a_line_that_began_in_the_history_flows_whole() {
    check(
        "abcdefghijklmnopqrstuvwxyz\r\n1\r\n2\r\n3",
        &[(26, 4)],
        &["abcdefghijklmnopqrstuvwxyz", "1", "2", "3"],
    );
}

#[test]
fn the_alternate_screen_is_cut_and_the_primary_one_flows() {
    let mut terminal = terminal(10, 4);
    terminal.feed(b"abcdefghij\x1b[?1049h\x1b[H0123456789");
    resize(&mut terminal, 5, 4);
    assert_eq!(screen(&terminal), "01234");
    terminal.feed(b"\x1b[?1049l");
    assert_eq!(screen(&terminal), "abcdefghij", "in two rows that are one line");
}

#[test]
fn what_is_typed_goes_on_where_the_cursor_was() {
    let mut terminal = terminal(10, 4);
    terminal.feed(b"$ abcdefgh");
    resize(&mut terminal, 4, 4);
    resize(&mut terminal, 12, 4);
    terminal.feed(b"ij");
    assert_eq!(screen(&terminal), "$ abcdefghij");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_lost_or_made_by_sizes(
        words in vec("[a-z]{1,30}", 1..30),
        sizes in vec((2_u16..40, 1_u16..12), 1..6),
    ) {
        let mut terminal = terminal(20, 5);
        terminal.feed(words.join("\r\n").as_bytes());
        let before = terminal.text(terminal.all_rows());
        for (columns, lines) in sizes {
            resize(&mut terminal, columns, lines);
            let text = terminal.text(terminal.all_rows());
            prop_assert_eq!(text.trim_end(), before.trim_end(), "{}x{}", columns, lines);
        }
    }

    #[test]
    fn a_full_screen_comes_back_from_a_narrow_one(
        words in vec("[a-z]{1,30}", 12..30),
        narrow in 2_u16..20,
    ) {
        let mut terminal = terminal(20, 5);
        terminal.feed(words.join("\r\n").as_bytes());
        let before = screen(&terminal);
        resize(&mut terminal, narrow, 5);
        resize(&mut terminal, 20, 5);
        prop_assert_eq!(screen(&terminal), before);
    }

    #[test]
    fn any_terminal_takes_any_size_and_its_redraw_holds(
        before in streams::any(),
        sizes in vec((1_u16..30, 1_u16..10), 1..4),
        after in streams::any(),
    ) {
        let mut original = terminal(12, 5);
        original.feed(&before);
        for (columns, lines) in sizes {
            resize(&mut original, columns, lines);
            let mut other = terminal(columns, lines);
            other.feed(&original.redraw(Default::default()));
            let (one, two) = (original.state(), other.state());
            prop_assert!(one == two, "{}x{} {}\n{}", columns, lines, show(&before), one.difference(&two));
            original.feed(&after);
        }
    }
}
