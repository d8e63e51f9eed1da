//! How wide clusters are.

use crate::terminal;

/// Checks the column behind some text, with clusters on and off.
fn check(text: &str, (clusters, single): (usize, usize)) {
    for (mode, expected) in [("\x1b[?2027h", clusters), ("\x1b[?2027l", single)] {
        let mut terminal = terminal(40, 2);
        terminal.feed(format!("{mode}{text}").as_bytes());
        assert_eq!(terminal.state().cursor.column, expected, "{text:?} after {mode:?}");
        assert_eq!(terminal.text(terminal.screen_rows()), format!("{text}\n\n"), "{text:?}");
    }
}

#[test]
fn a_cluster_is_as_wide_as_what_it_shows() {
    check("abc", (3, 3));
    check("漢字", (4, 4));
    check("e\u{301}", (1, 1));
    check("한", (2, 2));
    check("\u{1112}\u{1161}\u{11ab}", (2, 2));
    check("👍", (2, 2));
    check("👍🏽", (2, 4));
    check("👩\u{200d}👩\u{200d}👧\u{200d}👦", (2, 8));
    check("❤\u{200d}🔥", (2, 3));
    check("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", (2, 2));
    check("🇩🇪", (2, 2));
    check("🇩🇪🇫🇷", (4, 4));
    check("🇩🇪🇫", (3, 3));
    check("❤", (1, 1));
    check("❤\u{fe0f}", (2, 1));
    check("#\u{fe0f}\u{20e3}", (2, 1));
    check("a\u{fe0f}", (1, 1));
    check("◐\u{fe0e}", (1, 1));
    check("⠋", (1, 1));
}

#[test]
fn a_cluster_that_becomes_wide_in_the_last_column_moves_to_the_next_row() {
    let mut terminal = terminal(4, 2);
    terminal.feed("abc❤".as_bytes());
    assert_eq!(terminal.state().cursor.row, 0);
    terminal.feed("\u{fe0f}".as_bytes());
    let state = terminal.state();
    assert_eq!((state.cursor.row, state.cursor.column), (1, 2));
    assert_eq!(terminal.text(terminal.screen_rows()), "abc❤\u{fe0f}\n");
}

#[test]
fn characters_that_do_not_follow_each_other_form_no_cluster() {
    let mut terminal = terminal(40, 2);
    terminal.feed("🇩\x1b[m🇪".as_bytes());
    assert_eq!(terminal.state().rows[0].cells[0].text, "🇩");
    assert_eq!(terminal.state().rows[0].cells[1].text, "🇪");
}

#[test]
fn half_of_a_wide_character_is_never_left() {
    for cut in [
        "\x1b[1;2Hx",
        "\x1b[1;1Hx",
        "\x1b[1;2H\x1b[K",
        "\x1b[1;2H\x1b[P",
        "\x1b[1;2H\x1b[@",
        "\x1b[1;2H\x1b[X",
    ] {
        let mut terminal = terminal(6, 1);
        terminal.feed("漢字漢".as_bytes());
        terminal.feed(cut.as_bytes());
        let widths: usize =
            terminal.state().rows[0].cells.iter().map(|cell| usize::from(cell.width)).sum();
        assert_eq!(widths, 6, "{cut:?}");
    }
}
