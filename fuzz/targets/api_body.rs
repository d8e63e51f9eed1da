//! A body that a client of the host sends, and a stored layout: any bytes are one or an error, and
//! what passes the check is within its bounds.
#![no_main]

use creel_api::layout::{Layout, LayoutChange, MAX_PANES, MAX_TABS, Node};
use creel_host::layout::validate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(change) = serde_json::from_slice::<LayoutChange>(data) {
        look(&change.layout);
    }
    if let Ok(layout) = serde_json::from_slice::<Layout>(data) {
        look(&layout);
    }
});

fn look(layout: &Layout) {
    if validate(layout).is_err() {
        return;
    }
    let panes: usize = layout.tabs.iter().map(|tab| panes(&tab.root)).sum();
    assert!(layout.tabs.len() <= MAX_TABS && panes <= MAX_PANES);
    let text = serde_json::to_vec(layout).expect("a layout has a JSON form");
    assert_eq!(&serde_json::from_slice::<Layout>(&text).expect("it is read again"), layout);
}

fn panes(node: &Node) -> usize {
    match node {
        Node::Pane(_) => 1,
        Node::Split(split) => panes(&split.first) + panes(&split.second),
    }
}
