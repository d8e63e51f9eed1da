//! Speed beside a peer, in the same run.
fn main() {}
