//! `creel mcp`, spoken to as a harness does: one JSON object a line, both ways.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use creel_record::SessionId;
use serde_json::{Value, json};

use crate::world::World;

/// A client of a server that was started as a harness starts it.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn new(world: &World, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_creel"))
            .arg("mcp")
            .env_clear()
            .envs(world.env.variables())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut client = Self { child, stdin, stdout, last: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = client.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "creel", "{answer}");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{message}").expect("the server reads");
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn read(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).expect("text"), 0, "the server is there");
            let message: Value = serde_json::from_str(&line).expect("one object a line");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.read(id)
    }

    /// Calls a tool; returns its text, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        assert!(text.is_some(), "{answer}");
        (text.unwrap_or_default().to_owned(), result["isError"] == true)
    }

    /// Closes the connection, upon which the server ends.
    fn close(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// A session whose agent waits, with what a harness hands to its servers.
fn session(world: &World) -> (SessionId, Vec<(String, String)>) {
    let script = "creel session set run \"$CREEL_RUN_ID\"; exec sleep 600";
    let id = world.launch(script);
    let run = world.until(id, |s| s.interface.contains_key("run")).interface["run"].clone();
    let variables = [
        ("ORBH_SESSION_ID", id.to_string()),
        ("ORBH_ORB_ROOT_DIR", world.env.store_root().display().to_string()),
        ("CREEL_RUN_ID", run),
    ];
    (id, variables.map(|(name, value)| (name.to_owned(), value)).into())
}

fn client(world: &World, variables: &[(String, String)]) -> Client {
    let variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    Client::new(world, &variables)
}

#[test]
fn the_tools_do_what_the_verbs_do() {
    let world = World::new();
    let (id, variables) = session(&world);
    let mut client = client(&world, &variables);
    let tools = client.ask("tools/list", &json!({}));
    let mut names: Vec<_> = tools["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["ask", "get", "note", "register", "return", "set"]);

    let fine = |answer: (String, bool)| assert!(!answer.1, "{}", answer.0);
    fine(client.call("register", &json!({ "title": "T", "description": "D" })));
    fine(client.call("set", &json!({ "key": "phase", "value": "one" })));
    fine(client.call("note", &json!({ "text": "seen" })));
    assert_eq!(client.call("get", &json!({ "key": "phase" })), ("one".to_owned(), false));
    let session = world.session(id);
    assert_eq!((session.title.as_deref(), session.note_count), (Some("T"), 1));

    let done = json!({ "result": "by tool", "disposition": "await" });
    fine(client.call("return", &done));
    fine(client.call("return", &done));
    let (refusal, is_error) = client.call("return", &json!({ "result": "other" }));
    assert!(is_error && refusal.contains("[already-returned]"), "{refusal}");
    assert!(refusal.contains("\nNext: "), "{refusal}");
    client.close();
    let session = world.at_rest(id);
    assert_eq!((session.work_state().as_str(), session.result_count), ("awaiting", 1));
    assert_eq!(world.out(&["result", &id.to_string()]), "by tool");
}

#[test]
fn what_a_rule_refuses_is_the_tools_error() {
    let world = World::new();
    let (id, variables) = session(&world);
    let mut client = client(&world, &variables);
    for (tool, arguments, word) in [
        ("set", json!({ "key": "core:wake-at", "value": "x" }), "reserved-key"),
        ("set", json!({ "key": "k".repeat(129), "value": "x" }), "too-long"),
        ("set", json!({ "key": "k", "value": "v".repeat(5000) }), "too-long"),
        ("get", json!({ "key": "nothing" }), "unknown-key"),
        ("note", json!({ "text": "" }), "empty"),
        ("ask", json!({ "question": " " }), "empty"),
        ("return", json!({ "result": "r".repeat(8 * 1024 * 1024 + 1) }), "too-long"),
    ] {
        let (refusal, is_error) = client.call(tool, &arguments);
        assert!(is_error && refusal.contains(&format!("[{word}]")), "{tool}: {refusal}");
    }
    for arguments in [json!({}), json!({ "result": 1 }), json!({ "result": "x", "shape": "y" })] {
        let answer = client.ask("tools/call", &json!({ "name": "return", "arguments": arguments }));
        let is_refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(is_refused, "{answer}");
    }
    client.close();
    assert_eq!(world.session(id).result_count, 0);
    world.run(&["kill", &id.to_string()]).success();
}

#[test]
fn an_answer_comes_back_to_the_tool_that_asked() {
    let world = World::new();
    let (id, variables) = session(&world);
    let mut client = client(&world, &variables);
    let question = json!({ "question": "which one?" });
    let asked = client.send("tools/call", &json!({ "name": "ask", "arguments": question }));
    world.until(id, |session| session.work_state().as_str() == "needs-input");
    // The server answers others meanwhile.
    assert!(!client.call("get", &json!({ "key": "run" })).1);
    world.run(&["respond", &id.to_string(), "the left one"]).success();
    assert_eq!(client.read(asked)["result"]["content"][0]["text"], "the left one");
    world.until(id, |session| session.questions.is_empty());
    client.close();
    world.run(&["kill", &id.to_string()]).success();
}

#[test]
fn an_answer_to_a_cancelled_call_is_left_for_a_wake() {
    let world = World::new();
    let (id, variables) = session(&world);
    let mut client = client(&world, &variables);
    let question = json!({ "question": "which one?" });
    let asked = client.send("tools/call", &json!({ "name": "ask", "arguments": question }));
    world.until(id, |session| session.work_state().as_str() == "needs-input");
    let cancelled = json!({ "requestId": asked, "reason": "too slow" });
    client.say(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled,
    }));
    // Answered after the cancellation, so that it was heard.
    client.call("get", &json!({ "key": "run" }));
    world.run(&["respond", &id.to_string(), "too late"]).success();
    client.call("get", &json!({ "key": "run" }));
    client.close();
    let session = world.session(id);
    assert_eq!(session.questions.len(), 1, "nobody took the answer");
    assert!(session.questions[0].answer.is_some());
    world.run(&["kill", &id.to_string()]).success();
}

#[test]
fn a_question_stays_open_when_its_time_is_up() {
    let world = World::new();
    let (id, variables) = session(&world);
    let mut client = client(&world, &variables);
    let question = json!({ "question": "which one?", "timeout_seconds": 0 });
    let (refusal, is_error) = client.call("ask", &question);
    assert!(is_error && refusal.contains("[still-pending]"), "{refusal}");
    assert_eq!(world.session(id).work_state().as_str(), "needs-input");
    client.close();
    world.run(&["kill", &id.to_string()]).success();
}

#[test]
fn without_a_session_there_is_no_server() {
    let world = World::new();
    world.refused(&["mcp"], 2, "no-session");
}
