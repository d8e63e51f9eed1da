//! Which target a start uses: the named one, or the first of the default list that is there.

use std::ffi::OsStr;
use std::path::PathBuf;

use creel_harness::{Catalog, Target, TargetError};

use crate::codes::Code;
use crate::output::say;
use crate::report::Report;
use crate::starting::program;

/// What is tried, in order, when no target is named.
const DEFAULT_LIST: [&str; 2] = ["claude/o55h", "codex/a6h"];

/// A target whose program is there.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// The target.
    pub(crate) target: Target,
    /// Its program, by its absolute path.
    pub(crate) program: PathBuf,
}

/// Splits what was given to a start verb: a first word that names a runtime of the catalog is the
/// target, everything else is the prompt.
pub(crate) fn split<'a>(catalog: &Catalog, words: &'a [String]) -> (Option<&'a str>, &'a [String]) {
    match words.split_first() {
        Some((first, rest)) if is_target(catalog, first) => (Some(first), rest),
        _ => (None, words),
    }
}

fn is_target(catalog: &Catalog, word: &str) -> bool {
    let runtime = word.split_once('/').map_or(word, |(runtime, _)| runtime);
    !matches!(catalog.target(runtime), Err(TargetError::UnknownRuntime { .. }))
}

/// Chooses the named target, which never falls back, or the first available one of the default
/// list, which is told on standard error.
///
/// # Errors
/// When nothing is available. Nothing was created by then.
pub(crate) fn choose(
    catalog: &Catalog,
    named: Option<&str>,
    path: &OsStr,
) -> Result<Chosen, Report> {
    if let Some(name) = named {
        return available(catalog, name, path).map_err(|reason| {
            let message = format!(
                "The target {name} is not available: {reason}. An explicit target does not fall \
                 back."
            );
            Report::new(Code::TargetUnavailable, message)
                .next("install it, or the same command with another target")
        });
    }
    for name in DEFAULT_LIST {
        match available(catalog, name, path) {
            Ok(chosen) => {
                say(&format!("Target: {name} (default list)"));
                return Ok(chosen);
            }
            Err(reason) => say(&format!("{name} skipped: {reason}")),
        }
    }
    let message = "no target of the default list is available; no session was made";
    Err(Report::new(Code::TargetUnavailable, message)
        .next("install one of the agents above, or name a target: creel launch sh 'SCRIPT'"))
}

/// Finds a target whose name a session has kept.
///
/// # Errors
/// When the catalog has it no more, or its program is gone.
pub(crate) fn find(catalog: &Catalog, name: &str, path: &OsStr) -> Result<Chosen, Report> {
    available(catalog, name, path).map_err(|reason| {
        let message = format!("the session's target {name} is not available: {reason}");
        Report::new(Code::TargetUnavailable, message).next("install it, then the same command")
    })
}

fn available(catalog: &Catalog, name: &str, path: &OsStr) -> Result<Chosen, String> {
    let target = catalog.target(name).map_err(|error| error.to_string())?;
    let program = program::find(target.program(), path)
        .ok_or_else(|| format!("`{}` is not on the PATH", target.program()))?;
    Ok(Chosen { target, program })
}

#[cfg(test)]
mod tests {
    use super::{Catalog, choose, split};
    use crate::codes::Code;

    fn check(words: &[&str], expected: (Option<&str>, &[&str])) {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let (target, prompt) = split(&Catalog::builtin(), &words);
        assert_eq!(
            (target, prompt),
            (expected.0, &expected.1.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()[..])
        );
    }

    #[test]
    fn a_first_word_that_names_a_runtime_is_the_target() {
        check(&["sh", "true"], (Some("sh"), &["true"]));
        check(&["sh/verdict", "true"], (Some("sh/verdict"), &["true"]));
        check(&["claude/none"], (Some("claude/none"), &[]));
        check(&["fix/it", "now"], (None, &["fix/it", "now"]));
        check(&["shave the yak"], (None, &["shave the yak"]));
        check(&[], (None, &[]));
    }

    #[test]
    fn a_named_target_does_not_fall_back() {
        let report = choose(&Catalog::builtin(), Some("claude"), "/nowhere".as_ref()).unwrap_err();
        assert_eq!(report.code(), Code::TargetUnavailable);
        insta::assert_snapshot!(report.to_string(), @"
        creel: The target claude is not available: `claude` is not on the PATH. An explicit target does not fall back. [target-unavailable]
        Next: install it, or the same command with another target
        ");
    }
}
