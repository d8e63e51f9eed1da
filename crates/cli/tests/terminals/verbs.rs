//! Terminals without showing them.

use crate::scene::Scene;

#[test]
fn what_is_sent_is_acknowledged_as_far_as_it_came() {
    let scene = Scene::new();
    let id = scene.start("echo ready").to_string();
    for stage in ["accepted", "written", "echoed"] {
        let sent = scene.out(&[
            "terminal",
            "send",
            &id,
            "echo a-long-enough-text",
            "--enter",
            "--until",
            stage,
            "--json",
        ]);
        assert!(sent.contains("\"isDone\":true"), "{stage}: {sent}");
    }
    // An agent that reads nothing takes what the terminal holds, and its screen shows no echo.
    let deaf = scene.start("stty -echo; echo deaf; exec sleep 1000");
    scene.wait_for(deaf, "deaf");
    let deaf = deaf.to_string();
    let refusal = scene.refused(
        &["terminal", "send", &deaf, "never shown", "--until", "echoed", "--timeout", "1"],
        7,
        "still-pending",
    );
    assert!(refusal.stderr.contains("written, not echoed"), "{refusal:?}");
}

#[test]
fn an_agent_that_does_not_read_blocks_neither_keeper_nor_other_terminals() {
    let scene = Scene::new();
    let id = scene.start("stty raw -echo; echo deaf; exec sleep 1000");
    scene.wait_for(id, "deaf");
    let text = "x".repeat(300_000);
    let file = scene.env.work_dir().join("text");
    std::fs::write(&file, text).expect("it can be written");
    let file = file.display().to_string();
    let session = id.to_string();
    scene.refused(
        &["terminal", "send", &session, "--file", &file, "--timeout", "2"],
        7,
        "still-pending",
    );
    assert!(scene.screen(id).contains("deaf"));
    let status = scene.terminal(id);
    assert!(status.waiting_input_bytes <= 256 * 1024, "{status:?}");
}

#[test]
fn a_screen_is_read_searched_and_exported_also_after_its_end() {
    let scene = Scene::new();
    let id = scene.start("seq 1 100; printf '\\033[31mred\\033[0m text\\n'; exit 5");
    let run = scene.ended(id);
    assert_eq!(run.exit_code, Some(5));
    let id = id.to_string();
    let screen = scene.out(&["terminal", "read", &id]);
    assert!(screen.ends_with("99\n100\nred text"), "{screen}");
    let all = scene.out(&["terminal", "read", &id, "--history", "1000"]);
    assert!(all.starts_with("1\n2\n3\n"), "{all}");
    let ansi = scene.out(&["terminal", "read", &id, "--ansi"]);
    assert!(ansi.contains("31mred\x1b[0m text"), "{ansi:?}");
    let found = scene.out(&["terminal", "search", &id, "-E", "^9[89]$"]);
    assert_eq!(found.lines().count(), 2, "{found}");
    let nothing = scene.call(&["terminal", "search", &id, "no such text"]).run();
    assert_eq!(nothing.code, 3);
    let cast = scene.out(&["terminal", "export", &id]);
    let lines: Vec<&str> = cast.lines().collect();
    let header: serde_json::Value = serde_json::from_str(lines[0]).expect("a header");
    assert_eq!(header["version"], 3);
    assert_eq!(header["term"]["cols"], 80);
    let text: String = lines[1..]
        .iter()
        .map(|line| serde_json::from_str::<(f64, String, String)>(line).expect("an event"))
        .filter(|(_, kind, _)| kind == "o")
        .map(|(_, _, text)| text)
        .collect();
    assert!(text.starts_with("1\r\n2\r\n") && text.contains("100\r\n"), "{text}");
    assert!(lines.last().expect("a line").contains("\"x\""), "{cast}");
}

#[test]
fn live_terminals_are_listed() {
    let scene = Scene::new();
    assert_eq!(scene.out(&["terminal", "list"]), "");
    let id = scene.start("printf '\\033]0;my title\\007'; echo up");
    scene.wait_for(id, "up");
    let list = scene.out(&["terminal", "list"]);
    assert!(list.contains(&id.to_string()) && list.contains("my title"), "{list}");
    let json = scene.out(&["terminal", "list", "--json"]);
    assert!(json.contains("\"size\":{\"columns\":80,\"lines\":24}"), "{json}");
}
