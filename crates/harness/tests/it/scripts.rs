//! The script harness: what runs, and what a re-prompt or wake brings it.

use creel_harness::{Catalog, Cause, MAX_PROMPT_ENV_BYTES};

use crate::fixture::{environment, invocation};

struct Seen {
    script: String,
    stdin: String,
    variable: Option<String>,
    args: Vec<String>,
}

fn check(cause: Cause, prompt: &str) -> Seen {
    let target = Catalog::builtin().target("sh").expect("built in");
    let environment = environment(&target);
    let mut run = invocation(&environment, prompt);
    run.cause = cause;
    run.operator_prompt = "echo operator";
    let command = target.plan(&run).expect("plans").command;
    Seen {
        script: command.files[0].text.clone(),
        stdin: command.stdin,
        variable: command.env.into_iter().find(|(n, _)| n == "ORBH_PROMPT").map(|(_, v)| v),
        args: command.args,
    }
}

#[test]
fn an_operator_prompt_is_the_script_and_arrives_nowhere_else() {
    let seen = check(Cause::Launch, "echo operator");
    assert_eq!(seen.script, "echo operator");
    assert_eq!((seen.stdin.as_str(), seen.variable), ("", None));
    assert_eq!(seen.args, ["/orb/run \"1\"/script"]);
}

#[test]
fn a_reprompt_runs_the_operator_prompt_again_with_its_own_text_beside() {
    for cause in [Cause::Reprompt, Cause::Wake, Cause::Interrupt] {
        let seen = check(cause, "please return");
        assert_eq!(seen.script, "echo operator");
        assert_eq!(seen.stdin, "please return");
        assert_eq!(seen.variable.as_deref(), Some("please return"));
    }
}

#[test]
fn a_text_above_the_limit_arrives_on_standard_input_alone() {
    let at = "x".repeat(MAX_PROMPT_ENV_BYTES);
    assert_eq!(check(Cause::Wake, &at).variable, Some(at));
    let above = "x".repeat(MAX_PROMPT_ENV_BYTES + 1);
    let seen = check(Cause::Wake, &above);
    assert_eq!((seen.variable, seen.stdin), (None, above));
}

#[test]
fn only_the_verdict_profile_is_judged_by_its_exit_code() {
    let judged = |name: &str| {
        let target = Catalog::builtin().target(name).expect("built in");
        let environment = environment(&target);
        target.plan(&invocation(&environment, "true")).expect("plans").watch.verdict_by_exit
    };
    assert!(judged("sh/verdict"));
    assert!(!judged("sh"));
}
