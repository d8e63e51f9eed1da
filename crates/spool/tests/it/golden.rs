//! The stored forms, byte for byte.

use std::path::Path;
use std::sync::Arc;

use creel_record::{Fact, Session};
use creel_spool::Store;
use creel_sys::fs::Fs;
use creel_testkit::disk::DiskFs;

use crate::ledger::{Ledger, ROOT, append, heal};
use crate::mint::{Minter, ended, note, returned, session_id, set, spawned};

type Make = fn(&Session, &mut Minter) -> Fact;

/// Makes a store with one session of a few events and returns its disk.
fn scene() -> (DiskFs, Store) {
    let disk = DiskFs::new();
    let store = Store::create(Path::new(ROOT), Arc::new(disk.clone()), "boot").unwrap();
    let mut minter = Minter::new(1);
    let id = session_id(1);
    let created = minter.created(id);
    store.create_session(id, minter.draft(created)).unwrap();
    let mut ledger = Ledger::default();
    let facts: [Make; 6] = [
        |session, minter| minter.started(session).into(),
        |session, _| spawned(session),
        |_, _| set("phase", "two \"words\""),
        |_, _| note("line one\nline two"),
        |session, _| returned(session, "the result"),
        |session, _| ended(session),
    ];
    for fact in facts {
        append((&store, &mut ledger), (id, &mut minter), &fact).unwrap();
    }
    (disk, store)
}

/// Returns a file as text.
fn text(disk: &DiskFs, path: &str) -> String {
    let files = disk.files();
    String::from_utf8(files[&Path::new(ROOT).join(path)].clone()).unwrap()
}

fn spool(name: &str) -> String {
    format!("spaces/local/spools/{}{name}", session_id(1))
}

fn check(name: &str, stored: &str) {
    insta::assert_snapshot!(name, stored);
}

#[test]
fn the_stored_forms_stay_as_they_are() {
    let (disk, _) = scene();
    check("manifest", &text(&disk, "manifest.json"));
    check("log", &text(&disk, &spool(".jsonl")));
    check("snapshot", &text(&disk, &spool(".json")));
    check("feed_of_a_new_store", &text(&disk, "indexes/changes.jsonl"));
}

#[test]
fn a_remade_feed_is_stored_like_this() {
    let (disk, store) = scene();
    store.rows(creel_spool::RowFilter::All).unwrap();
    check("feed_made_anew", &text(&disk, "indexes/changes.jsonl"));
}

#[test]
fn the_run_index_is_stored_like_this() {
    let (disk, store) = scene();
    let mut minter = Minter::new(2);
    let mut ledger = Ledger::default();
    for _ in 0..8 {
        let start = |session: &Session, minter: &mut Minter| minter.started(session).into();
        append((&store, &mut ledger), (session_id(1), &mut minter), &start).unwrap();
    }
    check("run_index", &text(&disk, &spool("/runs.idx")));
}

#[test]
fn a_healed_log_is_stored_like_this() {
    let (disk, store) = scene();
    let log = text(&disk, &spool(".jsonl"));
    let at = log.find("phase").unwrap();
    let path = store.log_path(session_id(1));
    let file = disk.open(&path, creel_sys::fs::OpenHow::ReadWrite).unwrap();
    file.write_at(b"P", at as u64).unwrap();
    heal(&store, session_id(1), &mut Minter::new(3)).unwrap();
    check("healed_log", &text(&disk, &spool(".jsonl")));
    assert_eq!(text(&disk, &spool("/healed/1.jsonl")), log.replacen("phase", "Phase", 1));
}
