//! A store of its own for one row, and what a writer brings to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use creel_record::command::Verdict;
use creel_record::command::keep;
use creel_record::event::Draft;
use creel_record::{EventId, Fact, Refusal, Session, SessionId, Source, Timestamp};
use creel_spool::{Change, Store, Visibility};
use creel_sys::boot;
use creel_sys::os_fs::OsFs;

use crate::bare::Shape;

/// A directory that is removed with all that a row left in it.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    /// Makes one where `TMPDIR` says, or in `parent`.
    ///
    /// # Errors
    /// When it can't be made.
    pub(crate) fn new(parent: Option<&Path>) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("creel-bench-");
        let dir = match parent {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        };
        Ok(Self { dir: dir.context("can't make a scratch directory")? })
    }

    /// Returns a path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a store in it.
    ///
    /// # Errors
    /// When it can't be made.
    pub(crate) fn store(&self) -> Result<Store> {
        store_at(&self.path("orb"))
    }
}

/// Opens the store at `root`, made first where it is not there yet.
///
/// # Errors
/// When it can't be made.
pub(crate) fn store_at(root: &Path) -> Result<Store> {
    let boot_id = boot::boot_id().context("can't tell the boot")?;
    Ok(Store::create(root, Arc::new(OsFs), &boot_id)?)
}

/// Makes an event of a fact as a verb does.
pub(crate) fn draft(fact: Fact) -> Draft {
    let ms = i64::try_from(boot::wall_time_ms()).unwrap_or(i64::MAX);
    Draft {
        id: EventId::from_uuid(uuid::Uuid::now_v7()),
        source: Source::Operator,
        time: Timestamp::from_millis(ms),
        fact,
    }
}

/// Runs a command of the record on a session, as a verb does.
///
/// # Errors
/// When it is refused, or is not durable and published afterwards.
pub(crate) fn record<A>(
    store: &Store,
    id: SessionId,
    command: impl Fn(&Session) -> Result<Verdict<A>, Refusal>,
) -> Result<()> {
    let committed = store.transact(id, |session| {
        Ok::<_, Refusal>(match command(session)? {
            Verdict::Append(fact) => Change::Append(draft(fact), ()),
            Verdict::Already(_) => Change::Nothing(()),
        })
    })?;
    ensure!(committed.event.is_some(), "the record says that there was nothing to append");
    ensure!(committed.visibility == Visibility::Published, "{:?}", committed.visibility);
    Ok(())
}

/// Appends the event of a number, which is unlike those of other numbers and processes.
///
/// # Errors
/// As [`record`].
pub(crate) fn append(store: &Store, id: SessionId, number: u64) -> Result<()> {
    let value = format!("step {number} of a long job, by {}", std::process::id());
    record(store, id, |session| keep::set(session, "step", &value))
}

/// Reads what the last append to a session wrote, so that a bare loop can write as much.
///
/// # Errors
/// When the files are not there, or the feed is of another form.
pub(crate) fn shape(store: &Store, id: SessionId) -> Result<Shape> {
    let log = fs::read(store.log_path(id))?;
    let line = log.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default();
    let feed = fs::read_to_string(store.index_dir().join("changes.jsonl"))?;
    let mut lines = feed.lines().rev().filter(|line| !line.is_empty());
    let mut fed = || lines.next().map(|line| format!("\n{line}\n").into_bytes());
    let (row, mark) = fed().zip(fed()).context("the feed has no mark and row")?;
    let snapshot = fs::read(store.log_path(id).with_extension("json"))?;
    Ok(Shape { line: line.to_vec(), snapshot, mark, row })
}
