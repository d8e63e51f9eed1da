//! The layout on disk.

use std::io;
use std::path::{Path, PathBuf};

use creel_api::layout::LayoutChange;
use thiserror::Error;

use crate::layout::{ChangeError, Stored, change, titled, validate};
use crate::state_file::{self, Loaded, set_aside};

const NAME: &str = "layout";

/// Why the layout stays as it is.
#[derive(Debug, Error)]
pub(crate) enum BookError {
    /// It may not be changed so.
    #[error(transparent)]
    Refused(#[from] ChangeError),
    /// It can't be written.
    #[error("can't write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// The stored layout; what is in memory is what is on disk.
#[derive(Debug)]
pub(crate) struct Book {
    path: PathBuf,
    stored: Stored,
}

impl Book {
    /// Opens the layout of `state_dir`. A damaged one is set aside, which is told in words.
    pub(crate) fn open(state_dir: &Path) -> (Self, Option<String>) {
        let path = state_dir.join(NAME);
        let (stored, problem) = match state_file::load(&path) {
            Ok(Loaded::Missing) => (Stored::default(), None),
            Ok(Loaded::Good(body)) => match sound(&body) {
                Ok(stored) => (stored, None),
                Err(why) => match set_aside(&path) {
                    Ok(to) => (Stored::default(), Some(was_set_aside(&to, &why))),
                    Err(error) => (Stored::default(), Some(unreadable(&path, &error))),
                },
            },
            Ok(Loaded::SetAside { to, why }) => (Stored::default(), Some(was_set_aside(&to, why))),
            Err(error) => (Stored::default(), Some(unreadable(&path, &error))),
        };
        (Self { path, stored }, problem)
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Changes the layout, durably.
    ///
    /// # Errors
    /// When it may not be changed so, or can't be written; it is then as it was.
    pub(crate) fn change(&mut self, wanted: &LayoutChange) -> Result<&Stored, BookError> {
        let next = change(&self.stored, wanted)?;
        self.keep(next)
    }

    /// Notes the title of a session; false when it was known.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn note_title(&mut self, session: &str, title: &str) -> Result<bool, BookError> {
        match titled(&self.stored, session, title) {
            Some(next) => self.keep(next).map(|_| true),
            None => Ok(false),
        }
    }

    fn keep(&mut self, next: Stored) -> Result<&Stored, BookError> {
        let failed = |source| BookError::Write { path: self.path.clone(), source };
        let body = serde_json::to_vec(&next).map_err(|error| failed(error.into()))?;
        state_file::store(&self.path, &body).map_err(failed)?;
        self.stored = next;
        Ok(&self.stored)
    }
}

fn sound(body: &[u8]) -> Result<Stored, String> {
    let stored: Stored = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    validate(&stored.layout).map_err(|error| error.to_string())?;
    Ok(stored)
}

fn was_set_aside(to: &Path, why: &str) -> String {
    format!("the stored layout was damaged ({why}); it is kept in {}", to.display())
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("the stored layout {} can't be read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use creel_api::layout::Layout;

    use super::*;

    #[test]
    fn what_is_changed_is_there_at_the_next_opening() {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut book, problem) = Book::open(dir.path());
        assert_eq!((book.stored().revision, problem), (0, None));
        let wanted = LayoutChange { revision: Some(0), layout: Layout::default() };
        assert_eq!(book.change(&wanted).expect("a change").revision, 1);
        assert!(matches!(book.change(&wanted), Err(BookError::Refused(_))));
        assert_eq!(Book::open(dir.path()).0.stored().revision, 1);
    }

    #[test]
    fn a_damaged_layout_is_kept_and_named_and_the_host_goes_on() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join(NAME), "garbage\n").expect("writes");
        let (book, problem) = Book::open(dir.path());
        assert_eq!(book.stored(), &Stored::default());
        assert!(problem.expect("it is told").contains("layout.damaged"));
        let bad = br#"{"revision":1,"layout":{"version":9,"tabs":[]}}"#;
        state_file::store(&dir.path().join(NAME), bad).expect("stores");
        let (book, problem) = Book::open(dir.path());
        assert_eq!(book.stored(), &Stored::default());
        assert!(problem.expect("it is told").contains("version 9"));
    }
}
