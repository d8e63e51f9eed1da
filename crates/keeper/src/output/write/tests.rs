use std::path::Path;

use creel_sys::fault::{Fault, FaultErrno, FaultFs};
use creel_sys::os_fs::OsFs;

use super::*;
use crate::output::{Piece, tail};

fn open(dir: &Path, max_bytes: u64) -> OutputLog {
    OutputLog::open(Arc::new(OsFs), dir.to_owned(), max_bytes).expect("opens")
}

fn pieces(dir: &Path) -> Vec<(u64, String, bool)> {
    let pieces = tail(dir, u64::MAX).expect("reads");
    let text = |piece: &Piece| String::from_utf8_lossy(&piece.bytes).into_owned();
    pieces.iter().map(|piece| (piece.offset, text(piece), piece.follows_unknown_loss)).collect()
}

fn check(dir: &Path, expected: &[(u64, &str, bool)]) {
    let expected: Vec<_> =
        expected.iter().map(|(at, text, lost)| (*at, (*text).to_owned(), *lost)).collect();
    assert_eq!(pieces(dir), expected);
}

#[test]
fn bytes_come_back_in_order_over_segments() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = open(dir.path(), 16);
    log.write(0, b"abc").expect("writes");
    log.write(3, b"defgh").expect("writes");
    check(dir.path(), &[(0, "abcdefgh", false)]);
    assert_eq!(log.end(), 8);
}

#[test]
fn the_oldest_bytes_go_first_and_the_bound_holds() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = open(dir.path(), 16);
    let all: Vec<u8> = (0..100).map(|at| b'a' + at % 26).collect();
    for (at, byte) in all.iter().enumerate() {
        log.write(at as u64, &[*byte]).expect("writes");
        let kept: u64 =
            segments(&OsFs, dir.path()).expect("lists").iter().map(|s| s.len_bytes).sum();
        assert!(kept <= 16, "{kept} bytes after {at}");
    }
    let kept = pieces(dir.path());
    assert_eq!(kept.len(), 1);
    assert!(kept[0].1.len() >= 12, "{kept:?}");
    assert!(String::from_utf8_lossy(&all).ends_with(&kept[0].1));
    assert_eq!(kept[0].0 + kept[0].1.len() as u64, 100);
}

#[test]
fn a_dropped_part_is_a_hole_of_known_length() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut log = open(dir.path(), 1000);
    log.write(0, b"before").expect("writes");
    log.write(10, b"after").expect("writes");
    check(dir.path(), &[(0, "before", false), (10, "after", false)]);
}

#[test]
fn a_restart_is_a_loss_of_unknown_length() {
    let dir = tempfile::tempdir().expect("a directory");
    open(dir.path(), 1000).write(0, b"before").expect("writes");
    let mut log = open(dir.path(), 1000);
    assert_eq!(log.end(), 6);
    log.write(6, b"after").expect("writes");
    check(dir.path(), &[(0, "before", false), (6, "after", true)]);
}

#[test]
fn a_full_disk_costs_a_hole_and_no_more() {
    let dir = tempfile::tempdir().expect("a directory");
    let fs = FaultFs::new(Arc::new(OsFs));
    let mut log =
        OutputLog::open(Arc::new(fs.clone()), dir.path().to_owned(), 1000).expect("opens");
    log.write(0, b"one").expect("writes");
    fs.arm_from(1, Fault::Fail(FaultErrno::NoSpace));
    log.write(3, b"two").expect_err("the disk is full");
    log.write(6, b"three").expect_err("the disk is full");
    fs.clear();
    log.write(11, b"four").expect("writes");
    check(dir.path(), &[(0, "one", false), (11, "four", false)]);
}

#[test]
fn a_bound_of_zero_writes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    open(dir.path(), 0).write(0, b"one").expect("does nothing");
    check(dir.path(), &[]);
}
