//! The feed as those see it who wait for changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use creel_record::SessionId;
use creel_spool::{Change, RowFilter, Store, WriteError};
use creel_sys::os_fs::OsFs;
use tempfile::TempDir;

use crate::mint::{Minter, note, session_id};

/// Far more than a change takes to be seen.
const WAIT: Duration = Duration::from_secs(20);

struct Scene {
    _dir: TempDir,
    store: Store,
    minter: Minter,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(&dir.path().join("orb"), Arc::new(OsFs), "boot").unwrap();
        let mut scene = Self { _dir: dir, store, minter: Minter::new(1) };
        for n in [1, 2] {
            let created = scene.minter.created(session_id(n));
            let draft = scene.minter.draft(created);
            scene.store.create_session(session_id(n), draft).unwrap();
        }
        scene.store.rows(RowFilter::All).unwrap();
        scene
    }

    fn append(&mut self, n: u8) {
        let draft = self.minter.draft(note("more"));
        self.store
            .transact(session_id(n), |_| Ok::<_, WriteError>(Change::Append(draft, ())))
            .unwrap();
    }

    fn feed(&self) -> std::path::PathBuf {
        self.store.root().join("indexes/changes.jsonl")
    }
}

/// Checks what the next wait reports: the sessions, and whether it is a gap.
fn check(watch: &mut creel_spool::FeedWatch, expected: &[SessionId], is_gap: bool) {
    let changed = watch.wait(if expected.is_empty() && !is_gap { Duration::ZERO } else { WAIT });
    let changed = changed.unwrap();
    assert_eq!((changed.ids.as_slice(), changed.is_gap), (expected, is_gap));
}

#[test]
fn each_change_is_reported_once() {
    let mut scene = Scene::new();
    let mut watch = scene.store.watch().unwrap();
    check(&mut watch, &[], false);
    scene.append(1);
    check(&mut watch, &[session_id(1)], false);
    check(&mut watch, &[], false);
    scene.append(2);
    scene.append(1);
    scene.append(2);
    check(&mut watch, &[session_id(1), session_id(2)], false);
    check(&mut watch, &[], false);
}

#[test]
fn a_wait_ends_with_the_change_of_another_thread() {
    let mut scene = Scene::new();
    let mut watch = scene.store.watch().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| scene.append(1));
        check(&mut watch, &[session_id(1)], false);
    });
}

#[test]
fn a_compacted_feed_hides_no_change_and_repeats_none() {
    let mut scene = Scene::new();
    scene.store = scene.store.clone().with_feed_room(4096);
    let mut watch = scene.store.watch().unwrap();
    let mut generations = std::collections::BTreeSet::new();
    for _ in 0..20 {
        scene.append(1);
        check(&mut watch, &[session_id(1)], false);
        check(&mut watch, &[], false);
        let text = std::fs::read_to_string(scene.feed()).unwrap();
        generations.insert(text.lines().next().unwrap().to_owned());
    }
    assert!(generations.len() > 2, "the feed was compacted {} times", generations.len() - 1);
    assert!(std::fs::metadata(scene.feed()).unwrap().len() < 8192);
    assert_eq!(scene.store.rows(RowFilter::All).unwrap().len(), 2);
}

#[test]
fn a_feed_that_nobody_lists_stays_short_and_incomplete() {
    let mut scene = Scene::new();
    scene.store = scene.store.clone().with_feed_room(4096);
    std::fs::remove_file(scene.feed()).unwrap();
    for _ in 0..40 {
        scene.append(1);
    }
    assert!(std::fs::metadata(scene.feed()).unwrap().len() < 8192);
    assert_eq!(scene.store.rows(RowFilter::All).unwrap().len(), 2);
}

#[test]
fn a_feed_that_is_made_anew_is_a_gap() {
    let mut scene = Scene::new();
    let mut watch = scene.store.watch().unwrap();
    std::fs::remove_file(scene.feed()).unwrap();
    scene.append(1);
    let changed = watch.wait(WAIT).unwrap();
    assert!(changed.is_gap, "{changed:?}");
    scene.store.rows(RowFilter::All).unwrap();
    scene.append(2);
    let changed = watch.wait(WAIT).unwrap();
    assert!(changed.ids.contains(&session_id(2)), "{changed:?}");
}

/// Removes the directory of the feed.
fn remove_indexes(scene: &Scene) {
    std::fs::remove_dir_all(scene.store.root().join("indexes")).unwrap();
}

#[test]
fn a_watch_makes_the_directory_that_is_missing() {
    let mut scene = Scene::new();
    remove_indexes(&scene);
    let mut watch = scene.store.watch().unwrap();
    check(&mut watch, &[], false);
    scene.append(1);
    assert!(watch.wait(WAIT).unwrap().is_gap, "the feed is new");
    scene.append(2);
    check(&mut watch, &[session_id(2)], false);
}

#[test]
fn a_writer_makes_the_feed_and_its_directory_anew() {
    let mut scene = Scene::new();
    remove_indexes(&scene);
    scene.append(1);
    assert!(scene.feed().exists());
    remove_indexes(&scene);
    assert_eq!(scene.store.rows(RowFilter::All).unwrap().len(), 2);
    assert!(scene.feed().exists());
}

#[test]
fn a_watch_goes_on_when_its_directory_is_removed() {
    let mut scene = Scene::new();
    let mut watch = scene.store.watch().unwrap();
    for _ in 0..3 {
        remove_indexes(&scene);
        scene.append(1);
        let mut gaps = 0;
        // The loss of the feed, the loss of the directory and the new feed are gaps; how many of
        // them are told apart depends on who is first.
        loop {
            let changed = watch.wait(Duration::ZERO).unwrap();
            if changed.is_empty() {
                break;
            }
            gaps += u32::from(changed.is_gap);
        }
        assert!(gaps > 0);
        scene.append(2);
        check(&mut watch, &[session_id(2)], false);
    }
}

#[test]
fn a_watch_with_nobody_writing_reports_the_loss_of_its_directory() {
    let scene = Scene::new();
    let mut watch = scene.store.watch().unwrap();
    remove_indexes(&scene);
    assert!(watch.wait(WAIT).unwrap().is_gap);
    while !watch.wait(Duration::ZERO).unwrap().is_empty() {}
    assert!(scene.store.index_dir().exists());
}

#[test]
fn a_change_whose_writer_died_before_its_row_is_reported_in_the_end() {
    let scene = Scene::new();
    let mut watch = scene.store.watch().unwrap();
    let feed = std::fs::read_to_string(scene.feed()).unwrap();
    let mark = format!("{{\"dirty\":\"{}\"", session_id(1));
    let line = format!("\n{mark},\"crc\":\"{:08x}\"}}\n", crc32c(mark.as_bytes()));
    std::fs::write(scene.feed(), feed + &line).unwrap();
    check(&mut watch, &[session_id(1)], false);
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn a_feed_of_another_boot_or_with_a_torn_line_is_made_anew() {
    let mut scene = Scene::new();
    let reopened = |boot| Store::open(scene.store.root(), Arc::new(OsFs), boot).unwrap();
    assert_eq!(reopened("boot-2").rows(RowFilter::All).unwrap().len(), 2);
    let text = std::fs::read_to_string(scene.feed()).unwrap();
    assert!(text.starts_with("{\"version\":1,\"bootId\":\"boot-2\",\"isComplete\":true"), "{text}");
    let torn = text.replacen("\"updated\"", "\"upd\0ted\"", 1);
    std::fs::write(scene.feed(), torn).unwrap();
    scene.store = reopened("boot-2");
    scene.append(1);
    let rows = scene.store.rows(RowFilter::All).unwrap();
    let first = rows.iter().next().unwrap().parse().unwrap();
    assert_eq!((rows.len(), first.id), (2, session_id(1).to_string()));
    assert_eq!(
        first.updated,
        scene.store.read(session_id(1)).unwrap().session().updated.to_string()
    );
    assert!(Path::new(&scene.feed()).exists());
}
