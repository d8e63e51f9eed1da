//! The secret that a client of the HTTP port has to show.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use creel_sys::fs::{Fs, FsFile, OpenHow, write_all_at};
use creel_sys::os_fs::OsFs;

use crate::state_file::set_aside;

/// The name of the file in the state directory.
pub const TOKEN_FILE: &str = "token";

/// Characters that a token has at least; fewer could be guessed.
const MIN_TOKEN_BYTES: usize = 32;
const MAX_TOKEN_BYTES: usize = 256;

/// The secret. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the token of `state_dir`, made when there is none. It stays the same over restarts, so
    /// that clients need not be told. One that others could have read or written is made anew.
    pub(crate) fn open(state_dir: &Path) -> io::Result<Self> {
        let path = state_dir.join(TOKEN_FILE);
        match read(&path) {
            Ok(Some(token)) => return Ok(token),
            Ok(None) => {
                set_aside(&path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let token =
            Self(format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple()));
        let fresh = state_dir.join("token.new");
        match OsFs.remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OsFs.open_file(&fresh, OpenHow::CreateNew)?;
        write_all_at(&file, format!("{}\n", token.0).as_bytes(), 0)?;
        file.sync_data()?;
        OsFs.rename(&fresh, &path)?;
        Ok(token)
    }

    /// Tells whether `shown` is the token, in a time that tells nothing of how much of it is right.
    pub(crate) fn is(&self, shown: &str) -> bool {
        let (ours, shown) = (self.0.as_bytes(), shown.as_bytes());
        let mut differs = u8::from(ours.len() != shown.len());
        for (at, byte) in ours.iter().enumerate() {
            differs |= byte ^ shown.get(at).copied().unwrap_or(0);
        }
        std::hint::black_box(differs) == 0
    }
}

/// Reads the file; none when it can't be trusted.
fn read(path: &Path) -> io::Result<Option<Token>> {
    let file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    let own = std::fs::metadata("/proc/self")?.uid();
    let mut text = String::new();
    let is_text = file.take(MAX_TOKEN_BYTES as u64 + 2).read_to_string(&mut text).is_ok();
    let token = text.trim_end_matches('\n');
    let is_good = is_text
        && metadata.uid() == own
        && metadata.permissions().mode() & 0o077 == 0
        && (MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_graphic());
    Ok(is_good.then(|| Token(token.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stays_and_nothing_else_passes_for_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let token = Token::open(dir.path()).expect("is made");
        assert_eq!(token.0.len(), 64);
        assert_eq!(Token::open(dir.path()).expect("is read"), token);
        let path = dir.path().join(TOKEN_FILE);
        assert_eq!(path.metadata().expect("a stat").permissions().mode() & 0o777, 0o600);
        let check = |shown: &str, expected| assert_eq!(token.is(shown), expected);
        check(&token.0, true);
        check("", false);
        check(&token.0[1..], false);
        check(&format!("{}x", token.0), false);
        check(&token.0.replace(&token.0[..1], "g"), false);
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn a_token_that_others_can_read_is_made_anew() {
        let dir = tempfile::tempdir().expect("a directory");
        let token = Token::open(dir.path()).expect("is made");
        let path = dir.path().join(TOKEN_FILE);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("a mode");
        assert_ne!(Token::open(dir.path()).expect("is made"), token);
        std::fs::write(&path, "short\n").expect("writes");
        assert_eq!(Token::open(dir.path()).expect("is made").0.len(), 64);
    }
}
