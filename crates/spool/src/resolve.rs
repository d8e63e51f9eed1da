//! Finding sessions by id, by the beginning of one, or all of them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use creel_record::SessionId;

use crate::error::{ReadError, ResolveError};
use crate::store::Store;

/// Fewer characters of an id name too much to be meant.
const MIN_PREFIX_CHARS: usize = 4;
const MAX_SHOWN_CHARS: usize = 64;

impl Store {
    /// Finds the session that `text` names: a whole id, or at least 4 characters of the only one
    /// that begins so.
    ///
    /// # Errors
    /// When the text can't be an id, or none or several sessions begin with it.
    pub fn resolve(&self, text: &str) -> Result<SessionId, ResolveError> {
        let shown = || text.chars().take(MAX_SHOWN_CHARS).collect::<String>();
        if let Ok(id) = text.parse::<SessionId>() {
            return match self.is_there(id) {
                Ok(true) => Ok(id),
                Ok(false) => Err(ResolveError::NotFound { text: shown() }),
                Err(source) => Err(ResolveError::Io { path: self.log_path(id), source }),
            };
        }
        let may_begin_id = text.len() >= MIN_PREFIX_CHARS
            && text.len() < 36
            && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        if !may_begin_id {
            return Err(ResolveError::Malformed { text: shown() });
        }
        let failed = |source| ResolveError::Io { path: self.spool_dir().to_owned(), source };
        let mut candidates = self.scan(text).map_err(failed)?;
        candidates.sort_unstable();
        match candidates.as_slice() {
            [] => Err(ResolveError::NotFound { text: shown() }),
            [only] => Ok(*only),
            _ => Err(ResolveError::Ambiguous { text: shown(), candidates }),
        }
    }

    /// Returns the ids of all sessions, in order. Reads the directory: for maintenance.
    ///
    /// # Errors
    /// When the directory can't be read.
    pub fn ids(&self) -> Result<Vec<SessionId>, ReadError> {
        let mut ids = self.scan("").map_err(ReadError::io(self.spool_dir()))?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn scan(&self, prefix: &str) -> io::Result<Vec<SessionId>> {
        let mut ids = BTreeSet::new();
        for name in self.fs().read_dir(self.spool_dir())? {
            let stem = name.to_str().and_then(|name| {
                name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"))
            });
            let Some(stem) = stem.filter(|stem| stem.starts_with(prefix)) else { continue };
            if let Ok(id) = stem.parse()
                && !ids.contains(&id)
                && self.is_there(id)?
            {
                ids.insert(id);
            }
        }
        Ok(ids.into_iter().collect())
    }

    /// True when a session's log holds something, or did: a log that is empty or gone was never
    /// acknowledged, unless a snapshot was made of it.
    pub(crate) fn is_there(&self, id: SessionId) -> io::Result<bool> {
        let holds = |path: &Path| match self.fs().stat(path) {
            Ok(stat) => Ok(stat.is_file && stat.len_bytes > 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        };
        Ok(holds(&self.log_path(id))? || holds(&self.snapshot_path(id))?)
    }
}
