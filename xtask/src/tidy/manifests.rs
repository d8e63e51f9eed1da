//! What each `Cargo.toml` must say, and the lock file beside them.

use super::fault::Fault;
use super::tree::Tree;
use super::workspace::Workspace;

/// Finds members off the house's name or lints, and a lock file that git doesn't keep.
pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in &workspace.packages {
        let path = format!("{}/Cargo.toml", package.folder);
        let folder = package.folder.rsplit('/').next().unwrap_or(&package.folder);
        if package.name != format!("creel-{folder}") {
            let message =
                format!("`{}` lies in `{folder}`: name it `creel-{folder}`", package.name);
            faults.push(Fault::of(&path, message));
        }
        if !tree.get(&path).is_some_and(|file| inherits_lints(&file.text)) {
            faults.push(Fault::of(&path, "the workspace's lints are not inherited"));
        }
    }
    if !tree.get("Cargo.lock").is_some_and(|file| file.is_tracked) {
        faults.push(Fault::of("Cargo.lock", "the lock file is not committed"));
    }
    faults
}

fn inherits_lints(manifest: &str) -> bool {
    let mut section = "";
    manifest.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            section = line;
        }
        let setting: String = line.split_whitespace().collect();
        (section == "[lints]" && setting == "workspace=true") || setting == "lints.workspace=true"
    })
}

#[cfg(test)]
mod tests {
    use super::check as run;
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;
    use crate::tidy::workspace::Workspace;

    const GOOD: &str = "[package]\nname = \"creel-api\"\n\n[lints]\nworkspace = true\n";

    fn check(tree: &Tree, name: &str, expected: &[&str]) {
        let mut workspace = Workspace::of(&[("creel-api", &[])]);
        workspace.packages[0].name = name.to_owned();
        assert_eq!(printed(&run(tree, &workspace)), expected);
    }

    fn tree(manifest: &str) -> Tree {
        Tree::of(&[("crates/api/Cargo.toml", manifest), ("Cargo.lock", "")])
    }

    #[test]
    fn a_member_inherits_the_lints() {
        check(&tree(GOOD), "creel-api", &[]);
        check(
            &tree("[dependencies]\nworkspace = true\n[lints.rust]\n"),
            "creel-api",
            &["crates/api/Cargo.toml: the workspace's lints are not inherited"],
        );
    }

    #[test]
    fn a_member_is_named_after_its_folder() {
        check(
            &tree(GOOD),
            "creel-shapes",
            &["crates/api/Cargo.toml: `creel-shapes` lies in `api`: name it `creel-api`"],
        );
    }

    #[test]
    fn the_lock_file_is_committed() {
        let fault = ["Cargo.lock: the lock file is not committed"];
        check(&tree(GOOD).untracked("Cargo.lock"), "creel-api", &fault);
        check(&Tree::of(&[("crates/api/Cargo.toml", GOOD)]), "creel-api", &fault);
    }
}
