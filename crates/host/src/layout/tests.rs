use creel_api::layout::{Direction, Split};

use super::*;

const SESSION: &str = "2d1b3f9e-8d11-4c8e-9f67-0a7b6a4f0a01";

fn pane(id: &str) -> Node {
    Node::Pane(Pane { id: id.to_owned(), session: None, title: None })
}

fn split(ratio: u16, first: Node, second: Node) -> Node {
    let (first, second) = (Box::new(first), Box::new(second));
    Node::Split(Split { direction: Direction::Row, ratio, first, second })
}

fn tab(id: &str, root: Node, focus: &str) -> Tab {
    Tab { id: id.to_owned(), title: None, root, focus: focus.to_owned() }
}

fn layout(tabs: Vec<Tab>) -> Layout {
    let active = tabs.first().map(|tab| tab.id.clone());
    Layout { version: LAYOUT_VERSION, tabs, active }
}

fn check(layout: &Layout, expected: Result<(), &str>) {
    let found = validate(layout).map_err(|error| error.to_string());
    assert_eq!(found, expected.map_err(str::to_owned));
}

fn nested(depth: usize) -> Node {
    (0..depth).fold(pane("p0"), |below, level| split(500, pane(&format!("q{level}")), below))
}

#[test]
fn a_layout_is_checked_whole() {
    check(&Layout::default(), Ok(()));
    check(&layout(vec![tab("a", split(1, pane("p"), pane("q")), "q")]), Ok(()));
    let one = |root, focus| layout(vec![tab("a", root, focus)]);
    check(&Layout { version: 2, ..Layout::default() }, Err("it has version 2, not 1"));
    check(&one(pane("p"), "q"), Err("the focus of tab 'a' is on no pane of it"));
    check(&one(pane(""), ""), Err("'' is no id of a pane"));
    check(&one(pane("a b"), "a b"), Err("'a b' is no id of a pane"));
    check(&one(split(500, pane("p"), pane("p")), "p"), Err("two panes have the id 'p'"));
    for ratio in [0, 1000, u16::MAX] {
        let text = format!("the ratio {ratio} of a split in tab 'a' is not between 1 and 999");
        check(&one(split(ratio, pane("p"), pane("q")), "q"), Err(&text));
    }
    check(
        &layout(vec![tab("a", pane("p"), "p"), tab("a", pane("q"), "q")]),
        Err("two tabs have the id 'a'"),
    );
    let unshown = Layout { active: None, ..one(pane("p"), "p") };
    check(&unshown, Err("the active tab is none of the tabs"));
    let elsewhere = Layout { active: Some("b".to_owned()), ..one(pane("p"), "p") };
    check(&elsewhere, Err("the active tab is none of the tabs"));
}

#[test]
fn its_bounds_are_bounds() {
    let one = |root| layout(vec![tab("a", root, "p0")]);
    check(&one(nested(MAX_SPLIT_DEPTH)), Ok(()));
    check(&one(nested(MAX_SPLIT_DEPTH + 1)), Err("tab 'a' nests more than 16 splits"));
    let many = |count: usize| {
        layout(
            (0..count)
                .map(|n| tab(&format!("t{n}"), pane(&format!("p{n}")), &format!("p{n}")))
                .collect(),
        )
    };
    check(&many(MAX_TABS), Ok(()));
    check(&many(MAX_TABS + 1), Err("it has more than 128 tabs"));
    let mut full = many(MAX_TABS);
    for (n, tab) in full.tabs.iter_mut().enumerate() {
        for extra in 0..4 {
            tab.root = split(500, tab.root.clone(), pane(&format!("x{n}-{extra}")));
        }
    }
    check(&full, Err("it has more than 512 panes"));
    let titled = |title: String| {
        let mut tab = tab("a", pane("p"), "p");
        tab.title = Some(title);
        layout(vec![tab])
    };
    check(&titled("x".repeat(MAX_LAYOUT_TITLE_BYTES)), Ok(()));
    let text = "the title of 'a' is longer than 256 bytes or holds control characters";
    check(&titled("x".repeat(MAX_LAYOUT_TITLE_BYTES + 1)), Err(text));
    check(&titled("\x1b]0;x\x07".to_owned()), Err(text));
    let attached = |session: &str| {
        let session = Some(session.to_owned());
        one(Node::Pane(Pane { id: "p0".to_owned(), session, title: None }))
    };
    check(&attached(SESSION), Ok(()));
    check(&attached("../x"), Err("pane 'p0' names '../x', which is no session id"));
}

#[test]
fn a_change_names_the_revision_it_changes_or_none() {
    let current = Stored { revision: 7, layout: Layout::default() };
    let wanted = layout(vec![tab("a", pane("p"), "p")]);
    let made = |revision| change(&current, &LayoutChange { revision, layout: wanted.clone() });
    let expected = Stored { revision: 8, layout: wanted.clone() };
    assert_eq!(made(Some(7)), Ok(expected.clone()));
    assert_eq!(made(None), Ok(expected));
    assert_eq!(made(Some(6)), Err(ChangeError::Revision { current: 7, wanted: 6 }));
}

#[test]
fn a_title_is_kept_at_every_pane_of_its_session() {
    let root =
        Node::Pane(Pane { id: "p".to_owned(), session: Some(SESSION.to_owned()), title: None });
    let current = Stored { revision: 7, layout: layout(vec![tab("a", root, "p")]) };
    let next = titled(&current, SESSION, "a \x1btitle").expect("a change");
    assert_eq!(next.revision, 7);
    assert_eq!(titled(&next, SESSION, "a title"), None);
    assert_eq!(titled(&current, "other", "a title"), None);
    assert_eq!(sessions(&next.layout), BTreeSet::from([SESSION.to_owned()]));
}
