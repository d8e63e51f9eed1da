//! A clone stands alone: no file names a folder beside it, or the host of a package registry.

use super::fault::Fault;
use super::tree::Tree;

/// Folders of the place where the project is written; they don't exist in a user's clone.
const FOLDERS: [&str; 2] = [concat!("../", "shared"), concat!("/", "work/")];

/// Hosts of package registries: where packages come from is the user's own setting.
const HOSTS: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("deb.debian", ".org"),
];

/// Cargo writes the index it resolved from into its lock file.
const LOCK_FILES: [&str; 2] = ["Cargo.lock", "fuzz/Cargo.lock"];

/// Finds the names of surroundings in any file.
pub(crate) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.iter() {
        if LOCK_FILES.contains(&path) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            for folder in FOLDERS.iter().filter(|folder| names_folder(line, folder)) {
                let message = format!("`{folder}` does not exist in a user's clone");
                faults.push(Fault::at(path, index + 1, message));
            }
            for host in HOSTS.iter().filter(|host| line.contains(**host)) {
                let message = format!("`{host}` is the host of a package registry");
                faults.push(Fault::at(path, index + 1, message));
            }
        }
    }
    faults
}

/// Returns true when `folder` stands at the start of a path, not inside a longer one.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~})/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, HOSTS, check as run};
    use crate::tidy::fault::printed;
    use crate::tidy::tree::Tree;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(printed(&run(&Tree::of(&[(path, text)]))), expected);
    }

    #[test]
    fn a_folder_beside_the_clone_is_a_fault() {
        for folder in FOLDERS {
            let fault = format!("a.md:2: `{folder}` does not exist in a user's clone");
            check("a.md", &format!("x\nsee `{folder}`\n"), &[&fault]);
            check("a.md", &format!("see /home/user{}\n", folder.replace("..", "")), &[]);
        }
    }

    #[test]
    fn the_host_of_a_registry_is_a_fault_but_in_the_lock_file() {
        for host in HOSTS {
            let fault = format!("a.sh:1: `{host}` is the host of a package registry");
            check("a.sh", &format!("curl https://x.{host}/y\n"), &[&fault]);
        }
        check("Cargo.lock", HOSTS[0], &[]);
    }
}
