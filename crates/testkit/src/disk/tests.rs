use super::*;
use std::collections::BTreeSet;
use std::time::Duration;

use creel_sys::fs::{LockMode, read_exact_at, write_all_at};

/// Enough seeds for every combination the tests ask for to come up; they are the same each time.
const SEEDS: std::ops::Range<u64> = 0..400;

fn write(disk: &DiskFs, path: &str, bytes: &[u8]) -> Box<dyn FsFile> {
    let file = disk.open(Path::new(path), OpenHow::Append).expect("a file");
    write_all_at(&*file, bytes, 0).expect("a write");
    file
}

fn sync(disk: &DiskFs, file: &dyn FsFile) {
    file.sync_data().expect("a sync");
    disk.sync_dir(Path::new("/")).expect("a sync");
}

/// All that the disk may show after a power loss: for each file its name and content.
fn outcomes(disk: &DiskFs) -> BTreeSet<String> {
    SEEDS
        .map(|seed| {
            let after = disk.power_loss(seed).files();
            assert_eq!(after, disk.power_loss(seed).files(), "seed {seed} decides all");
            render(&after)
        })
        .collect()
}

fn render(files: &BTreeMap<PathBuf, Vec<u8>>) -> String {
    let files = files.iter().map(|(path, content)| format!("{}={}", path.display(), runs(content)));
    files.collect::<Vec<_>>().join(" ")
}

/// `aab` as `a2b1`; zero bytes as `0`.
fn runs(content: &[u8]) -> String {
    content
        .chunk_by(|a, b| a == b)
        .map(|run| {
            let byte = if run[0] == 0 { '0' } else { char::from(run[0]) };
            format!("{byte}{}", run.len())
        })
        .collect()
}

/// Checks what may be found after a power loss, all of it and nothing else.
fn check(prepare: impl FnOnce(&DiskFs), expected: &[&str]) {
    let disk = DiskFs::new();
    prepare(&disk);
    let expected: BTreeSet<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(outcomes(&disk), expected);
}

#[test]
fn what_is_synced_is_there() {
    check(|disk| sync(disk, &*write(disk, "/a", b"xxyy")), &["/a=x2y2"]);
}

#[test]
fn a_file_whose_entry_is_not_synced_may_be_lost_with_its_content() {
    check(|disk| write(disk, "/a", b"xx").sync_data().expect("a sync"), &["", "/a=x2"]);
}

#[test]
fn an_unsynced_write_is_kept_dropped_or_zeros() {
    let prepare = |disk: &DiskFs| {
        sync(disk, &*write(disk, "/a", b"x"));
        write(disk, "/a", b"yy");
    };
    check(prepare, &["/a=x1", "/a=x1y2", "/a=x102"]);
}

#[test]
fn a_write_is_torn_at_sectors_in_any_order() {
    let prepare = |disk: &DiskFs| {
        sync(disk, &*write(disk, "/a", &[b'x'; 510]));
        write(disk, "/a", &[b'y'; 4]);
    };
    let expected = [
        "/a=x510",
        "/a=x510y2",
        "/a=x51002",
        "/a=x510y4",
        "/a=x51004",
        "/a=x510y202",
        "/a=x51002y2",
    ];
    check(prepare, &expected);
}

#[test]
fn a_later_write_may_outlive_an_earlier_one() {
    let prepare = |disk: &DiskFs| {
        sync(disk, &*write(disk, "/a", b""));
        write(disk, "/a", b"x");
        write(disk, "/a", b"y");
    };
    let expected = ["/a=", "/a=x1", "/a=x1y1", "/a=01y1", "/a=x101", "/a=01", "/a=02"];
    check(prepare, &expected);
}

#[test]
fn an_unsynced_length_is_kept_or_not() {
    let prepare = |disk: &DiskFs| {
        let file = write(disk, "/a", b"xxx");
        sync(disk, &*file);
        file.set_len(1).expect("a shorter file");
    };
    check(prepare, &["/a=x1", "/a=x3"]);
    let prepare = |disk: &DiskFs| {
        let file = write(disk, "/a", b"xxx");
        sync(disk, &*file);
        file.set_len(1).expect("a shorter file");
        file.sync_data().expect("a sync");
    };
    check(prepare, &["/a=x1"]);
}

#[test]
fn a_rename_is_old_or_new_until_the_directory_is_synced() {
    let replace = |disk: &DiskFs| {
        sync(disk, &*write(disk, "/a", b"old"));
        sync(disk, &*write(disk, "/a.new", b"n"));
        disk.rename(Path::new("/a.new"), Path::new("/a")).expect("a rename");
    };
    check(replace, &["/a=o1l1d1 /a.new=n1", "/a=n1"]);
    let replace_and_sync = |disk: &DiskFs| {
        replace(disk);
        disk.sync_dir(Path::new("/")).expect("a sync");
    };
    check(replace_and_sync, &["/a=n1"]);
}

#[test]
fn a_renamed_file_that_was_not_synced_may_be_zeros_under_its_new_name() {
    let prepare = |disk: &DiskFs| {
        sync(disk, &*write(disk, "/a", b"o"));
        write(disk, "/a.new", b"nn");
        disk.rename(Path::new("/a.new"), Path::new("/a")).expect("a rename");
        disk.sync_dir(Path::new("/")).expect("a sync");
    };
    check(prepare, &["/a=", "/a=n2", "/a=02"]);
}

#[test]
fn a_removal_is_undone_or_not() {
    let prepare = |disk: &DiskFs| {
        sync(disk, &*write(disk, "/a", b"x"));
        disk.remove_file(Path::new("/a")).expect("a removal");
    };
    check(prepare, &["", "/a=x1"]);
}

#[test]
fn a_directory_that_is_not_synced_takes_its_files_with_it() {
    let prepare = |disk: &DiskFs| {
        disk.create_dir_all(Path::new("/d/e")).expect("directories");
        write(disk, "/d/e/a", b"x").sync_data().expect("a sync");
        disk.sync_dir(Path::new("/d/e")).expect("a sync");
        disk.sync_dir(Path::new("/d")).expect("a sync");
    };
    check(prepare, &["", "/d/e/a=x1"]);
}

#[test]
fn the_read_only_mark_is_never_safe() {
    let disk = DiskFs::new();
    let file = write(&disk, "/a", b"x");
    file.set_read_only(true).expect("a mark");
    sync(&disk, &*file);
    let is_read_only = |disk: &DiskFs| disk.stat(Path::new("/a")).expect("a file").is_read_only;
    let found: BTreeSet<bool> = SEEDS.map(|seed| is_read_only(&disk.power_loss(seed))).collect();
    assert_eq!(found, BTreeSet::from([false, true]));
    let reopened = disk.open(Path::new("/a"), OpenHow::ReadWrite).map(|_| ());
    assert_eq!(reopened.map_err(|error| error.kind()), Err(io::ErrorKind::PermissionDenied));
    assert!(disk.open(Path::new("/a"), OpenHow::Read).is_ok());
    file.write_at(b"y", 0).expect("the open file stays usable");
}

#[test]
fn a_power_loss_is_final() {
    let disk = DiskFs::new();
    write(&disk, "/a", &[b'x'; 2000]);
    for seed in SEEDS {
        let after = disk.power_loss(seed);
        assert_eq!(outcomes(&after), BTreeSet::from([render(&after.files())]));
    }
}

#[test]
fn killed_processes_lose_their_locks_and_nothing_else() {
    let disk = DiskFs::new();
    let file = write(&disk, "/a", b"x");
    assert!(file.try_lock(LockMode::Exclusive).expect("a lock"));
    let after = disk.crash_processes();
    assert_eq!(render(&after.files()), "/a=x1");
    let other = after.open(Path::new("/a"), OpenHow::Read).expect("a file");
    assert!(other.try_lock(LockMode::Exclusive).expect("a lock"));
    assert_eq!(outcomes(&after), BTreeSet::from(["", "/a=", "/a=x1", "/a=01"].map(str::to_owned)));
    file.write_at(b"y", 0).expect("the old world goes on by itself");
    assert_eq!(render(&after.files()), "/a=x1");
}

#[test]
fn locks_belong_to_open_files() {
    use LockMode::{Exclusive, Shared};
    let disk = DiskFs::new();
    let (a, b) = (write(&disk, "/a", b""), write(&disk, "/a", b""));
    let lock = |file: &dyn FsFile, mode| file.try_lock(mode).expect("a lock or none");
    assert!(lock(&*a, Shared) && lock(&*b, Shared));
    assert!(!lock(&*a, Exclusive), "b shares it");
    assert!(lock(&*b, Exclusive), "a gave its own up when it asked for more");
    assert!(!lock(&*a, Shared));
    assert!(!a.lock(Shared, Duration::from_secs(60)).expect("no lock"), "nobody waits");
    assert!(lock(&*b, Exclusive), "held already");
    drop(b);
    assert!(lock(&*a, Exclusive));
}

#[test]
fn an_open_file_outlives_its_name() {
    let disk = DiskFs::new();
    let file = write(&disk, "/a", b"x");
    disk.remove_file(Path::new("/a")).expect("a removal");
    write_all_at(&*file, b"y", 0).expect("a write");
    assert_eq!(read_exact_at(&*file, 0, 2).expect("two bytes"), b"xy");
    write(&disk, "/a", b"other");
    assert_ne!(
        file.stat().expect("a stat").file_id,
        disk.stat(Path::new("/a")).expect("a stat").file_id
    );
}

#[test]
fn wrong_paths_are_refused_as_by_the_kernel() {
    use io::ErrorKind::{AlreadyExists, InvalidInput, IsADirectory, NotADirectory, NotFound};
    let disk = DiskFs::new();
    write(&disk, "/a", b"x");
    disk.create_dir_all(Path::new("/d")).expect("a directory");
    disk.create_dir_all(Path::new("/d")).expect("it may be there");
    let open = |path: &str, how| disk.open(Path::new(path), how).map(|_| ()).map_err(|e| e.kind());
    let rename = |from: &str, to: &str| {
        disk.rename(Path::new(from), Path::new(to)).map_err(|error| error.kind())
    };
    assert_eq!(open("/b", OpenHow::Read), Err(NotFound));
    assert_eq!(open("/x/b", OpenHow::Create), Err(NotFound));
    assert_eq!(open("/a/b", OpenHow::Create), Err(NotADirectory));
    assert_eq!(open("/a", OpenHow::CreateNew), Err(AlreadyExists));
    assert_eq!(open("/d", OpenHow::Append), Err(IsADirectory));
    assert_eq!(open("/d", OpenHow::Read), Ok(()));
    assert_eq!(rename("/b", "/c"), Err(NotFound));
    assert_eq!(rename("/a", "/d"), Err(IsADirectory));
    assert_eq!(rename("/a", "/d/a"), Err(InvalidInput));
    assert_eq!(rename("/a", "/a"), Ok(()));
}
