use super::*;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::os::scripted::in_own_process;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn make(&self, mode: u32) {
        fs::create_dir(self.path()).expect("a directory");
        fs::set_permissions(self.path(), PermissionsExt::from_mode(mode)).expect("a mode");
    }

    fn mode(&self) -> u32 {
        fs::metadata(self.path()).expect("a directory").permissions().mode() & 0o7777
    }

    /// Opens the directory; what was refused is told without the place's path.
    fn check(&self, expected: Result<(), &str>) {
        let opened = RuntimeDir::at(self.path())
            .map(|_| ())
            .map_err(|error| error.to_string().replace(&self.path().display().to_string(), "DIR"));
        assert_eq!(opened, expected.map_err(str::to_owned));
    }
}

#[test]
fn a_missing_directory_is_made_for_us_alone_and_made_again() {
    let place = Place::new();
    place.check(Ok(()));
    assert_eq!(place.mode(), 0o700);
    let dir = RuntimeDir::at(place.path()).expect("a directory");
    fs::remove_dir(place.path()).expect("a cleaner");
    dir.ensure().expect("a new directory");
    assert_eq!(place.mode(), 0o700);
}

#[test]
fn an_empty_directory_is_closed_and_one_in_use_refused() {
    let place = Place::new();
    place.make(0o777);
    place.check(Ok(()));
    assert_eq!(place.mode(), 0o700);
    let place = Place::new();
    place.make(0o755);
    fs::write(place.path().join("in use"), "").expect("a file");
    place.check(Err(
        "the runtime directory DIR is open to others (mode 0755) and in use; run `chmod 700` on it or set CREEL_RUNTIME_DIR to a directory of its own",
    ));
    assert_eq!(place.mode(), 0o755, "nothing was changed");
}

#[test]
fn what_is_no_directory_is_refused() {
    let place = Place::new();
    fs::write(place.path(), "").expect("a file");
    place.check(Err(
        "the runtime directory DIR is a file, not a directory; remove it or set CREEL_RUNTIME_DIR",
    ));
    let place = Place::new();
    symlink(place.dir.path(), place.path()).expect("a link");
    place.check(Err(
        "the runtime directory DIR is a symbolic link, not a directory; remove it or set CREEL_RUNTIME_DIR",
    ));
    let error = RuntimeDir::at(PathBuf::from("run/here")).expect_err("a relative path");
    assert!(error.to_string().contains("run/here"), "{error}");
}

#[test]
fn anothers_directory_is_refused_readable_or_not() {
    let user = rustix::process::geteuid();
    for mode in [0o700, 0o777] {
        let place = Place::new();
        let (path, owner) = if user.is_root() {
            place.make(mode);
            let nobody = rustix::process::Uid::from_raw(65534);
            rustix::fs::chown(place.path(), Some(nobody), None).expect("another owner");
            (place.path(), 65534)
        } else {
            (PathBuf::from("/"), 0)
        };
        match RuntimeDir::at(path.clone()) {
            Err(RuntimeDirError::NotOwned { path: told, owner: told_owner, user: told_user }) => {
                assert_eq!((told, told_owner, told_user), (path, owner, user.as_raw()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn another_user_cannot_use_ours() {
    let name = concat!(module_path!(), "::another_user_cannot_use_ours");
    let place = Place::new();
    fs::set_permissions(place.dir.path(), PermissionsExt::from_mode(0o755)).expect("a mode");
    place.make(0o700);
    let setting = format!("CREEL_RUNTIME_DIR={}", place.path().display());
    let mut wrapper = crate::os::scripted::as_plain_user().to_vec();
    let is_other = !wrapper.is_empty();
    wrapper.extend(["env", &setting]);
    in_own_process(name, &wrapper, || match RuntimeDir::open() {
        Err(RuntimeDirError::NotOwned { owner, .. }) => assert_eq!(owner, 0),
        // Not run as root, there is no other user to be.
        opened => assert!(!is_other && opened.is_ok(), "{opened:?}"),
    });
}

#[test]
fn the_variable_names_the_directory() {
    let name = concat!(module_path!(), "::the_variable_names_the_directory");
    let place = Place::new();
    let setting = format!("CREEL_RUNTIME_DIR={}", place.path().display());
    in_own_process(name, &["env", &setting], || {
        let named = std::env::var_os(RUNTIME_DIR_VARIABLE).expect("a path");
        assert_eq!(RuntimeDir::open().expect("a directory").path(), Path::new(&named));
        assert!(Path::new(&named).is_dir());
    });
}

#[test]
fn a_socket_path_fits_its_address_or_is_refused_with_its_length() {
    let place = Place::new();
    let dir = RuntimeDir::at(place.path()).expect("a directory");
    let room = MAX_SOCKET_PATH_BYTES - place.path().as_os_str().len() - 1;
    let path = dir.socket_path(&"s".repeat(room)).expect("a path that just fits");
    assert_eq!(path.as_os_str().len(), MAX_SOCKET_PATH_BYTES);
    assert!(std::os::unix::net::UnixListener::bind(path).is_ok());
    match dir.socket_path(&"s".repeat(room + 1)) {
        Err(RuntimeDirError::SocketPathTooLong { len_bytes, .. }) => assert_eq!(len_bytes, 104),
        other => panic!("{other:?}"),
    }
    for name in ["", ".", "..", "a/b", "a\0b"] {
        let refused = dir.socket_path(name);
        assert!(matches!(refused, Err(RuntimeDirError::SocketName { .. })), "{name:?}");
    }
}
