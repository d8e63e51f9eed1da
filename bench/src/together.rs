//! Many processes that begin at once. Each is this program again, with a hidden verb.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, pipe};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use creel_record::SessionId;

use crate::bare::{BareSpool, Shape};
use crate::scratch;

/// What a child says when it has all it needs.
const READY: &str = "ready";
/// What it says when its work is done. Its end is no part of the work.
const DONE: &str = "done";

/// What a child does.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum Part {
    /// Appends events to a session of a store
    #[command(hide = true)]
    Append {
        /// The store
        root: std::path::PathBuf,
        /// The session
        id: SessionId,
        /// How often
        count: u64,
    },
    /// Appends to files without a record
    #[command(hide = true)]
    Bare {
        /// Where the shape is saved
        shape: std::path::PathBuf,
        /// Where the files are
        dir: std::path::PathBuf,
        /// Their name
        name: String,
        /// How often
        count: u64,
    },
    /// Ends when a directory changes
    #[command(hide = true)]
    Wake {
        /// The directory
        dir: std::path::PathBuf,
    },
    /// Fills a terminal and tells what it takes
    #[command(hide = true)]
    Terminal,
}

impl Part {
    /// Plays the part: gets ready, waits until all may begin, works, ends.
    ///
    /// # Errors
    /// When something fails.
    pub(crate) fn play(self) -> Result<()> {
        match self {
            Self::Append { root, id, count } => {
                let store = scratch::store_at(&root)?;
                begin()?;
                (0..count).try_for_each(|number| scratch::append(&store, id, number))?;
            }
            Self::Bare { shape, dir, name, count } => {
                let spool = BareSpool::new(&dir, &name, Shape::load(&shape)?)?;
                begin()?;
                (0..count).try_for_each(|_| spool.append())?;
            }
            Self::Terminal => return crate::rows::parse::print_memory(),
            Self::Wake { dir } => {
                let watch = creel_sys::watch::DirWatch::new(&dir)?;
                println!("{READY}");
                watch.wait(Duration::from_secs(60))?;
                return Ok(());
            }
        }
        println!("{DONE}");
        Ok(())
    }

    /// Returns the command line of the part.
    fn arguments(&self) -> Vec<std::ffi::OsString> {
        match self {
            Self::Append { root, id, count } => {
                vec!["append".into(), root.into(), id.to_string().into(), count.to_string().into()]
            }
            Self::Bare { shape, dir, name, count } => {
                let count = count.to_string().into();
                vec!["bare".into(), shape.into(), dir.into(), name.into(), count]
            }
            Self::Terminal => vec!["terminal".into()],
            Self::Wake { dir } => vec!["wake".into(), dir.into()],
        }
    }

    /// Starts a process that plays the part, and waits until it is ready.
    ///
    /// # Errors
    /// When it can't be started, or fails first.
    pub(crate) fn start(&self) -> Result<Child> {
        let mut child = self.spawn(None)?;
        hear(&mut said(&mut child)?, READY)?;
        Ok(child)
    }

    fn spawn(&self, gate: Option<&PipeReader>) -> Result<Child> {
        let own = std::env::current_exe().context("can't tell this program's path")?;
        let stdin = match gate {
            Some(gate) => gate.try_clone()?.into(),
            None => Stdio::null(),
        };
        let mut command = Command::new(own);
        command.args(self.arguments()).stdin(stdin).stdout(Stdio::piped());
        command.spawn().context("can't start this program again")
    }
}

/// Says that this process is ready, and waits until all may begin.
fn begin() -> Result<()> {
    println!("{READY}");
    // The other end is closed by the one who measures.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn said(child: &mut Child) -> Result<BufReader<ChildStdout>> {
    Ok(BufReader::new(child.stdout.take().context("its output is piped")?))
}

fn hear(said: &mut BufReader<ChildStdout>, word: &str) -> Result<()> {
    let mut line = String::new();
    said.read_line(&mut line)?;
    ensure!(line.trim_end() == word, "a process of this program failed before it was {word}");
    Ok(())
}

/// Runs parts side by side and returns how long they worked, from the moment when all were ready
/// until the last one was done.
///
/// # Errors
/// When one fails.
pub(crate) fn run(parts: &[Part]) -> Result<Duration> {
    let (gate, open): (PipeReader, PipeWriter) = pipe()?;
    let children: Result<Vec<Child>> = parts.iter().map(|part| part.spawn(Some(&gate))).collect();
    let mut children = children?;
    let said: Result<Vec<_>> = children.iter_mut().map(said).collect();
    let mut said = said?;
    said.iter_mut().try_for_each(|said| hear(said, READY))?;
    let start = Instant::now();
    drop(open);
    said.iter_mut().try_for_each(|said| hear(said, DONE))?;
    let worked = start.elapsed();
    for child in &mut children {
        ensure!(child.wait()?.success(), "a process of this program failed");
    }
    Ok(worked)
}

/// Returns parts that append to sessions of a store.
pub(crate) fn appending(root: &Path, ids: &[SessionId], count: u64) -> Vec<Part> {
    ids.iter().map(|id| Part::Append { root: root.to_owned(), id: *id, count }).collect()
}
