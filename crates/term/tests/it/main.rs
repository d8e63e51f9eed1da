//! What a terminal keeps, shows again and answers, as its users see it.

mod answers;
mod bounds;
mod captures;
mod chunks;
mod events;
mod law;
mod peers;
mod reading;
mod sizes;
mod streams;
mod widths;

use creel_term::{Options, Size, Terminal};

/// Makes a terminal with the usual options.
fn terminal(columns: u16, lines: u16) -> Terminal {
    Terminal::new(Options::new(Size::new(columns, lines).expect("tests use possible sizes")))
}

/// Makes bytes readable.
fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).escape_debug().to_string()
}
