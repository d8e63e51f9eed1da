use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::fingerprint::Fingerprint;
use super::{LOOK_EVERY_MS, SCAN_EVERY_MS, ScanReason, Watcher};

/// A repository with a linked worktree, and the schedule that watches it over virtual time.
struct Watch {
    dir: tempfile::TempDir,
    watcher: Watcher,
    now_ms: u64,
    look_count: usize,
    scans: Vec<(u64, ScanReason)>,
    can_scan: bool,
}

impl Watch {
    fn new() -> Self {
        let mut watch = Self {
            dir: tempfile::tempdir().unwrap(),
            watcher: Watcher::default(),
            now_ms: 1_000,
            look_count: 0,
            scans: Vec::new(),
            can_scan: true,
        };
        let main = watch.main();
        git(watch.dir.path(), &["init", "-q", "-b", "main", "main"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&main, &["worktree", "add", "-q", "../linked"]);
        watch.watcher.watch(watch.common(), watch.now_ms);
        watch.run_until(watch.now_ms);
        assert_eq!(watch.taken(), [(1_000, ScanReason::First)]);
        watch
    }

    fn main(&self) -> PathBuf {
        self.dir.path().join("main")
    }

    fn linked(&self) -> PathBuf {
        self.dir.path().join("linked")
    }

    fn common(&self) -> PathBuf {
        self.main().join(".git")
    }

    fn taken(&mut self) -> Vec<(u64, ScanReason)> {
        std::mem::take(&mut self.scans)
    }

    /// Does what is due, at the time it is due, up to a time.
    fn run_until(&mut self, end_ms: u64) {
        loop {
            let due = self.watcher.next(self.now_ms);
            for common in due.looks {
                self.look_count += 1;
                let seen = Fingerprint::capture(&common);
                self.watcher.looked(&common, self.now_ms, seen.as_ref());
            }
            for (common, reason) in self.watcher.next(self.now_ms).scans {
                self.scans.push((self.now_ms, reason));
                let before = Fingerprint::capture(&common).filter(|_| self.can_scan);
                self.watcher.scanned(&common, self.now_ms, before);
            }
            match self.watcher.next(self.now_ms).next_at_ms {
                Some(next_ms) if next_ms <= end_ms => {
                    assert!(next_ms > self.now_ms, "nothing is due twice at one time");
                    self.now_ms = next_ms;
                }
                _ => break,
            }
        }
        self.now_ms = end_ms;
    }

    /// Checks that a change made now is scanned for within one look.
    fn check_found(&mut self, change: impl FnOnce(&Self)) {
        self.taken();
        change(self);
        let began_ms = self.now_ms;
        self.run_until(began_ms + LOOK_EVERY_MS);
        match self.taken().as_slice() {
            [(at_ms, ScanReason::Changed)] => assert!(at_ms - began_ms <= LOOK_EVERY_MS),
            other => panic!("{other:?}"),
        }
        // And once is enough.
        self.run_until(self.now_ms + 3 * LOOK_EVERY_MS);
        assert_eq!(self.taken(), []);
    }
}

fn git(dir: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

#[test]
fn an_idle_repository_costs_no_git_process_between_reconciles() {
    let mut watch = Watch::new();
    watch.run_until(1_000 + 60 * 60_000);
    let expected: Vec<(u64, ScanReason)> =
        (1..=12).map(|n| (1_000 + n * SCAN_EVERY_MS, ScanReason::Reconcile)).collect();
    assert_eq!(watch.taken(), expected);
    // Every 30 s, but where a scan looks itself.
    assert_eq!(watch.look_count, 120);
}

#[test]
fn a_worktree_added_outside_is_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.main(), &["worktree", "add", "-q", "../other"]));
}

#[test]
fn a_worktree_removed_outside_is_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.main(), &["worktree", "remove", "../linked"]));
}

#[test]
fn a_branch_switched_in_a_worktree_is_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.linked(), &["switch", "-q", "-c", "new"]));
}

#[test]
fn a_commit_in_a_worktree_is_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.linked(), &["commit", "-q", "--allow-empty", "-m", "2"]));
}

#[test]
fn a_branch_switched_in_the_main_worktree_is_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.main(), &["switch", "-q", "-c", "new"]));
}

#[test]
fn a_lock_is_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.main(), &["worktree", "lock", "../linked"]));
}

#[test]
fn a_moved_worktree_is_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.main(), &["worktree", "move", "../linked", "../moved"]));
}

#[test]
fn a_deleted_directory_is_found_within_30_s() {
    Watch::new().check_found(|it| std::fs::remove_dir_all(it.linked()).unwrap());
}

#[test]
fn packed_refs_are_found_within_30_s() {
    Watch::new().check_found(|it| git(&it.main(), &["pack-refs", "--all"]));
}

#[test]
fn a_missing_worktree_is_not_scanned_for_again_and_again() {
    let mut watch = Watch::new();
    std::fs::remove_dir_all(watch.linked()).unwrap();
    watch.run_until(watch.now_ms + 10 * 60_000);
    let reasons: Vec<ScanReason> = watch.taken().into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [ScanReason::Changed, ScanReason::Reconcile]);
}

#[test]
fn a_repository_that_is_gone_is_never_scanned_and_found_again_within_5_min() {
    let mut watch = Watch::new();
    let away = watch.dir.path().join("away");
    std::fs::rename(watch.main(), &away).unwrap();
    watch.look_count = 0;
    let began_ms = watch.now_ms;
    watch.run_until(began_ms + 60 * 60_000);
    assert_eq!(watch.taken(), []);
    // 30 s, 1, 2 and 4 min, then every 5 min.
    assert!(watch.look_count <= 16, "{}", watch.look_count);
    std::fs::rename(away, watch.main()).unwrap();
    let back_ms = watch.now_ms;
    watch.run_until(back_ms + SCAN_EVERY_MS);
    let found = watch.taken();
    assert_eq!(found.first().map(|(_, reason)| *reason), Some(ScanReason::Changed));
}

#[test]
fn a_scan_that_fails_vouches_for_nothing_and_backs_off() {
    let mut watch = Watch::new();
    watch.can_scan = false;
    git(&watch.main(), &["worktree", "lock", "../linked"]);
    let began_ms = watch.now_ms;
    watch.run_until(began_ms + 20 * 60_000);
    let failed = watch.taken();
    assert_eq!(failed[0].1, ScanReason::Changed);
    assert!(failed[1..].iter().all(|(_, reason)| *reason == ScanReason::Retry), "{failed:?}");
    let gaps: Vec<u64> = failed.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert_eq!(gaps, [30_000, 60_000, 120_000, 240_000, 300_000, 300_000][..gaps.len()]);
    watch.can_scan = true;
    watch.run_until(watch.now_ms + SCAN_EVERY_MS);
    assert_eq!(watch.taken().len(), 1);
}

#[test]
fn what_changes_during_a_scan_is_found_by_the_next_look() {
    let mut watch = Watch::new();
    let common = watch.common();
    let before = Fingerprint::capture(&common);
    // The scan runs, and sees or misses this.
    git(&watch.main(), &["worktree", "lock", "../linked"]);
    watch.watcher.scanned(&common, watch.now_ms, before);
    watch.run_until(watch.now_ms + LOOK_EVERY_MS);
    let reasons: Vec<ScanReason> = watch.taken().into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [ScanReason::Changed]);
}

#[test]
fn a_look_that_fails_is_followed_by_a_scan() {
    let mut watch = Watch::new();
    let common = watch.common();
    watch.watcher.looked(&common, watch.now_ms, None);
    assert_eq!(watch.watcher.next(watch.now_ms).scans, [(common.clone(), ScanReason::NotSeen)]);
    watch.watcher.forget(&common);
    assert_eq!(watch.watcher.next(watch.now_ms), super::Due::default());
}

proptest::proptest! {
    #[test]
    fn no_change_stays_unknown_for_longer_than_5_min(
        steps in proptest::collection::vec((0_u64..40_000, 0_u8..4), 1..200),
    ) {
        let mut watcher = Watcher::default();
        let common = PathBuf::from("/r/.git");
        watcher.watch(common.clone(), 0);
        let mut now_ms = 0;
        let mut last_try_ms = 0;
        for (wait_ms, outcome) in steps {
            let due = watcher.next(now_ms);
            if !due.scans.is_empty() {
                last_try_ms = now_ms;
                watcher.scanned(&common, now_ms, None);
            }
            for common in &due.looks {
                // Looks that fail, as any other, must not put a scan off.
                if outcome > 0 {
                    watcher.looked(common, now_ms, None);
                }
            }
            let next_ms = watcher.next(now_ms).next_at_ms.unwrap();
            proptest::prop_assert!(now_ms - last_try_ms <= SCAN_EVERY_MS);
            now_ms = next_ms.min(now_ms + wait_ms).max(now_ms);
        }
    }
}
