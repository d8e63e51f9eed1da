mod activity;
mod asking;
mod laws;
mod lifecycle;

use crate::story::{Do, Story};
use crate::words::Mode;

/// Takes the steps and tells where the session then stands.
fn check(mode: Mode, steps: &[Do], expected: &str) {
    let story = Story::after(mode, steps);
    assert_eq!(story.standing(), expected, "after {steps:?}");
}
