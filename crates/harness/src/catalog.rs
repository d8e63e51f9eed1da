//! The catalog: every harness this build knows, with the user's own changes on top.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::diagnostic::CatalogError;
use crate::entry::{HarnessEntry, UserFile};
use crate::harness::Harness;
use crate::target::{Target, TargetError};

/// The built-in entries: name, and text of `catalog/<name>.toml`.
const BUILTIN: [(&str, &str); 9] = [
    ("claude", include_str!("../catalog/claude.toml")),
    ("codex", include_str!("../catalog/codex.toml")),
    ("copilot", include_str!("../catalog/copilot.toml")),
    ("gemini", include_str!("../catalog/gemini.toml")),
    ("opencode", include_str!("../catalog/opencode.toml")),
    ("pi", include_str!("../catalog/pi.toml")),
    ("qwen", include_str!("../catalog/qwen.toml")),
    ("sh", include_str!("../catalog/sh.toml")),
    ("shell", include_str!("../catalog/shell.toml")),
];

/// Every known harness.
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: BTreeMap<String, HarnessEntry>,
    harnesses: BTreeMap<String, Harness>,
}

impl Catalog {
    /// Returns the catalog this build came with.
    pub fn builtin() -> Self {
        let mut catalog = Self { entries: BTreeMap::new(), harnesses: BTreeMap::new() };
        for (name, text) in BUILTIN {
            let entry: HarnessEntry =
                parse(name, text).expect("the embedded entries parse, which a test checks");
            let harness = Harness::complete(name, entry.clone())
                .expect("the embedded entries are complete, which a test checks");
            catalog.entries.insert(name.to_owned(), entry);
            catalog.harnesses.insert(name.to_owned(), harness);
        }
        catalog
    }

    /// Returns this catalog with a user's file on top; `path` is for messages only.
    ///
    /// A harness's fields replace the built-in ones one by one, profiles by name; a new name needs
    /// at least `program`, `args` and `prompt`. The file is refused whole on the first mistake.
    pub fn with_overrides(mut self, text: &str, path: &str) -> Result<Self, CatalogError> {
        let file: UserFile = parse(path, text)?;
        for (name, entry) in file.harness {
            let span = entry.span();
            let base = self.entries.remove(&name).unwrap_or_default();
            let merged = base.overlaid_by(entry.into_inner());
            let harness = Harness::complete(&name, merged.clone()).map_err(|message| {
                CatalogError::new((path, text), span, format!("harness.{name}"), &message)
            })?;
            self.entries.insert(name.clone(), merged);
            self.harnesses.insert(name, harness);
        }
        Ok(self)
    }

    /// Returns the target called `runtime` or `runtime/profile`; names are exact.
    pub fn target(&self, name: &str) -> Result<Target, TargetError> {
        let (runtime, profile) = match name.split_once('/') {
            Some((runtime, profile)) => (runtime, Some(profile)),
            None => (name, None),
        };
        let harness = self.harnesses.get(runtime).ok_or_else(|| TargetError::UnknownRuntime {
            name: runtime.to_owned(),
            known: self.harnesses.keys().cloned().collect(),
        })?;
        Target::new(harness.clone(), profile)
    }

    /// Returns every target's name in order, bare runtimes included.
    pub fn target_names(&self) -> Vec<String> {
        self.harnesses
            .values()
            .flat_map(|harness| {
                let profiles = harness.profiles.keys().map(|p| format!("{}/{p}", harness.name));
                std::iter::once(harness.name.clone()).chain(profiles)
            })
            .collect()
    }
}

fn parse<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, CatalogError> {
    let syntax = |key: String, error: &toml::de::Error| {
        let span = error.span().unwrap_or(0..0);
        CatalogError::new((path, text), span, key, error.message())
    };
    let document =
        toml::Deserializer::parse(text).map_err(|error| syntax(String::new(), &error))?;
    serde_path_to_error::deserialize(document).map_err(|error| {
        // The path shows how toml passes spans through serde; nobody wrote that key.
        let key = error.path().to_string().replace(".$__serde_spanned_private_value", "");
        syntax(key, error.inner())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_entry_parses_and_is_complete() {
        for (name, text) in BUILTIN {
            let entry: HarnessEntry = parse(name, text).unwrap_or_else(|e| panic!("{e}"));
            Harness::complete(name, entry).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}
