//! The systemd user unit that keeps a host up.

use std::io;
use std::path::{Path, PathBuf};

use creel_sys::fs::{Fs, FsFile, OpenHow, write_all_at};
use creel_sys::os_fs::OsFs;

/// The name of the unit.
pub const UNIT_NAME: &str = "creel-host.service";

/// The first line of a unit of ours: another one at the name is somebody else's.
const MARK: &str = "# Written by `creel host install-service`.";

/// Returns the unit that runs `exe`.
///
/// `KillMode=process`: a stop ends the host alone. Holders that were started from it are in scopes
/// of their own where `systemd-run --user --scope` works; where it doesn't, they are in the
/// service's control group, which any other mode would end whole.
pub fn unit(exe: &Path, runtime_dir: Option<&Path>) -> String {
    let environment = runtime_dir.map_or(String::new(), |dir| {
        let value = quoted(&format!("CREEL_RUNTIME_DIR={}", dir.display()), "%");
        format!("Environment={value}\n")
    });
    let exe = quoted(&exe.display().to_string(), "%$");
    format!(
        "{MARK}
# `creel host uninstall-service` removes it.

[Unit]
Description=Creel host: knows the coding-agent sessions of this user

[Service]
Type=exec
ExecStart={exe} host run
{environment}# Agents outlive the host. A stop ends its process and nothing else: without this systemd would end
# everything in the control group of the service, holders and agents with it.
KillMode=process
# A left-over of the last one is a holder at work, and none of this unit's business.
SendSIGKILL=no
TimeoutStopSec=15
Restart=on-failure
RestartSec=2
# 4: another host runs. 5: its directories can't be used.
RestartPreventExitStatus=4 5
UMask=0077

[Install]
WantedBy=default.target
"
    )
}

/// Quotes a word for a unit file; `doubled` are the characters that mean something else when they
/// stand alone.
fn quoted(word: &str, doubled: &str) -> String {
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if doubled.contains(c) => text.extend([c, c]),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// What came of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The unit was written.
    Written(PathBuf),
    /// It was there, the same.
    Already(PathBuf),
    /// Something else has its name, and was left alone.
    Foreign(PathBuf),
}

/// Writes the unit into `dir`, over an older one of ours.
///
/// # Errors
/// When it can't be read or written.
pub fn install(dir: &Path, text: &str) -> io::Result<Installed> {
    let path = dir.join(UNIT_NAME);
    match std::fs::read_to_string(&path) {
        Ok(found) if found == text => return Ok(Installed::Already(path)),
        Ok(found) if !found.starts_with(MARK) => return Ok(Installed::Foreign(path)),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    OsFs.create_dir_all(dir)?;
    let fresh = dir.join(format!("{UNIT_NAME}.new"));
    match OsFs.remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = OsFs.open_file(&fresh, OpenHow::CreateNew)?;
    write_all_at(&file, text.as_bytes(), 0)?;
    file.sync_data()?;
    OsFs.rename(&fresh, &path)?;
    Ok(Installed::Written(path))
}

/// What came of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The unit was removed.
    Gone(PathBuf),
    /// There was none.
    Nothing,
    /// Something else has its name, and was left alone.
    Foreign(PathBuf),
}

/// Removes the unit from `dir`.
///
/// # Errors
/// When it can't be read or removed.
pub fn uninstall(dir: &Path) -> io::Result<Removed> {
    let path = dir.join(UNIT_NAME);
    match std::fs::read_to_string(&path) {
        Ok(found) if found.starts_with(MARK) => {
            OsFs.remove_file(&path)?;
            Ok(Removed::Gone(path))
        }
        Ok(_) => Ok(Removed::Foreign(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Removed::Nothing),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_one_word_whatever_its_path() {
        let check = |exe: &str, expected: &str| {
            let text = unit(Path::new(exe), None);
            assert!(text.contains(&format!("\nExecStart={expected} host run\n")), "{text}");
        };
        check("/usr/bin/creel", "\"/usr/bin/creel\"");
        check("/home/a b/100%/$x/creel", "\"/home/a b/100%%/$$x/creel\"");
        check("/a\"b\\c", "\"/a\\\"b\\\\c\"");
        let text = unit(Path::new("/c"), Some(Path::new("/run/100%")));
        assert!(text.contains("\nEnvironment=\"CREEL_RUNTIME_DIR=/run/100%%\"\n"), "{text}");
    }

    #[test]
    fn a_unit_of_ours_is_replaced_and_anothers_is_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let units = dir.path().join("systemd/user");
        let path = units.join(UNIT_NAME);
        let text = unit(Path::new("/c"), None);
        assert_eq!(uninstall(&units).expect("reads"), Removed::Nothing);
        assert_eq!(install(&units, &text).expect("writes"), Installed::Written(path.clone()));
        assert_eq!(install(&units, &text).expect("reads"), Installed::Already(path.clone()));
        let newer = unit(Path::new("/d"), None);
        assert_eq!(install(&units, &newer).expect("writes"), Installed::Written(path.clone()));
        assert_eq!(uninstall(&units).expect("removes"), Removed::Gone(path.clone()));
        std::fs::write(&path, "[Unit]\n").expect("writes");
        assert_eq!(install(&units, &text).expect("reads"), Installed::Foreign(path.clone()));
        assert_eq!(uninstall(&units).expect("reads"), Removed::Foreign(path));
    }
}
