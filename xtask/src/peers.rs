//! `cargo xtask peers`: real agents as test peers, in a cache outside the clone.
//!
//! The versions are those `lab/agent.sh` pins. A peer that can't be installed is a line in the
//! table, not an error: only `--require` makes too few of them one.

mod pins;
mod sandbox;
mod shelf;
mod table;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use shelf::Shelf;
use table::Row;

/// The agents that run without a terminal: what is installed when no name is given.
const HEADLESS: [&str; 7] = ["claude", "codex", "gemini", "opencode", "pi", "qwen", "copilot"];

/// Installs the named peers and prints where each stands.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<ExitCode> {
    let request = Request::parse(words)?;
    let script = root.join("lab/agent.sh");
    let text =
        fs::read_to_string(&script).with_context(|| format!("reading {}", script.display()))?;
    let pins = pins::read(&text);
    let shelf = Shelf::open(script, cache()?)?;
    println!("peers: in {}", shelf.folder().display());
    println!("bubblewrap: {}", sandbox::install());
    let mut rows = Vec::new();
    for name in &request.names {
        let Some(version) = pins.get(name) else {
            rows.push(Row::unknown(name));
            continue;
        };
        println!("peers: {name} {version}");
        rows.push(Row::new(name, version, shelf.install(name, version)));
    }
    print!("{}", table::render(&rows));
    let ready = rows.iter().filter(|row| row.is_ready()).count();
    if ready < request.required {
        eprintln!("xtask: {ready} peers are ready, {} are required", request.required);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, PartialEq, Eq)]
struct Request {
    names: Vec<String>,
    required: usize,
}

impl Request {
    fn parse(words: &[String]) -> Result<Self> {
        let (mut names, mut required) = (Vec::new(), 0);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--require" {
                let count = words.next().context("--require wants a number")?;
                required = count.parse().with_context(|| format!("--require {count}"))?;
            } else if word.starts_with('-') {
                bail!("no such option: {word}");
            } else if !names.contains(word) {
                names.push(word.clone());
            }
        }
        if names.is_empty() {
            names = HEADLESS.map(str::to_owned).to_vec();
        }
        Ok(Self { names, required })
    }
}

fn cache() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("CREEL_PEERS_DIR").filter(|it| !it.is_empty()) {
        return Ok(PathBuf::from(folder));
    }
    let cache = match env::var_os("XDG_CACHE_HOME").filter(|it| !it.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(cache.join("creel/peers"))
}

#[cfg(test)]
mod tests {
    use super::{HEADLESS, Request};

    fn check(line: &str, expected: Result<(&[&str], usize), &str>) {
        let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
        let parsed = Request::parse(&words).map_err(|error| error.to_string());
        let expected = expected
            .map(|(names, required)| Request {
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                required,
            })
            .map_err(ToOwned::to_owned);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn no_name_means_every_headless_agent() {
        check("", Ok((&HEADLESS, 0)));
        check("--require 3", Ok((&HEADLESS, 3)));
    }

    #[test]
    fn a_name_given_twice_is_installed_once() {
        check("pi --require 1 codex pi", Ok((&["pi", "codex"], 1)));
    }

    #[test]
    fn a_bad_option_is_refused() {
        check("--all", Err("no such option: --all"));
        check("--require", Err("--require wants a number"));
        check("--require x", Err("--require x"));
    }
}
