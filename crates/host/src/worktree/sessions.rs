//! Which sessions work in which worktree.

use std::path::PathBuf;

use super::listing::Worktree;

/// A session, as far as its place matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAt {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The harness.
    pub runtime: String,
    /// Its work state, as published.
    pub work_state: String,
    /// True while it has a run that has not ended.
    pub is_live: bool,
    /// The working directory of its runs.
    pub cwd: PathBuf,
}

/// A worktree and who works in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupied {
    /// The worktree.
    pub worktree: Worktree,
    /// Its sessions, in the order in which they were given.
    pub sessions: Vec<SessionAt>,
}

/// Puts each session to the innermost worktree that its working directory is in; sessions
/// elsewhere are left out.
#[must_use]
pub fn join(worktrees: Vec<Worktree>, sessions: Vec<SessionAt>) -> Vec<Occupied> {
    let mut rows: Vec<Occupied> =
        worktrees.into_iter().map(|worktree| Occupied { worktree, sessions: Vec::new() }).collect();
    for session in sessions {
        let innermost = rows
            .iter_mut()
            .filter(|row| !row.worktree.is_bare && session.cwd.starts_with(&row.worktree.path))
            .max_by_key(|row| row.worktree.path.as_os_str().len());
        if let Some(row) = innermost {
            row.sessions.push(session);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{SessionAt, join};
    use crate::worktree::Worktree;

    fn check(worktrees: &[&str], sessions: &[(&str, &str)], expected: &[&[&str]]) {
        let worktree = |path: &&str| Worktree {
            path: path.into(),
            admin: path.into(),
            is_main: false,
            is_bare: false,
            head: None,
            branch: None,
            locked: None,
            prunable: None,
            is_missing: false,
            provenance: None,
        };
        let session = |(id, cwd): &(&str, &str)| SessionAt {
            id: (*id).to_owned(),
            title: None,
            runtime: "sh".to_owned(),
            work_state: "working".to_owned(),
            is_live: true,
            cwd: cwd.into(),
        };
        let rows =
            join(worktrees.iter().map(worktree).collect(), sessions.iter().map(session).collect());
        let found: Vec<Vec<&str>> = rows
            .iter()
            .map(|row| row.sessions.iter().map(|session| session.id.as_str()).collect())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_session_belongs_to_the_innermost_worktree_of_its_directory() {
        check(
            &["/r", "/r/wt/a", "/r/wt/ab"],
            &[("1", "/r/wt/a/src"), ("2", "/r/wt/ab"), ("3", "/r/src"), ("4", "/x")],
            &[&["3"], &["1"], &["2"]],
        );
    }
}
