//! What the host keeps of the environment it was started from, and what programs get from it.

use std::ffi::{OsStr, OsString};

/// What finds the user's programs, directories and language; nothing that could be a secret, and
/// nothing of a session. Beside these, every variable that begins with `XDG_` or `LC_`.
const KEPT: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "CREEL_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "NO_COLOR",
];

/// Returns the variables of this process that a host, and what it starts, gets.
pub fn inherited() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_kept(name)).collect()
}

fn is_kept(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        KEPT.contains(&name) || name.starts_with("XDG_") || name.starts_with("LC_")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_session_and_no_credential_is_kept() {
        for kept in ["PATH", "XDG_RUNTIME_DIR", "LC_ALL", "CREEL_RUNTIME_DIR"] {
            assert!(is_kept(kept.as_ref()), "{kept}");
        }
        for left in ["ORBH_SESSION_ID", "ORBH_ORB_ROOT_DIR", "CREEL_RUN_ID", "API_KEY", "PATHS"] {
            assert!(!is_kept(left.as_ref()), "{left}");
        }
    }
}
