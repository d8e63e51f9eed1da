//! The user's own catalog file: what it changes, and how its mistakes are told.

use creel_harness::{Catalog, Channel};

use crate::fixture::{environment, invocation};

const PATH: &str = "catalog.toml";

fn check(name: &str, text: &str) {
    let error = Catalog::builtin().with_overrides(text, PATH).expect_err("a mistake");
    let place = format!("{PATH}:{}:{}: ", error.line(), error.column());
    assert!(error.to_string().starts_with(&place), "{error}");
    insta::assert_snapshot!(name, format!("{error}\n\n{}", error.to_human()));
}

#[test]
fn mistakes_are_told_with_place_key_value_and_what_is_accepted() {
    check("syntax", "[harness.claude\nprogram = 1\n");
    check("unknown_table", "[harnes.claude]\nprogram = \"x\"\n");
    check("unknown_field", "[harness.claude]\nprogramm = \"x\"\n");
    check("wrong_type", "[harness.claude]\n\nprogram = 7\n");
    check("unknown_channel", "[harness.claude]\nchannels = [\"shell\", \"pipe\"]\n");
    check("unknown_condition", "[harness.claude]\nargs = [{ when = \"ever\", words = [] }]\n");
    check("bad_word", "[harness.claude]\nargs = [\"-p\", 7]\n");
    check("unknown_placeholder", "[harness.claude]\nargs = [\"-p\", [\"--model\", \"{modl}\"]]\n");
    check("profile_field", "[harness.claude.profiles.mine]\nmodel = \"m\"\nmdl = \"n\"\n");
    check("profile_channel", "[harness.pi.profiles.mine]\nchannel = \"dir\"\n");
    check("incomplete", "# mine\n[harness.aider]\nprogram = \"aider\"\nargs = []\n");
    check("cannot_resume", "[harness.claude]\nargs = [\"-p\"]\n");
    check("negative", "[harness.claude]\nend-grace-ms = -1\n");
    check("rule", "[harness.claude]\nprovider-errors = [{ kind = \"api\", txt = \"x\" }]\n");
}

#[test]
fn fields_replace_one_by_one_and_profiles_by_name() {
    let text = "[harness.claude]\nend-grace-ms = 7\n\
                [harness.claude.profiles.mine]\nmodel = \"m\"\nchannel = \"mcp\"\n\
                args = [\"--more\"]\nenv = { FLAVOUR = \"sweet\" }\n";
    let catalog = Catalog::builtin().with_overrides(text, PATH).expect("no mistake");
    let target = catalog.target("claude/mine").expect("added");
    assert!(catalog.target("claude/o55h").is_ok());
    assert_eq!(target.channel(), Channel::Mcp);
    let environment = environment(&target);
    let plan = target.plan(&invocation(&environment, "p")).expect("plans");
    assert_eq!(plan.watch.end_grace_ms, 7);
    assert_eq!(plan.watch.return_grace_ms, creel_harness::DEFAULT_RETURN_GRACE_MS);
    assert!(plan.command.args.ends_with(&["--model", "m", "--more"].map(str::to_owned)));
    assert!(plan.command.env.contains(&("FLAVOUR".to_owned(), "sweet".to_owned())));
}

#[test]
fn a_new_harness_needs_little() {
    let text = "[harness.aider]\nprogram = \"/opt/aider\"\nprompt = \"file\"\n\
                args = [\"--message-file\", \"{promptFile}\"]\n";
    let catalog = Catalog::builtin().with_overrides(text, PATH).expect("no mistake");
    let target = catalog.target("aider").expect("added");
    let environment = environment(&target);
    let command = target.plan(&invocation(&environment, "p")).expect("plans").command;
    assert_eq!(command.args, ["--message-file", "/orb/run \"1\"/prompt"]);
    assert!(command.files[0].text.ends_with("\np"));
    assert_eq!(command.stdin, "");
}
