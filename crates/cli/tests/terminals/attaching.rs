//! What a viewer sees.

use crate::scene::Scene;

/// A screen with colours, a margin, a title and a cursor somewhere.
const PICTURE: &str = "printf '\\033]0;a title\\007\\033[2J\\033[3;5H\\033[1;31mred\\033[0m \\346\\274\\242\\033[5;10r\\033[?2004h\\033[7;7Hhere'; sleep 1000";

#[test]
fn a_viewer_sees_what_was_drawn_before_it_came() {
    let scene = Scene::new();
    let id = scene.start(PICTURE);
    scene.wait_for(id, "here");
    let mut first = scene.attach(id, (80, 24));
    first.wait_for("here");
    let state = first.screen().state();
    assert_eq!(state.title, "a title");
    assert_eq!((state.cursor.row, state.cursor.column), (6, 10));
    let mut second = scene.attach(id, (80, 24));
    second.wait_for("here");
    assert_eq!(second.screen().state().difference(&state), "");
}

#[test]
fn what_is_typed_reaches_the_agent_and_its_answer_every_viewer() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let mut typing = scene.attach(id, (80, 24));
    let mut looking = scene.attach(id, (80, 24));
    typing.wait_for("ready");
    looking.wait_for("ready");
    typing.type_in("echo $((6 * 7))-it\r");
    typing.wait_for("42-it");
    looking.wait_for("42-it");
    looking.type_in("echo $((6 * 8))-too\r");
    typing.wait_for("48-too");
}

#[test]
fn a_session_is_shown_where_it_was_started_and_goes_on_when_left() {
    let scene = Scene::new();
    let mut viewing = scene.call(&["i", "sh", "echo hello"]).on_terminal(90, 30);
    viewing.wait_for("hello");
    viewing.type_in("stty size\r");
    viewing.wait_for("30 90");
    viewing.type_in("\x1c");
    assert!(viewing.ended().is_success());
    assert!(viewing.text().contains("Detached (as asked); the session runs on."));
    let id = scene.out(&["list", "--json"]);
    assert!(id.contains("interactive"), "{id}");
    let mut again = scene.call(&["attach"]).on_terminal(90, 30);
    again.wait_for("hello");
}

#[test]
fn a_plain_shell_is_hosted_like_any_agent() {
    let scene = Scene::new();
    let mut viewing = scene.call(&["shell", "--title", "mine"]).on_terminal(80, 24);
    viewing.wait_for("#");
    viewing.type_in("echo $TERM $COLORTERM $TERM_PROGRAM ${NO_COLOR-none}\r");
    viewing.wait_for("xterm-256color truecolor creel none");
    viewing.type_in("exit 3\r");
    assert!(viewing.ended().is_success());
    assert!(viewing.text().contains("The run ended (exit code 3)."), "{}", viewing.text());
}

#[test]
fn questions_of_the_agent_are_answered_once_and_never_by_a_viewer() {
    let scene = Scene::new();
    let script = "stty raw -echo; printf '\\033[6n'; head -c 6 | od -c; printf '\\033[c'; sleep 1; head -c 3 | od -c; stty sane; echo; echo done";
    let id = scene.start(script);
    let mut viewing = scene.attach(id, (80, 24));
    viewing.wait_for("done");
    let shown = String::from_utf8_lossy(viewing.bytes()).into_owned();
    assert!(!shown.contains("\x1b[6n") && !shown.contains("\x1b[c"), "{shown:?}");
}

#[test]
fn a_read_only_viewer_changes_nothing() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let mut looking = scene.call(&["attach", "--readonly", &id.to_string()]).on_terminal(80, 24);
    looking.wait_for("ready");
    looking.type_in("echo no-$((1 + 1))\r");
    let mut typing = scene.attach(id, (80, 24));
    typing.wait_for("ready");
    typing.type_in("echo yes-$((1 + 1))\r");
    looking.wait_for("yes-2");
    assert!(!looking.text().contains("no-"));
    looking.resize(50, 10);
    assert_eq!(scene.terminal(id).size.columns, 80);
}
