//! What a store refuses, and what it says.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use creel_spool::{
    Access, Change, Lease, OpenError, ReadError, ResolveError, Store, TransactError, WriteError,
};
use creel_sys::fs::Fs;
use creel_sys::os_fs::OsFs;
use tempfile::TempDir;

use crate::mint::{Minter, note, session_id};

fn scene() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(&dir.path().join("orb"), Arc::new(OsFs), "boot").unwrap();
    let mut minter = Minter::new(1);
    for n in [1, 2] {
        let created = minter.created(session_id(n));
        store.create_session(session_id(n), minter.draft(created)).unwrap();
    }
    (dir, store)
}

fn open(root: &Path) -> Result<Store, OpenError> {
    Store::open(root, Arc::new(OsFs), "boot")
}

/// Checks an error's text, and that of its causes.
fn check<T: std::fmt::Debug, E: std::error::Error>(result: Result<T, E>, expected: &str) {
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn a_store_is_opened_only_where_there_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("orb");
    check(open(&root), &format!("no store at {}", root.display()));
    std::fs::write(&root, "").unwrap();
    check(open(&root), &format!("{} is not a directory", root.display()));
    check(
        Store::create(&root, Arc::new(OsFs), "boot"),
        &format!("{} is not a directory", root.display()),
    );
    std::fs::remove_file(&root).unwrap();
    std::fs::create_dir(&root).unwrap();
    check(open(&root), &format!("no store at {}", root.display()));
    let manifest = root.join("manifest.json");
    std::fs::write(&manifest, "[]").unwrap();
    check(open(&root), &format!("{} is not a manifest", manifest.display()));
    std::fs::write(&manifest, r#"{"schemaVersion":"1.0","kind":"other"}"#).unwrap();
    check(open(&root), &format!("{} holds a store of kind 'other'", root.display()));
}

#[test]
fn a_store_of_a_newer_schema_is_read_only() {
    let (_dir, store) = scene();
    let manifest = store.root().join("manifest.json");
    std::fs::write(&manifest, r#"{"schemaVersion":"1.1","kind":"orb-spool-tree-store"}"#).unwrap();
    let newer = open(store.root()).unwrap();
    let Access::Newer { reason } = newer.access() else { panic!("it may be written") };
    assert_eq!(reason, "the store has schema 1.1, newer than 1.0 of this build");
    newer.read(session_id(1)).unwrap();
    assert_eq!(newer.rows(creel_spool::RowFilter::All).unwrap().len(), 2);
    let before = std::fs::read(newer.log_path(session_id(1))).unwrap();
    let refused = newer.transact(session_id(1), |_| {
        Ok::<_, WriteError>(Change::Append(Minter::new(2).draft(note("no")), ()))
    });
    check(refused, &format!("session {} is read-only: {reason}", session_id(1)));
    assert!(newer.lease(session_id(1)).is_err());
    assert_eq!(std::fs::read(newer.log_path(session_id(1))).unwrap(), before);
}

#[test]
fn a_session_is_created_once() {
    let (_dir, store) = scene();
    let mut minter = Minter::new(2);
    let created = minter.created(session_id(1));
    let again = store.create_session(session_id(1), minter.draft(created));
    check(again.map(|_| ()), &format!("session {} exists", session_id(1)));
}

#[test]
fn a_log_that_is_empty_is_no_session_and_may_be_created() {
    let (_dir, store) = scene();
    let id = session_id(3);
    std::fs::write(store.log_path(id), "").unwrap();
    check(store.read(id).map(|_| ()), &format!("no session {id} in this store"));
    assert_eq!(store.ids().unwrap(), [session_id(1), session_id(2)]);
    let missing =
        store.transact(id, |_| -> Result<Change<()>, WriteError> { panic!("there is none") });
    assert!(matches!(missing, Err(TransactError::Write(WriteError::NotFound { .. }))));
    let mut minter = Minter::new(2);
    let created = minter.created(id);
    store.create_session(id, minter.draft(created)).unwrap();
    store.read(id).unwrap();
}

#[test]
fn a_first_event_other_than_a_creation_is_not_written() {
    let (_dir, store) = scene();
    let id = session_id(3);
    let refused = store.create_session(id, Minter::new(2).draft(note("first")));
    assert!(matches!(refused, Err(WriteError::NotWritten { .. })), "{refused:?}");
    assert!(matches!(store.read(id), Err(ReadError::NotFound { .. })));
}

#[test]
fn a_prefix_names_one_session_or_none() {
    let (_dir, store) = scene();
    let resolve = |text: &str| store.resolve(text);
    assert_eq!(resolve(&session_id(1).to_string()).unwrap(), session_id(1));
    assert_eq!(resolve("0101").unwrap(), session_id(1));
    check(resolve("01"), "'01' is neither a session id nor at least 4 characters of one");
    check(resolve("0101x"), "'0101x' is neither a session id nor at least 4 characters of one");
    check(resolve("../.."), "'../..' is neither a session id nor at least 4 characters of one");
    check(resolve("0303"), "no session '0303' in this store");
    let mut minter = Minter::new(2);
    let id = "01010101-0000-4000-8000-000000000000".parse().unwrap();
    let created = minter.created(id);
    store.create_session(id, minter.draft(created)).unwrap();
    let Err(ResolveError::Ambiguous { candidates, .. }) = resolve("0101") else {
        panic!("one of two")
    };
    assert_eq!(candidates, [id, session_id(1)]);
}

#[test]
fn a_missing_or_broken_snapshot_names_its_repair() {
    let (_dir, store) = scene();
    let id = session_id(1);
    let snapshot = store.spool_dir().join(format!("{id}.json"));
    let good = std::fs::read(&snapshot).unwrap();
    std::fs::write(&snapshot, &good[..good.len() / 2]).unwrap();
    check(
        store.read(id),
        &format!(
            "the snapshot of {id} is invalid; `creel rebuild-session-snapshots {id}` remakes it"
        ),
    );
    std::fs::remove_file(&snapshot).unwrap();
    check(
        store.read(id),
        &format!("session {id} has no snapshot; `creel rebuild-session-snapshots {id}` makes it"),
    );
    let dry = store.rebuild(id, creel_spool::Rebuild::DryRun).unwrap();
    assert!(dry.is_changed() && !snapshot.exists());
    store.rebuild(id, creel_spool::Rebuild::Write).unwrap();
    assert_eq!(std::fs::read(&snapshot).unwrap(), good);
}

#[test]
fn files_are_for_their_owner_only() {
    let (dir, store) = scene();
    drop(store.lease(session_id(1)).unwrap());
    store.rows(creel_spool::RowFilter::All).unwrap();
    let mut open = vec![dir.path().join("orb")];
    let mut count = 0;
    while let Some(path) = open.pop() {
        let metadata = std::fs::metadata(&path).unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o777, expected, "{}", path.display());
        count += 1;
        if metadata.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn a_lease_is_held_by_one_until_its_last_descriptor_is_closed() {
    let (_dir, store) = scene();
    let id = session_id(1);
    let lease = store.lease(id).unwrap().unwrap();
    assert_eq!(store.read_lease_note(id).unwrap(), None);
    lease.note("holder 7").unwrap();
    assert!(store.lease(id).unwrap().is_none());
    let handed_on = Lease::from_fd(lease.into_fd().unwrap());
    assert!(store.lease(id).unwrap().is_none());
    assert_eq!(store.read_lease_note(id).unwrap().as_deref(), Some("holder 7"));
    drop(handed_on);
    assert!(store.lease(id).unwrap().is_some());
    assert!(OsFs.stat(&store.lease_path(id)).is_ok());
}
