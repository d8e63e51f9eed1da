use creel_sys::fault::{Fault, FaultErrno, FaultFs};
use creel_sys::os_fs::OsFs;

use super::*;

fn open(path: &Path, max_bytes: u64, run: u64) -> Transcript {
    Transcript::open(Arc::new(OsFs), path.to_owned(), max_bytes, run).expect("opens")
}

fn entries(path: &Path) -> Vec<Entry> {
    let mut text = std::fs::read_to_string(older_path(path)).unwrap_or_default();
    text.push_str(&std::fs::read_to_string(path).expect("a transcript"));
    text.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect()
}

fn check(path: &Path, expected: &[(u64, u64, &str)]) {
    let found: Vec<_> = entries(path)
        .into_iter()
        .map(|entry| {
            let text = match entry.content {
                Content::Raw { stream, bytes } => {
                    let bytes = bytes.decode().expect("bytes");
                    format!("{stream} {}", String::from_utf8_lossy(&bytes))
                }
                other => format!("{other:?}"),
            };
            (entry.seq, entry.run, text)
        })
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(seq, run, text)| (*seq, *run, (*text).to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_sequence_goes_on_over_runs_and_behind_a_torn_entry() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.jsonl");
    let mut first = open(&path, 1 << 20, 1);
    assert_eq!(first.last(), None);
    first.add_raw("stdout", b"a").expect("adds");
    first.sync().expect("syncs");
    let torn = b"{\"version\":1,\"seq\":2,";
    let whole = std::fs::read(&path).expect("a file");
    std::fs::write(&path, [&whole[..], torn].concat()).expect("writes");
    let mut second = open(&path, 1 << 20, 2);
    assert_eq!(second.last(), Some(&Last { run: 1, is_run_ended: false }));
    second.add_raw("stderr", b"b").expect("adds");
    second.flush().expect("flushes");
    check(&path, &[(1, 1, "stdout a"), (2, 2, "stderr b")]);
}

#[test]
fn the_bound_holds_and_the_newest_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.jsonl");
    let mut transcript = open(&path, 4096, 1);
    for at in 0..200 {
        transcript.add_raw("stdout", format!("line {at}\n").as_bytes()).expect("adds");
        transcript.flush().expect("flushes");
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |stat| stat.len());
        assert!(size(&path) + size(&older_path(&path)) <= 4096);
    }
    let kept = entries(&path);
    assert_eq!(kept.last().expect("an entry").seq, 200);
    let seqs: Vec<_> = kept.iter().map(|entry| entry.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    drop(transcript);
    std::fs::write(&path, b"").expect("empties");
    assert!(open(&path, 4096, 1).next_seq > 100);
}

#[test]
fn entries_keep_their_bound() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.jsonl");
    let mut transcript = open(&path, 1 << 24, 1);
    for byte in [b'x', b'"', 0, 0xff] {
        transcript.add_raw("stdout", &vec![byte; 100_000]).expect("adds");
    }
    let text = "\u{1}".repeat(100_000);
    transcript
        .add(Content::Message { role: "user".to_owned(), text, is_cut: false })
        .expect("adds");
    transcript.sync().expect("syncs");
    for line in std::fs::read(&path).expect("a file").split_inclusive(|byte| *byte == b'\n') {
        assert!(line.len() <= MAX_ENTRY_BYTES, "{}", line.len());
    }
    let last = entries(&path).pop().expect("an entry");
    assert!(matches!(last.content, Content::Message { is_cut: true, .. }));
}

#[test]
fn a_full_disk_loses_whole_entries_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.jsonl");
    let fs = FaultFs::new(Arc::new(OsFs));
    let mut transcript =
        Transcript::open(Arc::new(fs.clone()), path.clone(), 1 << 20, 1).expect("opens");
    transcript.add_raw("stdout", b"a").expect("adds");
    transcript.flush().expect("flushes");
    fs.arm(1, Fault::ShortWrite);
    transcript.add_raw("stdout", b"b").expect("collects");
    transcript.flush().expect_err("the disk is full");
    fs.arm(1, Fault::Fail(FaultErrno::NoSpace));
    transcript.add_raw("stdout", b"c").expect("collects");
    transcript.flush().expect_err("the disk is full");
    fs.clear();
    transcript.add_raw("stdout", b"d").expect("adds");
    transcript.sync().expect("syncs");
    check(&path, &[(1, 1, "stdout a"), (4, 1, "stdout d")]);
}
