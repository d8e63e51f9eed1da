//! What a launch settled for all runs of its session, beside what the record has fields for.
//!
//! It is kept in the remembered environment under names that no agent is given, so that it is
//! there from the first event on: a session that was created and not yet started has it too.

use std::collections::BTreeMap;

/// `off` when the raw output of runs is not to be kept.
const OUTPUT_LOG: &str = "CREEL_OUTPUT_LOG";
/// The names of the credentials that the launch had, with commas between them.
const CREDENTIALS: &str = "CREEL_CREDENTIALS";

/// The terms of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// False when the raw output of runs must not reach the disk.
    pub(crate) keeps_output: bool,
    /// The names of the credentials that the launch had. Never their values.
    pub(crate) credential_names: Vec<String>,
}

impl Terms {
    /// Returns the environment to remember: the variables that runs get back, and the terms.
    pub(crate) fn joined(&self, base: Vec<(String, String)>) -> BTreeMap<String, String> {
        let mut environment: BTreeMap<_, _> = base.into_iter().collect();
        if !self.keeps_output {
            environment.insert(OUTPUT_LOG.to_owned(), "off".to_owned());
        }
        if !self.credential_names.is_empty() {
            environment.insert(CREDENTIALS.to_owned(), self.credential_names.join(","));
        }
        environment
    }

    /// Returns the variables of a remembered environment that runs get back, and the terms.
    pub(crate) fn split(environment: BTreeMap<String, String>) -> (Vec<(String, String)>, Self) {
        let mut base = environment;
        let terms = Self {
            keeps_output: base.remove(OUTPUT_LOG).is_none_or(|value| value != "off"),
            credential_names: base
                .remove(CREDENTIALS)
                .map(|names| names.split(',').map(str::to_owned).collect())
                .unwrap_or_default(),
        };
        (base.into_iter().collect(), terms)
    }

    /// Returns the names of the launch's credentials that `present` lacks.
    pub(crate) fn missing(&self, present: &[(String, String)]) -> Vec<String> {
        let is_missing = |name: &&String| present.iter().all(|(have, _)| have != *name);
        self.credential_names.iter().filter(is_missing).cloned().collect()
    }
}
