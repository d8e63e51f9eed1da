//! Creations: what they keep, what is left of one that was cut off, and who waits for one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use creel_spool::{HealError, ReadError, RowFilter, Store};
use creel_sys::fs::{Fs, LockMode, OpenHow, write_all_at};
use creel_sys::os_fs::OsFs;
use creel_testkit::disk::DiskFs;

use crate::ledger::{ROOT, heal};
use crate::mint::{Minter, session_id};

fn store(disk: &DiskFs) -> Store {
    Store::create(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap()
}

#[test]
fn a_long_environment_is_kept_in_the_creation_and_not_in_the_snapshot() {
    let disk = DiskFs::new();
    let store = store(&disk);
    let (id, mut minter) = (session_id(1), Minter::new(1));
    let mut created = minter.created(id);
    let kept = BTreeMap::from([("PATH".to_owned(), "/nix/store/x:".repeat(9000))]);
    created.environment = kept.clone();
    store.create_session(id, minter.draft(created)).unwrap();
    let published = store.read(id).unwrap();
    assert_eq!(store.environment(id, published.session()).unwrap(), kept);
    assert!(published.snapshot.encode().unwrap().len() < 4096);
    // Nothing vouches for what a damaged creation says.
    let file = disk.open(&store.log_path(id), OpenHow::ReadWrite).unwrap();
    write_all_at(file.as_ref(), b"?", 2000).unwrap();
    let refused = store.environment(id, published.session());
    assert!(matches!(refused, Err(ReadError::Damaged { .. })), "{refused:?}");
    heal(&store, id, &mut minter).unwrap();
    let healed = store.read(id).unwrap();
    assert_eq!(store.environment(id, healed.session()).unwrap(), BTreeMap::new());
}

/// Checks that a part of a first line is no session and no damage, and goes.
fn check_unfinished(part: &[u8]) {
    let disk = DiskFs::new();
    let store = store(&disk);
    let (id, mut minter) = (session_id(1), Minter::new(1));
    let file = disk.open(&store.log_path(id), OpenHow::CreateNew).unwrap();
    write_all_at(file.as_ref(), part, 0).unwrap();
    drop(file);
    let report = store.verify(id).unwrap();
    assert!(report.is_unfinished && report.is_clean() && !report.needs_heal(), "{report:?}");
    let healed = heal(&store, id, &mut minter).unwrap();
    assert!(healed.is_removed && healed.is_changed && healed.lost.is_empty(), "{healed:?}");
    let kept = store.session_dir(id).join(healed.kept_as.unwrap());
    assert_eq!(disk.files()[&kept], part);
    let again = heal(&store, id, &mut minter);
    assert!(matches!(again, Err(HealError::NotFound { .. })), "{again:?}");
    assert!(store.ids().unwrap().is_empty());
    assert!(store.rows(RowFilter::All).unwrap().is_empty());
    let created = minter.created(id);
    store.create_session(id, minter.draft(created)).unwrap();
    assert!(store.verify(id).unwrap().is_clean());
}

#[test]
fn an_unfinished_creation_is_told_and_cleared_away() {
    check_unfinished(b"{");
    check_unfinished(b"{\"specversion\":\"1.0\",\"id\":\"019");
    check_unfinished(&[0; 700]);
}

#[test]
fn a_list_waits_for_a_session_that_is_being_created() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(&dir.path().join("orb"), Arc::new(OsFs), "boot").unwrap();
    let (id, mut minter) = (session_id(1), Minter::new(1));
    let created = minter.created(id);
    store.create_session(id, minter.draft(created)).unwrap();
    store.rows(RowFilter::All).unwrap();
    // As its creator leaves it for a moment: locked, announced, and not yet published.
    let snapshot = store.spool_dir().join(format!("{id}.json"));
    let aside = dir.path().join("aside");
    std::fs::rename(&snapshot, &aside).unwrap();
    std::fs::remove_file(store.index_dir().join("changes.jsonl")).unwrap();
    let log = OsFs.open(&store.log_path(id), OpenHow::ReadWrite).unwrap();
    assert!(log.try_lock(LockMode::Exclusive).unwrap());
    std::thread::scope(|scope| {
        let lister = scope.spawn(|| store.rows(RowFilter::All).unwrap());
        std::fs::rename(&aside, &snapshot).unwrap();
        drop(log);
        let rows = lister.join().unwrap();
        assert_eq!((rows.len(), rows.unreadable().len()), (1, 0));
    });
}
