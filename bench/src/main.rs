//! Measures Creel beside a bare loop of the same system calls, or a peer, in the same run.
//!
//! Owns the budgets and the loops. Must not know: how the engines work inside; it calls what verbs
//! call, and the verbs themselves. Start reading at [`rows::ROWS`].
//!
//! Invariants:
//! - Both sides of a number are measured in alternating rounds of one run; what counts is the
//!   median of the rounds' ratios.
//! - Every store and every process lives in a throw-away home.
//! - Speed is judged here, and by no test.

#![forbid(unsafe_code)]

mod bare;
mod bulk;
mod measure;
mod program;
mod rows;
mod scratch;
mod table;
mod together;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use rows::{Bench, ROWS, Scale};
use together::Part;

/// Measure speed and memory beside bare loops
///
/// Prints one line for each thing that is measured. TMPDIR chooses the file system.
#[derive(Debug, Parser)]
#[command(after_help = rows_help(), subcommand_negates_reqs = true, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
struct Args {
    /// The rows to measure; all when none is given
    rows: Vec<String>,
    /// Measure fewer rounds on smaller stores
    #[arg(long)]
    quick: bool,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

fn rows_help() -> String {
    let row = |row: &rows::Row| format!("  {:<15}  {}\n", row.name, row.about);
    format!("Rows:\n{}", ROWS.iter().map(row).collect::<String>())
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("creel-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    if let Some(part) = args.part {
        return part.play();
    }
    let rows = rows::named(&args.rows)?;
    let bench = Bench::new(if args.quick { Scale::Quick } else { Scale::Full });
    let mut out = std::io::stdout();
    if !args.json {
        writeln!(out, "{}", table::head())?;
    }
    for row in rows {
        for line in row.measure(&bench)? {
            let text = if args.json { table::json(&line)? } else { table::text(&line) };
            writeln!(out, "{text}")?;
            out.flush()?;
        }
    }
    Ok(())
}
