//! However a stream is cut, the same comes of it.

use creel_term::{Effects, Terminal};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::captures::{self, COLUMNS, LINES};
use crate::{show, streams, terminal};

fn feed_in<'a>(terminal: &mut Terminal, chunks: impl Iterator<Item = &'a [u8]>) -> Effects {
    let mut all = Effects::default();
    for chunk in chunks {
        let effects = terminal.feed(chunk);
        all.replies.extend(effects.replies);
        all.events.extend(effects.events);
    }
    all
}

fn check(bytes: &[u8], sizes: &[usize], (columns, lines): (u16, u16)) {
    let mut whole = terminal(columns, lines);
    let effects = whole.feed(bytes);
    let mut cut = terminal(columns, lines);
    let mut rest = bytes;
    let mut next = sizes.iter().copied().cycle();
    let chunks = std::iter::from_fn(|| {
        let len = next.next()?.min(rest.len());
        let (chunk, after) = rest.split_at(len);
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    });
    let in_chunks = feed_in(&mut cut, chunks);
    assert_eq!(effects, in_chunks, "{} in {sizes:?}", show(bytes));
    let (one, other) = (whole.state(), cut.state());
    assert!(one == other, "{} in {sizes:?}\n{}", show(bytes), one.difference(&other));
    assert_eq!(whole.text(whole.all_rows()), cut.text(cut.all_rows()));
    let redraws = [&whole, &cut].map(|terminal| terminal.redraw(Default::default()));
    assert_eq!(redraws[0], redraws[1], "even what is unfinished is the same");
}

#[test]
fn recordings_are_read_alike_in_any_chunks() {
    for capture in captures::all() {
        check(&capture.bytes, &[1], (COLUMNS, LINES));
        check(&capture.bytes, &[7, 4096, 13, 1], (COLUMNS, LINES));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_is_read_alike_in_any_chunks(
        bytes in streams::any(),
        sizes in vec(1_usize..9, 1..6),
    ) {
        check(&bytes, &sizes, (20, 6));
    }
}
