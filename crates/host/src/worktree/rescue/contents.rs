//! Which files a rescue holds that the commit it began from doesn't.

use super::{Rescue, RescueError};
use crate::git::Patience;
use crate::worktree::repo::Repo;

/// One file of a rescue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its path below the worktree's top, as git has it.
    pub path: Vec<u8>,
    /// `A` for added, `M` for changed, `T` for another type, `D` for deleted.
    pub status: char,
    pub(crate) mode: String,
    pub(crate) object: String,
}

/// Returns the files of a rescue that differ from the commit it began from.
///
/// # Errors
/// When git can't tell them.
pub fn contents(repo: &Repo, rescue: &Rescue) -> Result<Vec<Content>, RescueError> {
    let foreign = || RescueError::Foreign { id: rescue.id.clone() };
    let meta = rescue.meta.as_ref().ok_or_else(foreign)?;
    let before = match &meta.head {
        Some(head) => head.clone(),
        None => {
            let empty = repo.git().write(repo.common(), ["mktree"]);
            empty.line()?
        }
    };
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none"];
    let call = repo.git().read(repo.common(), args).args([&before, &rescue.commit]);
    let mut found = Vec::new();
    let mut open: Option<(char, String, String)> = None;
    call.patience(Patience::Scan).records(|record| {
        // `:mode mode object object status`, then the path.
        if let Some((status, mode, object)) = open.take() {
            found.push(Content { path: record.to_vec(), status, mode, object });
            return;
        }
        let text = String::from_utf8_lossy(record);
        let words: Vec<&str> = text.split(' ').collect();
        if let [_, mode, _, object, status] = words.as_slice() {
            let status = status.chars().next().unwrap_or('M');
            open = Some((status, (*mode).to_owned(), (*object).to_owned()));
        }
    })?;
    Ok(found)
}
