//! One invocation that every test starts from.

use std::fmt::Write as _;
use std::path::Path;

use creel_harness::{
    Cause, Environment, Invocation, Places, Prepared, Privilege, Shape, Start, Target,
};

pub(crate) const SESSION: &str = "3f0e7a52-8c1d-4a6b-9e2f-0c5d7b1a4e68";
pub(crate) const PARENT: &str = "b7c1d2e3-4f50-4617-8293-a4b5c6d7e8f9";
pub(crate) const NATIVE: &str = "11111111-2222-4333-8444-555555555555";
const RUN: &str = "01939b6e-7a00-7000-8000-000000000001";

/// Variables of a user's shell, some of which must not get through.
pub(crate) fn shell_environment() -> Vec<(String, String)> {
    [
        ("HOME", "/home/ada"),
        ("PATH", "/usr/bin:/bin"),
        ("LC_TIME", "C"),
        ("HTTPS_PROXY", "http://ada:pw@proxy:3128"),
        ("DATABASE_PASSWORD", "hunter2"),
        ("CLAUDECODE", "1"),
        ("ORBH_SESSION_ID", "somebody-else"),
        ("ANTHROPIC_API_KEY", "secret-anthropic"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
        ("OPENAI_API_KEY", "secret-openai"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:2/v1"),
        ("GEMINI_API_KEY", "secret-gemini"),
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:3"),
        ("COPILOT_PROVIDER_API_KEY", "secret-copilot"),
        ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:4/v1"),
        ("PI_OFFLINE", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

pub(crate) fn invocation<'a>(environment: &'a Environment, prompt: &'a str) -> Invocation<'a> {
    Invocation {
        shape: Shape::Headless,
        mode: creel_harness::Mode::Headless,
        cause: Cause::Launch,
        start: Start::Fresh { native_id: NATIVE },
        session_id: SESSION,
        run_id: RUN,
        prompt,
        operator_prompt: prompt,
        privilege: Privilege::User,
        environment,
        places: Places {
            program: Path::new("/opt/agents/bin/agent"),
            cwd: Path::new("/home/ada/pro ject"),
            run_dir: Path::new("/orb/run \"1\""),
            orb_root: Path::new("/orb"),
            shim_dir: Path::new("/orb/shims"),
            creel_exe: Path::new("/usr/bin/creel"),
        },
    }
}

pub(crate) fn environment(target: &Target) -> Environment {
    target.environment_from(shell_environment())
}

/// Everything of a plan but the middle of a long standard input.
pub(crate) fn render(prepared: &Prepared) -> String {
    let command = &prepared.command;
    let mut text = format!("program {}\n", command.program.display());
    let _ = writeln!(text, "cwd {}", command.cwd.display());
    for arg in &command.args {
        let _ = writeln!(text, "arg {arg}");
    }
    for (name, value) in &command.env {
        let _ = writeln!(text, "env {name}={value}");
    }
    for file in &command.files {
        let _ = writeln!(text, "file {}\n{}", file.path.display(), file.text.trim_end());
    }
    let lines: Vec<_> = command.stdin.lines().collect();
    match lines.as_slice() {
        [] => {}
        [only] => {
            let _ = writeln!(text, "stdin {only}");
        }
        [first, .., last] => {
            let _ = writeln!(text, "stdin {first}\n      …\n      {last}");
        }
    }
    let _ = writeln!(text, "{}", if prepared.is_fresh { "fresh" } else { "continued" });
    let certain = if prepared.is_native_id_certain { ", certain" } else { "" };
    if let Some(id) = &prepared.native_id {
        let _ = writeln!(text, "native id {id}{certain}");
    }
    text
}
