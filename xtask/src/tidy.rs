//! `cargo xtask tidy`: the rules of the house that no lint covers.
//!
//! Each rule is a function from what was read ([`tree::Tree`], [`workspace::Workspace`]) to a list
//! of [`fault::Fault`]s: no rule touches the disk, so a test shows each one failing on a few lines.

mod adr;
mod banned;
mod error_pages;
mod fault;
mod imports;
mod layering;
mod manifests;
mod papers;
mod purity;
mod shape;
mod source;
mod surroundings;
mod tree;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use fault::Fault;
use tree::Tree;
use workspace::Workspace;

/// Checks the whole workspace and prints each fault on a line of its own.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let tree = Tree::read(root)?;
    let workspace = Workspace::read(root)?;
    let mut faults = check(&tree, &workspace);
    faults.sort();
    for fault in &faults {
        println!("{fault}");
    }
    if let Some(note) = error_pages::note(&tree) {
        println!("tidy: {note}");
    }
    println!("tidy: {} files, {} faults", tree.len(), faults.len());
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(tree: &Tree, workspace: &Workspace) -> Vec<Fault> {
    [
        layering::check(workspace),
        purity::check(tree, workspace),
        shape::check(tree),
        banned::check(tree, workspace),
        manifests::check(tree, workspace),
        surroundings::check(tree),
        error_pages::check(tree),
        adr::check(tree),
        papers::check(tree, workspace),
    ]
    .concat()
}
