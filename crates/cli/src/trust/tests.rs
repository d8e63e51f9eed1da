use std::path::Path;

use super::{TrustList, TrustedStore};

/// A directory of its own for each test, gone with it.
struct Place(std::path::PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("creel-trust-{name}-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(dir.join("a/.orb")).unwrap();
        std::fs::create_dir_all(dir.join("b/.orb")).unwrap();
        Self(dir)
    }

    fn list(&self) -> std::path::PathBuf {
        self.0.join("state/creel/stores.json")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn check(place: &Place, root: &Path, is_trusted: bool) {
    let list = TrustList::read(&place.list()).unwrap();
    assert_eq!(list.trusts(root), is_trusted, "{}", root.display());
}

#[test]
fn a_store_is_trusted_until_it_is_forgotten() {
    let place = Place::new("forget");
    let root = place.0.join("a/.orb");
    check(&place, &root, false);
    assert!(TrustList::add(&place.list(), TrustedStore::of(&root).unwrap()).unwrap());
    assert!(!TrustList::add(&place.list(), TrustedStore::of(&root).unwrap()).unwrap());
    check(&place, &root, true);
    check(&place, &place.0.join("b/.orb"), false);
    let canonical = root.canonicalize().unwrap();
    assert!(TrustList::remove(&place.list(), &canonical).unwrap());
    assert!(!TrustList::remove(&place.list(), &canonical).unwrap());
    check(&place, &root, false);
}

#[test]
fn another_directory_under_a_trusted_path_is_not_trusted() {
    let place = Place::new("swap");
    let root = place.0.join("a/.orb");
    TrustList::add(&place.list(), TrustedStore::of(&root).unwrap()).unwrap();
    std::fs::rename(&root, place.0.join("old")).unwrap();
    std::fs::create_dir(&root).unwrap();
    check(&place, &root, false);
    check(&place, &place.0.join("old"), false);
}

#[test]
fn the_list_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new("mode");
    TrustList::add(&place.list(), TrustedStore::of(&place.0.join("a/.orb")).unwrap()).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.list()), 0o600);
    assert_eq!(mode(place.list().parent().unwrap()), 0o700);
}

#[test]
fn a_list_that_cannot_be_read_trusts_nothing() {
    let place = Place::new("bad");
    std::fs::create_dir_all(place.list().parent().unwrap()).unwrap();
    for text in ["{", "{\"version\":99,\"stores\":[]}"] {
        std::fs::write(place.list(), text).unwrap();
        let report = TrustList::read(&place.list()).unwrap_err();
        assert_eq!(report.code(), crate::codes::Code::TrustUnusable, "{text}");
    }
}
