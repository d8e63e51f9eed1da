//! What any program prints: a redraw shows the same state in any other terminal, both stay alike
//! when they read on, and other sizes and cuts change nothing of that. The first bytes are sizes
//! and places.
#![no_main]

use creel_term::{Options, RedrawOptions, Scrollback, Size, Terminal};
use libfuzzer_sys::fuzz_target;

fn same(one: &Terminal, other: &Terminal) {
    let (one, other) = (one.state(), other.state());
    assert!(one == other, "{}", one.difference(&other));
}

fuzz_target!(|data: &[u8]| {
    let [columns, lines, wider, higher, cut, ref stream @ ..] = *data else { return };
    let size = |columns: u8, lines: u8| {
        Size::new(u16::from(columns % 40) + 1, u16::from(lines % 12) + 1).expect("small sizes")
    };
    let (before, after) = stream.split_at(stream.len() * usize::from(cut) / 256);
    let mut original = Terminal::new(Options::new(size(columns, lines)));
    original.feed(before);

    let mut other = Terminal::new(Options::new(size(columns, lines)));
    let redraw = original.redraw(RedrawOptions::default());
    assert!(other.feed(&redraw).replies.is_empty(), "a redraw asks nothing");
    same(&original, &other);
    original.feed(after);
    other.feed(after);
    same(&original, &other);

    original.resize(size(wider, higher));
    let options = RedrawOptions { history_lines: usize::MAX, scrollback: Scrollback::Clear };
    let mut third = Terminal::new(Options::new(original.size()));
    third.feed(&original.redraw(options));
    same(&original, &third);

    let mut fourth = Terminal::new(Options::new(size(columns, lines)));
    data.chunks(3).for_each(|chunk| drop(fourth.feed(chunk)));
    assert!(fourth.memory_bytes() < 1 << 20);
});
