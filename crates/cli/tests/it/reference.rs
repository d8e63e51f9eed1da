//! Pages and scripts made from the grammar.

use creel_testkit::env::TestEnv;

#[test]
fn the_reference_page_is_what_the_grammar_says() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_creel"));
    let made = env.run(&["reference"]).success().stdout;
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference.md");
    let stored = std::fs::read_to_string(page).unwrap_or_default();
    assert!(
        made == stored,
        "docs/reference.md is stale: cargo run -- reference > docs/reference.md"
    );
}

#[test]
fn each_shell_gets_completions() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_creel"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.run(&["completions", shell]).success().stdout;
        assert!(script.contains("rebuild-session-snapshots"), "{shell}");
    }
}

#[test]
fn each_verb_has_a_manual_page() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_creel"));
    for verb in [&["man"][..], &["man", "session"], &["man", "session", "return"]] {
        let page = env.run(verb).success().stdout;
        assert!(page.contains(".SH SYNOPSIS"), "{verb:?}");
    }
    insta::assert_snapshot!(env.run(&["man", "lisst"]).normal());
}
