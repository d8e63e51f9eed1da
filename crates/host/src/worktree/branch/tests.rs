use std::path::Path;
use std::process::Command;

use super::{BranchFate, deletable, delete};
use crate::git::Git;
use crate::worktree::{Repo, list};

fn git(dir: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

#[test]
fn a_branch_that_moved_since_it_was_checked_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("main");
    git(dir.path(), &["init", "-q", "-b", "main", "main"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&main, &["worktree", "add", "-q", "../linked"]);
    let repo = Repo::open(Git::new(|name| std::env::var_os(name)), &main).unwrap();
    let worktrees = list(&repo).unwrap();
    let linked = worktrees.iter().find(|worktree| !worktree.is_main).unwrap();
    let checked = || deletable(&repo, linked, &worktrees).unwrap().unwrap();
    let before = checked();
    git(&dir.path().join("linked"), &["commit", "-q", "--allow-empty", "-m", "two"]);
    let (_lock, writer) = repo.lock().unwrap();
    let fate = delete(&repo, &writer, before).unwrap();
    let reason = Some("it has moved meanwhile".to_owned());
    assert_eq!(fate, BranchFate::Kept { branch: "linked".to_owned(), reason });
    assert!(repo.tip("refs/heads/linked").unwrap().is_some());
    git(&main, &["merge", "-q", "linked"]);
    let fate = delete(&repo, &writer, checked()).unwrap();
    assert!(matches!(fate, BranchFate::Deleted { .. }), "{fate:?}");
    assert_eq!(repo.tip("refs/heads/linked").unwrap(), None);
}
