//! Text, coloured text, cells and searching.

use creel_term::{Color, Pattern, Terminal};

use crate::{show, terminal};

fn sample() -> Terminal {
    let mut terminal = terminal(10, 3);
    terminal.feed("first line\r\n\x1b[31mred\x1b[m and \x1b]8;;http://x\x07link\x1b]8;;\x07 which is long\r\n漢字 Needle\r\nneedle".as_bytes());
    terminal
}

#[test]
fn text_is_the_lines_as_they_were_printed() {
    let terminal = sample();
    assert_eq!(
        terminal.text(terminal.all_rows()),
        "first line\nred and link which is long\n漢字 Needle\nneedle\n"
    );
    assert_eq!(terminal.all_rows(), 0..7);
    assert_eq!(terminal.screen_rows(), 4..7);
}

#[test]
fn coloured_text_is_text_with_its_looks() {
    let terminal = sample();
    insta::assert_snapshot!(show(&terminal.ansi(terminal.all_rows())), @r"first line\n\u{1b}[0;31mred\u{1b}[0m and \u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\ which is long\n漢字 Needle\nneedle\n");
}

#[test]
fn cells_have_their_looks() {
    let terminal = sample();
    let row = terminal.rows(1..2).next().unwrap();
    assert!(row.is_wrapped);
    assert_eq!(row.cells[0].style.foreground, Color::Indexed(1));
    assert_eq!(row.cells[8].style.link.as_ref().map(|link| link.uri.as_str()), Some("http://x"));
}

/// Searches everything; a hit is `row:column-row:column text`.
fn check(pattern: &Pattern, max_hits: usize, expected: &[&str]) {
    let terminal = sample();
    let found = terminal.search(pattern, terminal.all_rows(), max_hits).expect("a pattern");
    let mut shown: Vec<String> = found
        .hits
        .iter()
        .map(|hit| {
            let (start, end) = (hit.start, hit.end);
            format!("{}:{}-{}:{} {}", start.row, start.column, end.row, end.column, hit.text)
        })
        .collect();
    if found.is_cut {
        shown.push("and more".to_owned());
    }
    assert_eq!(shown, expected, "{pattern:?}");
}

#[test]
fn what_is_searched_is_found_where_it_is_shown() {
    check(&Pattern::Literal("needle".into()), 9, &["6:0-6:6 needle"]);
    check(&Pattern::AnyCase("NEEDLE".into()), 9, &["4:5-5:1 Needle", "6:0-6:6 needle"]);
    check(&Pattern::AnyCase("NEEDLE".into()), 1, &["4:5-5:1 Needle", "and more"]);
    check(&Pattern::Literal("字".into()), 9, &["4:2-4:4 字"]);
    check(&Pattern::Literal("link which".into()), 9, &["1:8-2:8 link which"]);
    check(&Pattern::Regex("^first|long$".into()), 9, &["0:0-0:5 first", "3:2-3:6 long"]);
    check(&Pattern::Regex("x*".into()), 9, &[]);
    check(&Pattern::Literal(".".into()), 9, &[]);
}

#[test]
fn a_pattern_that_is_none_or_too_large_is_refused() {
    let terminal = sample();
    for (pattern, reason) in [("(", "unclosed group"), ("(a{1000}){1000}", "size limit")] {
        let pattern = Pattern::Regex(pattern.into());
        let refused = terminal.search(&pattern, terminal.all_rows(), 9).unwrap_err();
        let told = refused.to_string();
        assert!(told.contains(reason) && !told.contains('\n'), "{told}");
    }
}
