//! Agents in a real sandbox, out of reach of the store: their result gets out through `creel mcp`,
//! which their program starts outside, or through a directory.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use serde::Deserialize;

use crate::agent::{Agent, Channel};
use crate::scene::{Ending, Scene};
use crate::server::Server;
use crate::shelf::{Equipment, Shelf, ignored, runs, trial as trial_of};

/// An agent in miniature.
const BOXED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/boxed.py");

/// What a command in a sandbox is told when it tries to return, and the tools that are outside.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
    tools: Vec<String>,
}

/// Returns the trials.
pub(crate) fn trials(shelf: &Shelf, server: &Result<Arc<Server>, String>) -> Vec<Trial> {
    let codex = Agent::named("codex");
    let sandbox = sandbox();
    let lab = shelf.lab(codex, server).and_then(|lab| sandbox.clone().map(|()| lab));
    let with_sandbox =
        |name: &str, needs: Result<String, String>, run: fn(&str)| match sandbox.clone().and(needs)
        {
            Ok(needed) => Trial::test(name, move || {
                run(&needed);
                Ok(())
            }),
            Err(why) => ignored(name.to_owned(), why),
        };
    vec![
        with_sandbox("a_sandboxed_agent_returns_by_mcp", python(), check_boxed),
        with_sandbox("a_caged_agent_returns_by_its_directory", Ok(String::new()), |_| {
            check_caged();
        }),
        trial_of("codex_in_its_sandbox_returns_by_mcp_alone".to_owned(), &lab, |equipment| {
            check_codex(codex, equipment);
        }),
    ]
}

/// Says why there is no sandbox.
fn sandbox() -> Result<(), String> {
    let works = runs("bwrap", &["--ro-bind", "/", "/", "--unshare-net", "true"]);
    works.then_some(()).ok_or_else(|| "no bwrap".to_owned())
}

/// Returns the interpreter itself, which is found without a PATH.
fn python() -> Result<String, String> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.map_err(|_| "no python3".to_owned())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn check_boxed(python: &str) {
    let scene = Scene::bare();
    scene.set_catalog(&format!(
        "[harness.boxed]\nprogram = {python:?}\nprompt = \"stdin\"\nchannels = [\"mcp\"]\n\
         args = [{BOXED:?}]\n"
    ));
    let output = scene.request("boxed", "work");
    let id = scene.only_session();
    assert_eq!(output.code, 0, "{}", scene.story(&id));
    let said: Said = serde_json::from_str(&output.stdout).expect("it is the agent's report");
    let tools = ["ask", "get", "note", "register", "return", "set"].map(str::to_owned).into();
    let refusal = refusal(&said.stderr);
    assert_eq!(said, Said { code: 5, stdout: String::new(), stderr: refusal, tools });
    scene.until_ended(&id, 1);
    let finished = Ending::finished(&["returned"], &output.stdout);
    assert_eq!(scene.ending(&id), Ending { is_identified: false, ..finished });
}

fn check_codex(agent: &Agent, equipment: &Equipment) {
    let scene = Scene::of(agent, equipment);
    let inside = "creel session return --finish inside > said 2>&1; echo $? > code";
    let prompt = format!("[[run {inside}]]{}", agent.finish(Channel::Mcp, "outside"));
    let output = scene.request(agent.name, &prompt);
    let id = scene.only_session();
    let story = scene.story(&id);
    assert_eq!((output.code, output.stdout.as_str()), (0, "outside"), "{story}");
    let read = |name| fs::read_to_string(scene.work_dir().join(name)).expect("the command ran");
    let said = read("said");
    assert_eq!((read("code").as_str(), &said), ("5\n", &refusal(&said)), "{story}");
    scene.until_ended(&id, 1);
    assert_eq!(scene.ending(&id), Ending::finished(&["returned"], "outside"), "{story}");
}

/// The whole agent is inside: only the directory to return into is let through.
fn check_caged() {
    let scene = Scene::bare();
    scene.set_catalog(
        r#"[harness.caged]
           program = "bwrap"
           prompt = "script"
           channels = ["dir"]
           args = ["--ro-bind", "/", "/", "--bind", "{returnDir}", "{returnDir}", "--dev", "/dev",
                   "--proc", "/proc", "--unshare-net", "--unshare-pid", "--die-with-parent",
                   "sh", "{promptFile}"]"#,
    );
    let script = "creel session return --finish inside 2> \"$CREEL_RETURN_DIR/said\"\n\
                  mv \"$CREEL_RETURN_DIR/said\" \"$CREEL_RETURN_DIR/finish\"";
    let output = scene.request("caged", script);
    let id = scene.only_session();
    let said = output.stdout.as_str();
    assert_eq!((output.code, said), (0, refusal(said).as_str()), "{}", scene.story(&id));
    scene.until_ended(&id, 1);
    let finished = Ending::finished(&["returned"], said);
    assert_eq!(scene.ending(&id), Ending { is_identified: false, ..finished });
}

/// Returns `said` when it is what a shell inside has to be told: that nothing was done, why, and
/// what to do next; else what is missing from it.
fn refusal(said: &str) -> String {
    let parts = ["nothing was changed", "Read-only file system", "[read-only-store]\nNext: "];
    let missing: Vec<_> = parts.iter().filter(|part| !said.contains(**part)).collect();
    if missing.is_empty() { said.to_owned() } else { format!("without {missing:?}") }
}
