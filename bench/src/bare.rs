//! The bare loop: the system calls of one append and its publication, and nothing else.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// The bytes that one append writes and reads.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The line of the log.
    pub(crate) line: Vec<u8>,
    /// The snapshot.
    pub(crate) snapshot: Vec<u8>,
    /// The feed's line before the change.
    pub(crate) mark: Vec<u8>,
    /// The feed's line after it.
    pub(crate) row: Vec<u8>,
}

/// More than the snapshots have that are measured, so that one read takes them.
const SNAPSHOT_ROOM: usize = 16 * 1024;

const PARTS: [&str; 4] = ["line", "snapshot", "mark", "row"];

impl Shape {
    /// Leaves the shape in a directory, for other processes.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn save(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        let parts = [&self.line, &self.snapshot, &self.mark, &self.row];
        PARTS.iter().zip(parts).try_for_each(|(name, bytes)| fs::write(dir.join(name), bytes))
    }

    /// Reads a shape that was saved.
    ///
    /// # Errors
    /// When it can't be read.
    pub(crate) fn load(dir: &Path) -> io::Result<Self> {
        let [line, snapshot, mark, row] = PARTS.map(|name| fs::read(dir.join(name)));
        Ok(Self { line: line?, snapshot: snapshot?, mark: mark?, row: row? })
    }
}

/// The files of one session without a record in them, and the feed beside them.
#[derive(Debug)]
pub(crate) struct BareSpool {
    shape: Shape,
    log: PathBuf,
    snapshot: PathBuf,
    tmp: PathBuf,
    feed: PathBuf,
}

impl BareSpool {
    /// Makes the files in `dir`, when they are not there. The feed is shared by all spools there.
    ///
    /// # Errors
    /// When they can't be written.
    pub(crate) fn new(dir: &Path, name: &str, shape: Shape) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let file = |ending: &str| dir.join(format!("{name}.{ending}"));
        let spool = Self {
            shape,
            log: file("jsonl"),
            snapshot: file("json"),
            tmp: file("json.tmp"),
            feed: dir.join("changes.jsonl"),
        };
        OpenOptions::new().append(true).create(true).mode(0o600).open(&spool.log)?;
        fs::write(&spool.snapshot, &spool.shape.snapshot)?;
        Ok(spool)
    }

    /// Appends once.
    ///
    /// # Errors
    /// When a call fails.
    pub(crate) fn append(&self) -> io::Result<()> {
        let log = OpenOptions::new().read(true).write(true).open(&self.log)?;
        flock(&log, FlockOperation::LockExclusive)?;
        let len_bytes = log.metadata()?.len();
        let snapshot = File::open(&self.snapshot)?;
        let mut buffer = [0; SNAPSHOT_ROOM];
        while (&snapshot).read(&mut buffer)? > 0 {}
        drop(snapshot);
        self.tell(&self.shape.mark)?;
        log.write_all_at(&self.shape.line, len_bytes)?;
        log.sync_data()?;
        let mut tmp = OpenOptions::new();
        tmp.write(true).create_new(true).mode(0o600);
        tmp.open(&self.tmp)?.write_all(&self.shape.snapshot)?;
        fs::rename(&self.tmp, &self.snapshot)?;
        self.tell(&self.shape.row)
    }

    fn tell(&self, line: &[u8]) -> io::Result<()> {
        let mut feed = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.feed)?;
        flock(&feed, FlockOperation::LockShared)?;
        feed.metadata()?;
        feed.write_all(line)
    }
}
