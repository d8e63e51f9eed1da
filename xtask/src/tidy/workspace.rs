//! The packages of the workspace, as `cargo metadata --no-deps` tells them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The workspace's own packages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    /// Every member, in cargo's order.
    pub(crate) packages: Vec<Package>,
}

/// One member.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// The package's name, `creel-record`.
    pub(crate) name: String,
    /// The package's folder relative to the root, `crates/record`.
    pub(crate) folder: String,
    /// Direct dependencies.
    pub(crate) dependencies: Vec<Dependency>,
    /// Root files of the library and the programs, relative to the workspace.
    pub(crate) roots: Vec<String>,
}

/// One direct dependency.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// The package's name as its author gave it, not the local alias.
    pub(crate) name: String,
    /// True for `[dev-dependencies]`.
    pub(crate) is_dev: bool,
}

impl Package {
    /// Returns the name without the house's prefix: `record` for `creel-record`.
    pub(crate) fn short_name(&self) -> &str {
        short(&self.name)
    }
}

/// Returns `name` without the house's prefix.
pub(crate) fn short(name: &str) -> &str {
    name.strip_prefix("creel-").unwrap_or(name)
}

impl Workspace {
    /// Asks cargo; reads no registry.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let output = Command::new("cargo")
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .current_dir(root)
            .output()
            .context("starting cargo metadata")?;
        ensure!(
            output.status.success(),
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Self::parse(&output.stdout)
    }

    fn parse(json: &[u8]) -> Result<Self> {
        let metadata: Metadata = serde_json::from_slice(json).context("reading cargo metadata")?;
        let prefix = format!("{}/", metadata.workspace_root);
        let relative = |path: &str| path.strip_prefix(&prefix).unwrap_or(path).to_owned();
        let packages = metadata.packages.into_iter().map(|package| Package {
            folder: relative(package.manifest_path.trim_end_matches("/Cargo.toml")),
            name: package.name,
            dependencies: package
                .dependencies
                .into_iter()
                .map(|found| Dependency {
                    name: found.name,
                    is_dev: found.kind.as_deref() == Some("dev"),
                })
                .collect(),
            roots: package
                .targets
                .iter()
                .filter(|target| target.kind.iter().any(|kind| kind == "lib" || kind == "bin"))
                .map(|target| relative(&target.src_path))
                .collect(),
        });
        Ok(Self { packages: packages.collect() })
    }
}

#[derive(Deserialize)]
struct Metadata {
    workspace_root: String,
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: String,
    dependencies: Vec<MetadataDependency>,
    targets: Vec<MetadataTarget>,
}

#[derive(Deserialize)]
struct MetadataDependency {
    name: String,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct MetadataTarget {
    kind: Vec<String>,
    src_path: String,
}

#[cfg(test)]
impl Workspace {
    /// Returns a workspace of `(name, dependencies)`; `dev:` before a dependency marks its kind.
    pub(crate) fn of(packages: &[(&str, &[&str])]) -> Self {
        let dependency = |word: &&str| Dependency {
            name: word.trim_start_matches("dev:").to_owned(),
            is_dev: word.starts_with("dev:"),
        };
        let package = |(name, words): &(&str, &[&str])| Package {
            name: (*name).to_owned(),
            folder: format!("crates/{}", short(name)),
            dependencies: words.iter().map(dependency).collect(),
            roots: vec![format!("crates/{}/src/lib.rs", short(name))],
        };
        Self { packages: packages.iter().map(package).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::Workspace;

    #[test]
    fn paths_are_relative_and_only_libraries_and_programs_are_roots() {
        let json = r#"{"workspace_root": "/r", "packages": [{
            "name": "creel-a", "manifest_path": "/r/crates/a/Cargo.toml",
            "dependencies": [{"name": "x", "kind": null}, {"name": "y", "kind": "dev"}],
            "targets": [
                {"kind": ["bin"], "src_path": "/r/crates/a/src/main.rs"},
                {"kind": ["test"], "src_path": "/r/crates/a/tests/it/main.rs"}]}]}"#;
        let workspace = Workspace::parse(json.as_bytes()).unwrap();
        assert_eq!(
            format!("{:?}", workspace.packages),
            "[Package { name: \"creel-a\", folder: \"crates/a\", dependencies: [\
             Dependency { name: \"x\", is_dev: false }, Dependency { name: \"y\", is_dev: true }], \
             roots: [\"crates/a/src/main.rs\"] }]"
        );
    }
}
