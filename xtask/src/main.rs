//! Automation of the workspace: `cargo xtask VERB`.
//!
//! Owns the checks the compiler can't make, the order of CI's steps, and the installation of real
//! agents as test peers. Must not know what Creel does: no `creel-*` crate is a dependency.
//! Start reading at [`tidy`].
#![forbid(unsafe_code)]

mod ci;
mod demo;
mod deny;
mod fuzz;
mod peers;
mod root;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask VERB
  tidy                         layering, file shape, banned words, papers; no network
  ci                           format, lints, tidy, tests: what `.ci/run` runs
  fix                          format, and apply the lints' own suggestions
  demo-survive                 three agents outlive viewers, keepers and an upgrade; to be read
  peers [--require K] [NAME…]  install real agents for the end-to-end tests
  fuzz [TARGET [SECONDS]]      list the fuzz targets, or run one (nightly and cargo-fuzz)
  deny                         licences, bans and sources (cargo-deny)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let Some((verb, rest)) = words.split_first() else {
        eprintln!("{USAGE}");
        return Ok(ExitCode::from(2));
    };
    match (verb.as_str(), rest) {
        ("tidy", []) => tidy::run(&root::find()?),
        ("ci", []) => ci::run(&root::find()?),
        ("fix", []) => ci::fix(&root::find()?),
        ("demo-survive", []) => demo::survive(&root::find()?),
        ("peers", rest) => peers::run(&root::find()?, rest),
        ("fuzz", rest) => fuzz::run(&root::find()?, rest),
        ("deny", []) => deny::run(&root::find()?),
        _ => {
            eprintln!("xtask: no such verb or arguments: {}\n{USAGE}", words.join(" "));
            Ok(ExitCode::from(2))
        }
    }
}
