//! The one executable of Creel.
fn main() {}
