//! Names of targets.

use creel_harness::{Catalog, Channel};

fn check(name: &str) -> String {
    Catalog::builtin().target(name).map_or_else(|e| e.to_string(), |target| target.name())
}

#[test]
fn targets_are_found_by_their_exact_names() {
    assert_eq!(check("claude"), "claude");
    assert_eq!(check("claude/o55h"), "claude/o55h");
    assert_eq!(check("sh/verdict"), "sh/verdict");
}

#[test]
fn unknown_names_list_what_exists() {
    insta::assert_snapshot!(check("claud"), @"no runtime is called `claud`; known: claude, codex, copilot, gemini, opencode, pi, qwen, sh, shell");
    insta::assert_snapshot!(check("sh/x"), @"`sh` has no profile `x`; known: sh, sh/verdict");
    insta::assert_snapshot!(check("pi/x"), @"`pi` has no profile `x`; it has none, `pi` alone is its only target");
    insta::assert_snapshot!(check("claude/"), @"`claude` has no profile ``; known: claude, claude/h55, claude/o55h, claude/o55m, claude/o55xh, claude/s55h, claude/s55m");
    insta::assert_snapshot!(check(""), @"no runtime is called ``; known: claude, codex, copilot, gemini, opencode, pi, qwen, sh, shell");
}

#[test]
fn a_channel_the_harness_lacks_is_refused() {
    let error = Catalog::builtin().target("sh").and_then(|t| t.with_channel(Channel::Mcp));
    insta::assert_snapshot!(error.map(|t| t.name()).expect_err("no such channel"), @"`sh` can't return by `mcp`; it can by shell, dir");
}

#[test]
fn every_listed_target_exists() {
    let catalog = Catalog::builtin();
    let names = catalog.target_names();
    for name in &names {
        assert_eq!(catalog.target(name).expect("listed").name(), *name);
    }
    insta::assert_snapshot!(names.join("\n"));
}
