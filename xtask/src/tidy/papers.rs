//! The papers a newcomer reads first: they exist, and say what is so.

use super::fault::Fault;
use super::tree::Tree;
use super::workspace::Workspace;
use crate::ci;

const PAPERS: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"];

/// Finds missing papers, crates off the map, and a README with another test command than CI's.
pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Fault> {
    let mut faults = Vec::new();
    for paper in PAPERS.iter().filter(|paper| tree.get(paper).is_none()) {
        faults.push(Fault::of(paper, "the file is missing"));
    }
    if let Some(map) = tree.get("ARCHITECTURE.md") {
        for package in
            workspace.packages.iter().filter(|package| !names(&map.text, package.short_name()))
        {
            let message = format!("the code map does not name `{}`", package.short_name());
            faults.push(Fault::of("ARCHITECTURE.md", message));
        }
    }
    if let Some(readme) = tree.get("README.md") {
        let command = ci::test_command();
        if !readme.text.lines().any(|line| line.trim() == command) {
            faults.push(Fault::of("README.md", format!("no line `{command}`, which CI runs")));
        }
    }
    faults
}

fn names(map: &str, crate_name: &str) -> bool {
    [format!("`{crate_name}`"), format!("`creel-{crate_name}`"), format!("crates/{crate_name}")]
        .iter()
        .any(|form| map.contains(form))
}

#[cfg(test)]
mod tests {
    use super::check as run;
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;
    use crate::tidy::workspace::Workspace;

    const README: (&str, &str) = ("README.md", "```sh\ncargo test --workspace\n```\n");
    const REST: [(&str, &str); 2] = [("CHANGELOG.md", ""), ("CONTRIBUTING.md", "")];

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let workspace = Workspace::of(&[("creel-api", &[]), ("creel-sys", &[])]);
        assert_eq!(printed(&run(&Tree::of(files), &workspace)), expected);
    }

    #[test]
    fn the_papers_exist() {
        check(
            &[],
            &[
                "ARCHITECTURE.md: the file is missing",
                "CHANGELOG.md: the file is missing",
                "CONTRIBUTING.md: the file is missing",
                "README.md: the file is missing",
            ],
        );
    }

    #[test]
    fn the_map_names_every_member() {
        let map = ("ARCHITECTURE.md", "`sys` and not the api\n");
        check(
            &[README, REST[0], REST[1], map],
            &["ARCHITECTURE.md: the code map does not name `api`"],
        );
    }

    #[test]
    fn the_readme_and_ci_run_the_same_tests() {
        let map = ("ARCHITECTURE.md", "`sys`, `creel-api`\n");
        let readme = ("README.md", "cargo test --workspace --lib\n");
        check(
            &[readme, REST[0], REST[1], map],
            &["README.md: no line `cargo test --workspace`, which CI runs"],
        );
    }
}
