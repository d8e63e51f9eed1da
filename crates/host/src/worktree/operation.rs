//! What git keeps of a worktree beside its index: a merge or rebase under way, and where `HEAD`
//! has been.

use std::io;
use std::path::{Path, PathBuf};

use super::surroundings::read_small;
use super::survey::files_below;

/// Files of a worktree's own directory that say something about its work.
const FILES: [&str; 17] = [
    "AUTO_MERGE",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "info/sparse-checkout",
    "logs/HEAD",
];

/// Directories of it that do.
const DIRS: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];

/// What each operation is told by, the most telling one first.
const KINDS: [(&str, &str); 6] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// Bytes of one of the files that are searched for commits. Longer ones are kept, not searched.
const MAX_SEARCHED_BYTES: u64 = 16 * 1024 * 1024;

/// Returns what is under way in a worktree.
pub(crate) fn under_way(admin: &Path) -> Option<&'static str> {
    KINDS.iter().find(|(file, _)| admin.join(file).exists()).map(|(_, kind)| *kind)
}

/// Returns the branch that is being rebased, which git shows as detached meanwhile.
pub(crate) fn rebased_branch(admin: &Path) -> Option<String> {
    ["rebase-merge/head-name", "rebase-apply/head-name"].iter().find_map(|file| {
        let bytes = read_small(&admin.join(file), MAX_SEARCHED_BYTES).ok().flatten()?;
        let text = String::from_utf8(bytes).ok()?;
        text.trim().strip_prefix("refs/heads/").map(str::to_owned)
    })
}

/// Returns the files that are there, relative to the directory, in order.
pub(crate) fn files(admin: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> =
        FILES.iter().map(PathBuf::from).filter(|file| admin.join(file).is_file()).collect();
    for dir in DIRS {
        let below = files_below(admin, Path::new(dir))?;
        found.extend(below.into_iter().filter(|file| admin.join(file).is_file()));
    }
    found.sort();
    Ok(found)
}

/// Returns whatever in the files looks like an object's id.
pub(crate) fn named_objects(admin: &Path, files: &[PathBuf]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for file in files {
        let Ok(Some(bytes)) = read_small(&admin.join(file), MAX_SEARCHED_BYTES) else { continue };
        let words = bytes.split(|byte| !byte.is_ascii_alphanumeric());
        let is_id = |word: &&[u8]| {
            matches!(word.len(), 40 | 64)
                && word.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
                && word.iter().any(|byte| *byte != b'0')
        };
        found.extend(words.filter(is_id).map(|word| String::from_utf8_lossy(word).into_owned()));
    }
    found.sort_unstable();
    found.dedup();
    found
}
