//! The directory on an agent's PATH in which `creel` and `flint` answer.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use creel_sys::runtime_dir::RuntimeDir;
use sha2::{Digest as _, Sha256};

use crate::codes::Code;
use crate::report::{Report, chain};

/// The names that an agent may call.
const NAMES: [&str; 2] = ["creel", "flint"];

/// Returns the directory of links to `exe`, made or mended as needed. Its name stands for the
/// executable, so that two builds on one machine don't take each other's place.
///
/// # Errors
/// When the runtime directory can't be used or written.
pub(crate) fn ensure(runtime: &RuntimeDir, exe: &Path) -> Result<PathBuf, Report> {
    let digest = Sha256::digest(exe.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let dir = runtime.path().join(format!("bin-{name}"));
    mend(&dir, exe).map_err(|error| {
        let message = format!("can't link `creel` in {}: {}", dir.display(), chain(&error));
        Report::new(Code::RuntimeDirUnusable, message)
            .next(format!("ls -ld {}", runtime.path().display()))
    })?;
    Ok(dir)
}

fn mend(dir: &Path, exe: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for name in NAMES {
        let link = dir.join(name);
        if std::fs::read_link(&link).is_ok_and(|target| target == exe) {
            continue;
        }
        // Renamed into place: an agent that looks the name up meanwhile finds the old or the new.
        let fresh = dir.join(format!(".{name}-{}", uuid::Uuid::new_v4()));
        symlink(exe, &fresh)?;
        std::fs::rename(&fresh, &link)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{NAMES, RuntimeDir, ensure};

    fn check(runtime: &RuntimeDir, exe: &Path) {
        let dir = ensure(runtime, exe).unwrap();
        for name in NAMES {
            assert_eq!(std::fs::read_link(dir.join(name)).unwrap(), exe);
        }
    }

    #[test]
    fn links_are_made_kept_and_mended() {
        let place = std::env::temp_dir().join(format!("creel-shims-{}", uuid::Uuid::new_v4()));
        let runtime = RuntimeDir::at(place.clone()).unwrap();
        let exe = Path::new("/opt/creel");
        check(&runtime, exe);
        let dir = ensure(&runtime, exe).unwrap();
        std::fs::remove_file(dir.join("flint")).unwrap();
        std::fs::remove_file(dir.join("creel")).unwrap();
        std::os::unix::fs::symlink("/bin/false", dir.join("creel")).unwrap();
        check(&runtime, exe);
        assert_ne!(dir, ensure(&runtime, Path::new("/opt/other")).unwrap());
        std::fs::remove_dir_all(place).unwrap();
    }
}
