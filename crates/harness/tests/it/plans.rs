//! The command line, environment, input and files of each harness.

use std::fmt::Write as _;

use creel_api::plan::TerminalSize;
use creel_harness::{Catalog, Cause, Channel, Mode, Privilege, Start, Target};

use crate::fixture::{NATIVE, environment, invocation, render};

const RUNTIMES: [&str; 8] =
    ["claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen", "sh"];
const PROMPT: &str = "do the thing";

fn channels_of(target: &Target) -> Vec<Target> {
    [Channel::Shell, Channel::Mcp, Channel::Dir]
        .into_iter()
        .filter_map(|channel| target.clone().with_channel(channel).ok())
        .collect()
}

fn every_plan(target: &Target) -> String {
    let mut text = String::new();
    for target in channels_of(target) {
        for (privilege, who) in [(Privilege::User, "user"), (Privilege::Root, "root")] {
            for (cause, start) in [
                (Cause::Launch, Start::Fresh { native_id: NATIVE }),
                (Cause::Resume, Start::Continue { native_id: Some(NATIVE) }),
            ] {
                let environment = environment(&target);
                let mut run = invocation(&environment, PROMPT);
                run.privilege = privilege;
                run.cause = cause;
                run.start = start;
                let plan = target.plan(&run).expect("the fixture has every value");
                let heading = format!("{} by {}, {who}", cause.as_str(), target.channel());
                let _ = writeln!(text, "## {heading}\n{}", render(&plan));
            }
        }
    }
    text
}

#[test]
fn every_harness_is_started_and_resumed_as_recorded() {
    for name in RUNTIMES {
        let target = Catalog::builtin().target(name).expect("built in");
        insta::assert_snapshot!(format!("plan_{name}"), every_plan(&target));
    }
}

/// The plans of a person's sessions: begun with and without a prompt, and gone on with.
fn every_terminal(target: &Target) -> String {
    let mut text = String::new();
    let size = TerminalSize { columns: 100, lines: 30 };
    for (prompt, start) in [
        (PROMPT, Start::Fresh { native_id: NATIVE }),
        ("", Start::Fresh { native_id: NATIVE }),
        ("", Start::Continue { native_id: Some(NATIVE) }),
    ] {
        let environment = environment(target);
        let mut run = invocation(&environment, prompt);
        run.mode = Mode::Interactive { size };
        run.start = start;
        let plan = target.plan(&run).expect("the fixture has every value");
        let args = plan.command.args.iter().map(|arg| format!("arg {arg}\n"));
        let files = plan.command.files.iter().map(|file| format!("file {}\n", file.path.display()));
        let shown: String = args.chain(files).collect();
        let terminal = plan.terminal.expect("a terminal");
        let _ = writeln!(
            text,
            "## {prompt:?}, {start:?}\n{shown}native id {:?}, begins {}\n",
            terminal.native_id, terminal.has_first_input
        );
        assert_eq!(terminal.size, size);
        assert_eq!(plan.command.stdin, "");
        assert!(plan.watch.native_id.is_empty() && plan.watch.provider_error.is_empty());
    }
    text
}

#[test]
fn every_harness_is_put_on_a_terminal_as_recorded() {
    for name in RUNTIMES.into_iter().chain(["shell"]) {
        let target = Catalog::builtin().target(name).expect("built in");
        insta::assert_snapshot!(format!("terminal_{name}"), every_terminal(&target));
    }
}

#[test]
fn a_terminal_says_what_it_is_and_never_that_it_has_no_colours() {
    let target = Catalog::builtin().target("sh").expect("built in");
    let variables = [("TERM", "dumb"), ("NO_COLOR", "1"), ("PATH", "/bin")];
    let check = |locale: Option<(&str, &str)>, expected: &str| {
        let all = variables.into_iter().chain(locale);
        let owned = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = target.environment_from(owned);
        let mut run = invocation(&environment, "");
        run.mode = Mode::Interactive { size: TerminalSize::DEFAULT };
        let env = target.plan(&run).expect("plans").command.env;
        let shown: Vec<_> = env
            .iter()
            .filter(|(name, _)| {
                ["TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "LANG", "LC_ALL"]
                    .contains(&name.as_str())
            })
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(shown.join(" "), expected);
    };
    let ours = "TERM=xterm-256color TERM_PROGRAM=creel";
    check(None, &format!("COLORTERM=truecolor LANG=C.UTF-8 {ours}"));
    check(Some(("LANG", "de_DE.UTF-8")), &format!("COLORTERM=truecolor LANG=de_DE.UTF-8 {ours}"));
    check(Some(("LC_ALL", "C")), &format!("COLORTERM=truecolor LC_ALL=C {ours}"));
}

#[test]
fn the_rules_a_keeper_watches_by_are_as_recorded() {
    for name in RUNTIMES {
        let target = Catalog::builtin().target(name).expect("built in");
        let environment = environment(&target);
        let plan = target.plan(&invocation(&environment, PROMPT)).expect("plans");
        insta::assert_json_snapshot!(format!("watch_{name}"), plan.watch);
    }
}

#[test]
fn a_profile_brings_its_model_and_effort() {
    let check = |name: &str, expected: &[&str]| {
        let target = Catalog::builtin().target(name).expect("built in");
        let environment = environment(&target);
        let plan = target.plan(&invocation(&environment, PROMPT)).expect("plans");
        let args = plan.command.args;
        assert!(args.windows(expected.len()).any(|words| words == expected), "{args:?}");
    };
    check("claude/o55h", &["--model", "claude-opus-5-5", "--effort", "high"]);
    check("codex/a6h", &["-m", "gpt-6-astra", "-c", "model_reasoning_effort=\"high\""]);
}

#[test]
fn neither_prompts_nor_secrets_are_in_arguments_or_foreign_variables() {
    for name in RUNTIMES {
        for target in channels_of(&Catalog::builtin().target(name).expect("built in")) {
            let environment = environment(&target);
            let command = target.plan(&invocation(&environment, PROMPT)).expect("plans").command;
            let args = command.args.join("\n");
            let files: String = command.files.iter().map(|file| file.text.as_str()).collect();
            assert!(!args.contains(PROMPT), "{name}: {args}");
            assert!(!args.contains("secret-") && !args.contains("pw@"), "{name}: {args}");
            assert!(!files.contains("secret-") && !files.contains("pw@"), "{name}: {files}");
            for (variable, value) in &command.env {
                let named = target.credential_names().contains(variable);
                assert!(named || !value.contains("secret-"), "{name}: {variable}");
                assert!(variable != "DATABASE_PASSWORD" && variable != "CLAUDECODE", "{name}");
            }
        }
    }
}

#[test]
fn continuing_without_a_native_id_is_refused_and_starting_over_is_not() {
    for name in RUNTIMES {
        let target = Catalog::builtin().target(name).expect("built in");
        let environment = environment(&target);
        let mut run = invocation(&environment, PROMPT);
        run.cause = Cause::Resume;
        run.start = Start::Continue { native_id: None };
        assert_eq!(target.plan(&run).is_err(), target.can_resume(), "{name}");
        run.start = Start::Fresh { native_id: NATIVE };
        assert!(target.plan(&run).is_ok(), "{name}");
    }
}

#[test]
fn an_agent_that_starts_over_is_told_its_task_again() {
    let target = Catalog::builtin().target("claude").expect("built in");
    let environment = environment(&target);
    let mut run = invocation(&environment, "please return");
    run.cause = Cause::Reprompt;
    run.operator_prompt = "the task";
    let stdin = target.plan(&run).expect("plans").command.stdin;
    assert!(stdin.starts_with("You work for Creel session"), "{stdin}");
    assert!(stdin.ends_with("the task\n\nplease return"), "{stdin}");
}
