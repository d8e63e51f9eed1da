//! The texts that agents are given.

use creel_harness::{
    Catalog, Cause, Channel, Shape, Start, Target, WakeNote, interrupt_text, wake_text,
};

use crate::fixture::{NATIVE, PARENT, SESSION, environment, invocation};

fn by(channel: Channel) -> Target {
    Catalog::builtin().target("codex").and_then(|t| t.with_channel(channel)).expect("built in")
}

fn check(name: &str, text: &str) {
    assert!(!text.contains("[["), "{name} holds what a scripted model takes for a directive");
    insta::assert_snapshot!(name, text);
}

#[test]
fn each_shape_has_its_contract() {
    let shapes = [
        ("peer", Shape::Peer),
        ("headless", Shape::Headless),
        ("subagent", Shape::Subagent { parent_id: PARENT }),
    ];
    for (shape_name, shape) in shapes {
        for channel in [Channel::Shell, Channel::Mcp, Channel::Dir] {
            let target = by(channel);
            let environment = environment(&target);
            let mut run = invocation(&environment, "THE PROMPT");
            run.shape = shape;
            let stdin = target.plan(&run).expect("plans").command.stdin;
            check(&format!("contract_{shape_name}_{channel}"), &stdin);
        }
    }
}

#[test]
fn a_continued_agent_gets_a_reminder() {
    let target = by(Channel::Shell);
    let environment = environment(&target);
    let mut run = invocation(&environment, "THE PROMPT");
    run.cause = Cause::Resume;
    run.start = Start::Continue { native_id: Some(NATIVE) };
    check("reminder", &target.plan(&run).expect("plans").command.stdin);
}

#[test]
fn reprompts_say_how_to_return_and_the_last_one_what_follows() {
    for channel in [Channel::Shell, Channel::Mcp, Channel::Dir] {
        for attempt in [1, 2] {
            let text = by(channel).reprompt_text(SESSION, attempt);
            check(&format!("reprompt_{channel}_{attempt}"), &text);
        }
    }
}

#[test]
fn wakes_and_interrupts_say_what_happened() {
    let notes = [
        WakeNote { what: "answer", from: "operator", text: "yes,\nboth" },
        WakeNote { what: "result", from: PARENT, text: "42" },
    ];
    check("wake", &wake_text(SESSION, &notes));
    check("interrupt", &interrupt_text(SESSION, "operator", "use the other branch"));
}
