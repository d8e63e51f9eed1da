//! The person's own terminal is as it was, however a viewer ends.

use creel_sys::process::Signal;

use crate::scene::Scene;

/// Everything that a program may turn on.
const MODES: &str = "printf '\\033[?1049h\\033[?1h\\033=\\033[?1000h\\033[?1003h\\033[?1006h\\033[?1004h\\033[?2004h\\033[?25l\\033[>7u\\033[4 q\\033[3;9r\\033[?6h\\033[1;41min-alternate'; sleep 1000";

enum How {
    Key,
    KittyKey,
    Signal(Signal),
    DetachVerb,
    EndOfRun,
}

/// Attaches to a program that turned everything on, ends the viewing, and compares.
fn check(how: &How, exit_code: Option<i32>) {
    let scene = Scene::new();
    let id = scene.start(MODES);
    scene.wait_for(id, "in-alternate");
    let shell = format!("creel attach {id}; echo left-$?");
    let mut viewing = scene.env.call_of("sh", &["-c", &shell]).on_terminal(80, 24);
    let before = viewing.line_settings();
    viewing.wait_for("in-alternate");
    assert!(viewing.screen().is_alternate());
    assert_ne!(viewing.line_settings(), before, "raw");
    match how {
        How::Key => viewing.type_in("\x1c"),
        How::KittyKey => viewing.type_in("\x1b[92;5u"),
        How::Signal(signal) => {
            let pid = scene.terminal(id).viewers[0].pid;
            let viewer = creel_sys::process::ProcessIdentity::of(pid).expect("/proc");
            viewer.expect("it lives").signal(*signal).expect("it can be signalled");
        }
        How::DetachVerb => drop(scene.out(&["detach", &id.to_string()])),
        How::EndOfRun => drop(scene.out(&["kill", &id.to_string()])),
    }
    viewing.wait_for("left-");
    if let Some(code) = exit_code {
        assert!(viewing.text().contains(&format!("left-{code}")), "{}", viewing.text());
    }
    viewing.ended();
    assert_eq!(viewing.line_settings(), before);
    let screen = viewing.screen();
    assert!(!screen.is_alternate());
    assert_eq!(screen.keyboard_flags(), 0);
    let state = screen.state();
    let fresh = scene.env.call_of("true", &[]).on_terminal(80, 24).screen().state();
    assert_eq!(state.modes, fresh.modes);
    assert_eq!(state.margins, fresh.margins);
    assert_eq!(state.keyboard, fresh.keyboard);
}

#[test]
fn the_detach_key_leaves_nothing_behind() {
    check(&How::Key, Some(0));
    check(&How::KittyKey, Some(0));
}

#[test]
fn signals_leave_nothing_behind() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        check(&How::Signal(signal), None);
    }
}

#[test]
fn the_detach_verb_and_the_end_of_the_run_leave_nothing_behind() {
    check(&How::DetachVerb, Some(0));
    check(&How::EndOfRun, Some(0));
}

#[test]
fn a_terminal_that_hangs_up_detaches_and_ends_nothing() {
    let scene = Scene::new();
    let id = scene.start("echo ready");
    let mut viewing = scene.attach(id, (80, 24));
    viewing.wait_for("ready");
    viewing.hang_up();
    let mut again = scene.attach(id, (80, 24));
    again.wait_for("ready");
    assert_eq!(scene.terminal(id).viewers.len(), 1);
}
