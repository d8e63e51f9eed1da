//! The size policy, as the agent sees it.

use crate::scene::Scene;

#[test]
fn the_size_is_that_of_the_viewer_that_acted_last() {
    let scene = Scene::new();
    let id = scene.start(
        "trap 'echo size-$(stty size | tr \" \" x)' WINCH; echo ready; while :; do sleep 0.1; done",
    );
    let mut first = scene.attach(id, (100, 30));
    first.wait_for("size-30x100");
    let mut second = scene.attach(id, (60, 20));
    second.wait_for("size-20x60");
    assert_eq!(scene.terminal(id).size_from, "viewer 2");
    first.type_in(" ");
    first.wait("the first decides", |viewing| viewing.text().matches("size-30x100").count() == 2);
    second.resize(70, 22);
    second.wait_for("size-22x70");
    second.type_in("\x1c");
    second.ended();
    first.wait("the first decides again", |viewing| {
        viewing.text().matches("size-30x100").count() == 3
    });
    assert_eq!(scene.terminal(id).size.columns, 100);
}

#[test]
fn a_size_by_request_holds_until_a_viewer_acts() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    scene.out(&["terminal", "resize", &id.to_string(), "44x11"]);
    assert_eq!(scene.terminal(id).size_from, "request");
    scene.out(&["terminal", "send", &id.to_string(), "stty size", "-e", "--until", "echoed"]);
    scene.wait_for(id, "11 44");
    let mut viewing = scene.attach(id, (90, 25));
    viewing.type_in("stty size\r");
    viewing.wait_for("25 90");
}
