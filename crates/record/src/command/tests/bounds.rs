//! Every bound, at it and one past it.

use std::collections::BTreeMap;

use super::check;
use crate::caps::Caps;
use crate::command::returning::{Return, return_turn};
use crate::command::start::{Start, Wake, open_turn, start, wake};
use crate::command::{create, dispatch, end, keep, question};
use crate::event::fact::{FollowUp, LaunchKey, SessionCreated};
use crate::ids::{RequestId, TurnId};
use crate::limits::{
    MAX_DESCRIPTION_BYTES, MAX_DETAIL_BYTES, MAX_DISPATCHES, MAX_ENVIRONMENT_BYTES,
    MAX_INTERFACE_BYTES, MAX_KEY_BYTES, MAX_LAUNCH_KEY_BYTES, MAX_MACHINE_ID_BYTES, MAX_NAME_BYTES,
    MAX_OPEN_QUESTIONS, MAX_PATH_BYTES, MAX_PAYLOAD_BYTES, MAX_SLICE_DEPTH, MAX_SLICES_BYTES,
    MAX_TITLE_BYTES, MAX_VALUE_BYTES, encoded_len, truncated,
};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::story::Do::{Await, Claim, Defer, Exit, Message, Owed, Set};
use crate::story::{Story, created, run_id, session_id};
use crate::words::{Cause, Disposition, EndReason, Mode};

/// Takes a text at the bound and refuses one a byte longer.
fn bounded<T>(what: &str, max_bytes: usize, command: impl Fn(&str) -> Result<T, Refusal>) {
    check(what, command(&"x".repeat(max_bytes)), "taken");
    check(what, command(&"x".repeat(max_bytes + 1)), "too-long");
    // A letter of two bytes counts as two.
    check(what, command(&"ä".repeat(max_bytes / 2 + 1)), "too-long");
}

fn live() -> Session {
    Story::after(Mode::Headless, &[Owed]).session
}

fn request_id() -> RequestId {
    RequestId::from_uuid(uuid::Uuid::from_u128(4))
}

fn turn_id() -> TurnId {
    TurnId::from_uuid(uuid::Uuid::from_u128(4))
}

#[test]
fn payloads_are_bounded() {
    let max = MAX_PAYLOAD_BYTES;
    let session = live();
    bounded("return", max, |text| {
        let (run_id, disposition, payload) = (None, Disposition::Finish, text);
        return_turn(&session, &Return { run_id, disposition, payload })
    });
    bounded("ask", max, |text| question::ask(&session, None, request_id(), text));
    bounded("defer", max, |text| question::defer(&session, request_id(), text));
    bounded("note", max, keep::note);
    bounded("prompt", max, create::prompt);
    bounded("end result", max, |text| {
        let (reason, result) = (EndReason::Ended, Some(text.to_owned()));
        end::request_end(&session, &end::AskedEnd { reason, result, follow_up: None })
    });
    bounded("interrupt prompt", max, |text| {
        let next = FollowUp { run_id: run_id(5), turn_id: turn_id(), prompt: text.to_owned() };
        let (reason, follow_up) = (EndReason::Interrupted, Some(next));
        end::request_end(&session, &end::AskedEnd { reason, result: None, follow_up })
    });
    let asking = Story::after(Mode::Headless, &[Owed, Defer]).session;
    bounded("answer", max, |text| question::answer(&asking, None, text));
    let returned = Story::after(Mode::Headless, &[Owed, Await("r")]).session;
    bounded("further turn", max, |text| open_turn(&returned, turn_id(), text));
    let woken = Story::after(Mode::Headless, &[Owed, Await("r"), Exit(0), Message]);
    bounded("digest", max, |text| {
        let digest = Wake {
            run_id: run_id(5),
            turn_id: turn_id(),
            prompt: text.to_owned(),
            through_sequence: Some(5),
            request_ids: Vec::new(),
        };
        wake(&woken.session, digest, woken.now())
    });
}

#[test]
fn a_launch_is_bounded() {
    type Fill = fn(&mut SessionCreated, String);
    let fills: [(&str, usize, Fill); 9] = [
        ("runtime", MAX_NAME_BYTES, |c, text| c.runtime = text),
        ("profile", MAX_NAME_BYTES, |c, text| c.profile = Some(text)),
        ("account", MAX_NAME_BYTES, |c, text| c.account = Some(text)),
        ("prompt", MAX_PAYLOAD_BYTES, |c, text| c.prompt = text),
        ("cwd", MAX_PATH_BYTES, |c, text| c.cwd = text),
        ("title", MAX_TITLE_BYTES, |c, text| c.title = Some(text)),
        ("description", MAX_DESCRIPTION_BYTES, |c, text| c.description = Some(text)),
        ("key", MAX_LAUNCH_KEY_BYTES, |c, text| {
            c.key = Some(LaunchKey { key: text, arguments_hash: "0".to_owned() });
        }),
        ("environment", MAX_ENVIRONMENT_BYTES - 7, |c, text| {
            c.environment = BTreeMap::from([("P".to_owned(), text)]);
        }),
    ];
    for (what, max_bytes, fill) in fills {
        bounded(what, max_bytes, |text| {
            let mut launch = created(Mode::Headless);
            fill(&mut launch, text.to_owned());
            create::check(&launch)
        });
    }
}

#[test]
fn a_refused_environment_names_its_largest_variable() {
    let mut launch = created(Mode::Headless);
    let path = ("PATH".to_owned(), "x".repeat(MAX_ENVIRONMENT_BYTES - 10));
    launch.environment = BTreeMap::from([path, ("LANG".to_owned(), "C".to_owned())]);
    let expected =
        "kept environment has 131083 bytes, 131072 of them in PATH; at most 131072 are taken";
    assert_eq!(create::check(&launch).unwrap_err().to_string(), expected);
    launch.environment.remove("LANG");
    create::check(&launch).unwrap();
}

#[test]
fn kept_things_are_bounded() {
    let session = live();
    bounded("title", MAX_TITLE_BYTES, |text| keep::register(&session, text, ""));
    bounded("description", MAX_DESCRIPTION_BYTES, |text| keep::register(&session, "t", text));
    bounded("key", MAX_KEY_BYTES, |text| keep::set(&session, text, "v"));
    bounded("value", MAX_VALUE_BYTES, |text| keep::set(&session, "k", text));
    bounded("artifact", MAX_PATH_BYTES, keep::artifact);
    bounded("slice", MAX_SLICES_BYTES - "core:x".len() - 8, |text| {
        keep::set_slice(&session, "core:x", text.into())
    });
    // A key is counted as it is, whatever it takes inside JSON.
    check("key of quotes", keep::set(&session, &"\"".repeat(MAX_KEY_BYTES), "v"), "taken");
}

#[test]
fn all_keys_together_are_bounded_as_they_are_encoded() {
    let full = "x".repeat(MAX_VALUE_BYTES);
    let mut story = Story::after(Mode::Headless, &[Owed, Set("z", "")]);
    let full: &'static str = full.leak();
    for key in ["a", "b", "c", "d", "e", "f", "g"] {
        story.takes(&[Set(key, full)]);
    }
    let used: usize = story
        .session
        .interface
        .iter()
        .map(|(key, value)| encoded_len(key) + encoded_len(value) + 6)
        .sum();
    let left = MAX_INTERFACE_BYTES - used - "h".len() - 6;
    bounded("all keys", left, |text| keep::set(&story.session, "h", text));
    check("as encoded", keep::set(&story.session, "h", &"\n".repeat(left)), "too-long");
    check("replacing", keep::set(&story.session, "a", &"y".repeat(MAX_VALUE_BYTES)), "taken");
}

#[test]
fn a_slice_is_bounded_in_depth() {
    let session = live();
    let nested = |depth: usize| {
        (0..depth).fold(serde_json::Value::Null, |value, _| serde_json::Value::Array(vec![value]))
    };
    check("at", keep::set_slice(&session, "core:x", nested(MAX_SLICE_DEPTH)), "taken");
    check("past", keep::set_slice(&session, "core:x", nested(MAX_SLICE_DEPTH + 1)), "too-many");
}

#[test]
fn the_names_of_a_run_are_bounded() {
    let session = Story::new(Mode::Headless).session;
    let begin = |machine: &str, boot: &str| {
        start(
            &session,
            Start {
                run_id: run_id(1),
                turn_id: turn_id(),
                cause: Cause::Launch,
                prompt: None,
                machine_id: machine.to_owned(),
                boot_id: boot.to_owned(),
            },
        )
    };
    bounded("machine", MAX_MACHINE_ID_BYTES, |text| begin(text, "b"));
    bounded("boot", MAX_MACHINE_ID_BYTES, |text| begin("m", text));
}

#[test]
fn open_questions_are_bounded() {
    let mut story = Story::after(Mode::Headless, &[Owed]);
    for _ in 0..MAX_OPEN_QUESTIONS {
        story.takes(&[Defer]);
    }
    check("defer", story.take(&Defer), "too-many");
    check("ask", story.take(&crate::story::Do::Ask), "too-many");
}

#[test]
fn a_tree_is_bounded_in_depth_and_width_before_any_child_exists() {
    let caps = Caps::default();
    assert_eq!((caps.max_depth, caps.max_fanout), (5, 16));
    let mut parent = live();
    for (depth, expected) in [(0, "taken"), (4, "taken"), (5, "too-deep"), (u32::MAX, "too-deep")] {
        parent.depth = depth;
        let claimed = dispatch::claim(&parent, session_id(2), run_id(2), ("sh", caps));
        check("depth", claimed, expected);
    }
    let mut story = Story::after(Mode::Headless, &[Owed]);
    for n in 0..16 {
        story.takes(&[Claim(100 + n)]);
    }
    check("seventeenth", story.take(&Claim(200)), "too-wide");
    story.takes(&[crate::story::Do::Settle(100, crate::words::Outcome::Result), Claim(200)]);
    let wide = Caps::with_overrides(Some(9), Some(usize::MAX));
    assert_eq!(wide, Caps { max_depth: 9, max_fanout: MAX_DISPATCHES });
    bounded("target", 2 * MAX_NAME_BYTES + 1, |text| {
        dispatch::claim(&live(), session_id(2), run_id(2), (text, caps))
    });
}

#[test]
fn a_detail_is_cut_at_a_character() {
    assert_eq!(truncated("äöü", 3), "ä");
    assert_eq!(truncated("a\u{1}b", 6), "a");
    assert_eq!(truncated("a\u{1}b", 8), "a\u{1}b");
    let session = live();
    let detail = Some("\u{1}".repeat(MAX_DETAIL_BYTES));
    let exit = end::Exit { detail, ..end::Exit::default() };
    let ended = end::record_end(&session, run_id(1), exit).unwrap();
    assert_eq!(ended.detail, Some("\u{1}".repeat(MAX_DETAIL_BYTES / 6)));
}
