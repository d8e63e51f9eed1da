//! The rows, one module each.

mod append_many;
mod append_one;
mod append_shared;
mod holder;
mod list;
mod output;
pub(crate) mod parse;
mod read_depth;
mod request;
mod wait_latency;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::measure::Line;
use crate::program;

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// As the numbers in the documentation were made.
    Full,
    /// Fewer rounds and smaller stores: to see that it works.
    Quick,
}

impl Scale {
    /// Returns so many, or a fourth of it.
    pub(crate) fn count(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => (full / 4).max(3),
        }
    }

    /// Returns a size, or a tenth of it.
    pub(crate) fn size(self, full: u64) -> u64 {
        match self {
            Self::Full => full,
            Self::Quick => full / 10,
        }
    }
}

/// What rows are given.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) scale: Scale,
    creel: OnceCell<PathBuf>,
}

impl Bench {
    pub(crate) fn new(scale: Scale) -> Self {
        Self { scale, creel: OnceCell::new() }
    }

    /// Returns where `creel` is, built when the first row asks.
    ///
    /// # Errors
    /// When it can't be built.
    pub(crate) fn creel(&self) -> Result<&Path> {
        if let Some(creel) = self.creel.get() {
            return Ok(creel);
        }
        let creel = program::build_creel()?;
        Ok(self.creel.get_or_init(|| creel))
    }
}

/// One row of the table; it may have several lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Its name, as it is typed.
    pub(crate) name: &'static str,
    /// What it measures.
    pub(crate) about: &'static str,
    measure: fn(&Bench) -> Result<Vec<Line>>,
}

impl Row {
    /// Measures it.
    ///
    /// # Errors
    /// When something fails; a budget that is not kept is no failure.
    pub(crate) fn measure(&self, bench: &Bench) -> Result<Vec<Line>> {
        (self.measure)(bench)
    }
}

/// Every row, in the order of the table.
pub(crate) const ROWS: [Row; 11] = [
    Row {
        name: "append-one",
        about: "one writer appends and publishes",
        measure: append_one::measure,
    },
    Row {
        name: "append-64-many",
        about: "64 processes on 64 sessions",
        measure: append_many::measure,
    },
    Row {
        name: "append-64-one",
        about: "64 processes on one session",
        measure: append_shared::measure,
    },
    Row {
        name: "read-depth",
        about: "reading a session of 10 and of 1,000,000 events",
        measure: read_depth::measure,
    },
    Row {
        name: "list-10k",
        about: "listing 10,000 sessions",
        measure: |bench| list::measure(bench, &list::TEN_THOUSAND),
    },
    Row {
        name: "list-100k",
        about: "listing 100,000 sessions",
        measure: |bench| list::measure(bench, &list::HUNDRED_THOUSAND),
    },
    Row {
        name: "holder-stdio",
        about: "memory of a headless session's holder and keeper",
        measure: holder::measure,
    },
    Row {
        name: "output-stdio",
        about: "an agent's output through its keeper",
        measure: output::measure,
    },
    Row {
        name: "parse",
        about: "printing to a terminal that nobody looks at",
        measure: parse::measure,
    },
    Row {
        name: "request-stdio",
        about: "a whole request, and a launch",
        measure: request::measure,
    },
    Row {
        name: "wait-latency",
        about: "from a stored return to the end of `creel wait`",
        measure: wait_latency::measure,
    },
];

/// Returns the rows of some names; all when none is given.
///
/// # Errors
/// When there is no row of a name.
pub(crate) fn named(names: &[String]) -> Result<Vec<Row>> {
    if names.is_empty() {
        return Ok(ROWS.to_vec());
    }
    let find = |name: &String| match ROWS.iter().find(|row| row.name == name) {
        Some(row) => Ok(*row),
        None => bail!("there is no row '{name}' (creel-bench --help names them)"),
    };
    names.iter().map(find).collect()
}
