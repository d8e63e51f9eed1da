//! The law: `state(redraw(s)) = state(s)`, and both stay alike when they read on.

use creel_term::{Mode, Options, RedrawOptions, ScreenState, Scrollback, StyledRow, Terminal};
use proptest::prelude::*;

use crate::captures::{self, COLUMNS, LINES};
use crate::{show, streams, terminal};

/// Checks the law for one terminal, and that `rest` brings both into the same state.
fn check(original: &mut Terminal, rest: &[u8], note: &str) {
    let size = original.size();
    let redraw = original.redraw(RedrawOptions::default());
    let mut other = Terminal::new(Options::new(size));
    let effects = other.feed(&redraw);
    assert!(effects.replies.is_empty(), "{note}: a redraw asks nothing");
    same(&original.state(), &other.state(), &format!("{note}\nredraw {}", show(&redraw)));
    original.feed(rest);
    other.feed(rest);
    let note = format!("{note}, after {}\nredraw {}", show(rest), show(&redraw));
    same(&original.state(), &other.state(), &note);
}

fn same(one: &ScreenState, other: &ScreenState, note: &str) {
    assert!(one == other, "{note}\n{}", one.difference(other));
}

#[test]
fn a_redraw_at_any_cut_of_a_recording_shows_its_screen_and_goes_on_alike() {
    for capture in captures::all() {
        let mut original = terminal(COLUMNS, LINES);
        let mut fed = 0;
        for cut in captures::cuts(&capture) {
            original.feed(&capture.bytes[fed..cut]);
            fed = cut;
            let rest = &capture.bytes[cut..(cut + 600).min(capture.bytes.len())];
            check(&mut original.clone(), rest, &format!("{} at {cut}", capture.name));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_redraw_of_any_stream_shows_its_screen_and_goes_on_alike(
        (columns, lines) in (1_u16..24, 1_u16..9),
        before in streams::any(),
        rest in streams::any(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut original = terminal(columns, lines);
        original.feed(&before[..cut.index(before.len() + 1)]);
        check(&mut original, &rest, &format!("{columns}x{lines} {}", show(&before)));
    }

    #[test]
    fn a_redraw_brings_any_terminal_into_the_state(
        (columns, lines) in (1_u16..24, 1_u16..9),
        before in streams::any(),
        dirt in streams::any(),
    ) {
        let mut original = terminal(columns, lines);
        original.feed(&before);
        let mut other = terminal(columns, lines);
        other.feed(&dirt);
        other.feed(&original.redraw(RedrawOptions::default()));
        let (own, mut others) = (original.state(), other.state());
        // The two things that a redraw can't undo.
        others.titles = others.titles.split_off(others.titles.len() - own.titles.len());
        if !own.modes.is_set(Mode::AlternateScroll) && others.modes.is_set(Mode::AlternateScroll) {
            other.feed(b"\x1b[?1007l");
            others.modes = other.state().modes;
        }
        same(&own, &others, &format!("{} over {}", show(&before), show(&dirt)));
    }

    #[test]
    fn leaving_leaves_nothing_behind(before in streams::any()) {
        let mut shown = terminal(20, 6);
        shown.feed(&before);
        let leave = shown.leave();
        let effects = shown.feed(&leave);
        prop_assert!(effects.replies.is_empty());
        let left = shown.state();
        let fresh = terminal(20, 6).state();
        let mut modes = left.modes;
        if modes.is_set(Mode::AlternateScroll) {
            shown.feed(b"\x1b[?1007l");
            modes = shown.state().modes;
        }
        let note = show(&before);
        prop_assert_eq!(modes, fresh.modes, "{}", note);
        prop_assert_eq!(&left.primary_rows, &None, "{}", note);
        prop_assert_eq!(&left.keyboard, &fresh.keyboard, "{}", note);
        prop_assert_eq!(left.margins, fresh.margins, "{}", note);
        prop_assert_eq!(&left.tabs, &fresh.tabs, "{}", note);
        prop_assert_eq!(&left.colors, &fresh.colors, "{}", note);
        prop_assert_eq!(&left.titles, &fresh.titles, "{}", note);
        prop_assert_eq!(&left.cursor.pen, &fresh.cursor.pen, "{}", note);
        prop_assert_eq!(left.cursor.line_drawing, fresh.cursor.line_drawing, "{}", note);
        prop_assert_eq!((left.cursor.charset, left.cursor.column), (0, 0), "{}", note);
    }

    #[test]
    fn a_redraw_with_history_brings_the_history_along(
        (columns, lines) in (2_u16..24, 1_u16..9),
        before in streams::scrolling(),
    ) {
        let mut original = terminal(columns, lines);
        original.feed(&before);
        let options = RedrawOptions { history_lines: usize::MAX, scrollback: Scrollback::Clear };
        let redraw = original.redraw(options);
        let mut other = terminal(columns, lines);
        other.feed(&redraw);
        let note = format!("{columns}x{lines} {}\nredraw {}", show(&before), show(&redraw));
        same(&original.state(), &other.state(), &note);
        let rows = |terminal: &Terminal| {
            let first = terminal.all_rows().start;
            terminal.rows(first..terminal.screen_rows().start).collect::<Vec<_>>()
        };
        let texts = |rows: &[StyledRow]| {
            rows.iter().map(|row| (row.text(), row.cells.len(), row.is_wrapped)).collect::<Vec<_>>()
        };
        let (own, others) = (rows(&original), rows(&other));
        prop_assert!(own == others, "{}
{:?}
{:?}", note, texts(&own), texts(&others));
    }
}
