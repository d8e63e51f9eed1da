//! Which agent is started, and what it is given.

use crate::world::{World, ends, shelf};

#[test]
fn without_a_target_the_first_available_one_of_the_default_list_is_used() {
    let world = World::new();
    let refusal = world.refused(&["launch", "do it"], 5, "target-unavailable");
    assert!(refusal.contains("claude/o55h skipped: `claude` is not on the PATH"), "{refusal}");
    assert!(refusal.contains("codex/a6h skipped: `codex` is not on the PATH"), "{refusal}");
    assert_eq!(world.store_ids(), 0, "no session was made");

    world.program("codex", "cat > prompt; creel session return --finish ok");
    let output = world.run(&["request", "-q", "do", "it"]).success();
    assert!(output.stderr.contains("claude/o55h skipped"), "{output:?}");
    assert!(output.stderr.contains("Target: codex/a6h (default list)"), "{output:?}");
    assert_eq!(output.stdout, "ok");
    assert!(world.file("prompt").ends_with("do it"), "{}", world.file("prompt"));
}

#[test]
fn a_named_target_does_not_fall_back() {
    let world = World::new();
    world.program("codex", "creel session return --finish ok");
    let refusal = world.refused(&["launch", "claude", "do it"], 5, "target-unavailable");
    assert!(
        refusal.contains(
            "The target claude is not available: `claude` is not on the PATH. An explicit target \
             does not fall back."
        ),
        "{refusal}"
    );
    world.refused(&["launch", "sh/nothing", "true"], 5, "target-unavailable");
    assert_eq!(world.store_ids(), 0);
}

#[test]
fn a_mistake_in_the_users_catalog_names_its_place() {
    let world = World::new();
    world.configure("catalog.toml", "[harness.sh]\n\nprogramm = \"sh\"\n");
    let refusal = world.refused(&["launch", "sh", "true"], 5, "catalog-invalid");
    assert!(refusal.contains("catalog.toml:3:1"), "{refusal}");
}

#[test]
fn an_agent_gets_what_is_allowed_and_its_credentials_in_memory_only() {
    let world = World::new();
    world.configure(
        "catalog.toml",
        "[harness.sh]\ncredentials = [\"TOOL_KEY\"]\nenvironment = [\"TOOL_URL\"]\n",
    );
    let script = "env | grep -E '^(TOOL|OTHER)' | sort >> seen; cat > /dev/null";
    let id = world
        .call(&["launch", "sh", script])
        .env("TOOL_KEY", "s3cr3t")
        .env("TOOL_URL", "http://tool")
        .env("OTHER_SECRET", "hidden")
        .run()
        .success()
        .stdout;
    let id = id.trim().parse().expect("an id");
    world.until(id, |session| session.work_state().as_str() == "awaiting");
    let session = world.at_rest(id);
    assert_eq!(session.run_count, 3);
    let each = "TOOL_KEY=s3cr3t\nTOOL_URL=http://tool\n";
    assert_eq!(world.file("seen"), each.repeat(3), "re-prompts have them too");
    let kept = world.out(&["inspect", &id.to_string()]);
    assert!(kept.contains("TOOL_URL=http://tool") && kept.contains("TOOL_KEY"), "{kept}");
    let found = std::process::Command::new("grep")
        .args(["-rl", "s3cr3t"])
        .arg(world.env.home())
        .output()
        .expect("grep is there");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "no file holds the secret");

    let resume = ["resume", &id.to_string(), "creel session return ok"];
    let refusal = world.refused(&resume, 4, "credentials-missing");
    assert!(refusal.contains("TOOL_KEY"), "{refusal}");
    assert_eq!(world.session(id).run_count, 3);
    world.call(&resume).arg("--without-credentials").run().success();
    world.until(id, |session| session.result_count == 1);
    world.at_rest(id);

    // A file of the user's stands in where the environment has none.
    let file = world.env.home().join("keys");
    std::fs::write(&file, "TOOL_KEY=from-file\nTOOL_URL=ignored\n").expect("a file");
    let settings = format!("[credentials]\nenvironment-file = \"{}\"\n", file.display());
    world.configure("config.toml", &settings);
    let refusal = world.refused(&resume, 5, "settings-invalid");
    assert!(refusal.contains("others may not reach it"), "{refusal}");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("ours");
    world.out(&["resume", &id.to_string(), "creel session return \"$TOOL_KEY $TOOL_URL\""]);
    world.until(id, |session| session.result_count == 2);
    assert_eq!(world.out(&["result", &id.to_string()]), "from-file http://tool");
}

#[test]
fn raw_output_is_not_kept_where_nobody_wants_it() {
    let world = World::new();
    // The word is in the output alone, not in the recorded script.
    let script = "half=REMEM; echo ${half}BERED; creel session return ok";
    let loud = world.launch(script);
    let quiet = world.out(&["launch", "--no-output-log", "sh", script]);
    world.at_rest(loud);
    let quiet = quiet.parse().expect("an id");
    world.at_rest(quiet);
    let kept = |id| {
        let mut dirs = vec![world.store().session_dir(id)];
        let mut texts = std::fs::read(world.store().log_path(id)).expect("a log");
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    texts.extend(std::fs::read(path).expect("a file"));
                }
            }
        }
        String::from_utf8_lossy(&texts).matches("REMEMBERED").count()
    };
    // Once in the log of the output, once in the transcript.
    assert_eq!(kept(loud), 2);
    assert_eq!(kept(quiet), 0);
}

#[test]
fn a_process_that_cannot_be_started_is_recorded_and_not_tried_again() {
    let world = World::new();
    let tool = world.env.root().join("bin/tool");
    std::fs::write(&tool, "#!/nowhere/interpreter\n").expect("a file");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let entry = "[harness.tool]\nprogram = \"tool\"\nargs = []\nprompt = \"stdin\"\n";
    world.configure("catalog.toml", entry);
    let refusal = world.refused(&["launch", "tool", "do it"], 1, "spawn-failed");
    let ids = world.store().ids().expect("readable");
    let [id] = ids.as_slice() else { panic!("one session, not {ids:?}") };
    assert!(refusal.contains(&id.to_string()), "{refusal}");
    let session = world.at_rest(*id);
    assert_eq!(ends(&session), ["spawn-failed"]);
    assert_eq!(shelf(&session), ("awaiting", "error"));
}

#[test]
fn a_native_session_is_continued_and_started_over_only_when_asked_to() {
    let world = World::new();
    world.configure(
        "catalog.toml",
        "[harness.tool]\nprogram = \"tool\"\nprompt = \"stdin\"\nnative-id = \"discovered\"\n\
         native-id-rules = [{ pointer = \"/thread\" }]\n\
         args = [{ when = \"resume\", words = [\"--resume\", \"{nativeId}\"] }]\n",
    );
    // It tells its conversation's name only when it is asked to.
    world.program(
        "tool",
        "echo \"[$*]\" >> args; cat > prompt; if [ -e named ]; then echo '{\"thread\":\"t-1\"}'; fi; \
         creel session return --await ok",
    );
    let id = world.out(&["launch", "tool", "one"]);
    let session = id.parse().expect("an id");
    world.at_rest(session);
    let refusal = world.refused(&["resume", &id, "two"], 4, "no-native-id");
    assert!(refusal.contains("--fresh"), "{refusal}");
    assert_eq!(world.session(session).run_count, 1);
    std::fs::write(world.env.work_dir().join("named"), "").expect("a file");
    world.out(&["resume", "--fresh", &id, "two"]);
    world.until(session, |s| s.result_count == 2 && s.native_session_id.is_some());
    world.at_rest(session);
    world.out(&["resume", &id, "three"]);
    world.until(session, |s| s.result_count == 3);
    world.at_rest(session);
    assert_eq!(world.file("args"), "[]\n[]\n[--resume t-1]\n");
    world.refused(&["inspect", "t-1"], 3, "foreign-id");
}
