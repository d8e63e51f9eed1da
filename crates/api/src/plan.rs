//! The resolved plan of one run: everything a holder and a keeper need, so that neither reads the
//! catalog.
//!
//! A plan travels through an inherited descriptor and stays in memory, since its environment may
//! hold credentials. It is never written to disk.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The plan version this build writes and reads.
pub const PLAN_VERSION: u32 = 1;

/// One run, ready to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// Where the record of the run goes.
    pub record: RecordTarget,
    /// What the `run.started` event says.
    pub run: RunFacts,
    /// The process to start.
    pub command: Command,
    /// What the keeper watches for, and how long it waits.
    pub watch: Watch,
    /// The terminal that the process gets in the place of pipes, with nothing on standard input;
    /// none for a process without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalPlan>,
}

/// The most columns of a terminal: more than any screen shows.
pub const MAX_TERMINAL_COLUMNS: u16 = 1000;

/// The most lines of a terminal: a screen of so many cells stays small.
pub const MAX_TERMINAL_LINES: u16 = 500;

/// The fewest columns of a terminal: a wide character needs two.
pub const MIN_TERMINAL_COLUMNS: u16 = 2;

/// The size of a terminal in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSize {
    /// Cells in a line.
    pub columns: u16,
    /// Lines.
    pub lines: u16,
}

impl TerminalSize {
    /// The size where nobody says one: what programs expect of a terminal that tells none.
    pub const DEFAULT: Self = Self { columns: 80, lines: 24 };

    /// Returns a size that terminals can have.
    ///
    /// # Errors
    /// When it has no cells, or more than [`MAX_TERMINAL_COLUMNS`] and [`MAX_TERMINAL_LINES`].
    pub fn checked(columns: u32, lines: u32) -> Result<Self, BadSize> {
        let refused = BadSize { columns, lines };
        let fits = |cells: u32, bounds: RangeInclusive<u16>| {
            u16::try_from(cells).ok().filter(|cells| bounds.contains(cells))
        };
        let columns = fits(columns, MIN_TERMINAL_COLUMNS..=MAX_TERMINAL_COLUMNS)
            .ok_or_else(|| refused.clone())?;
        let lines = fits(lines, 1..=MAX_TERMINAL_LINES).ok_or(refused)?;
        Ok(Self { columns, lines })
    }
}

/// A size that no terminal can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a terminal of {columns}x{lines} can't be: columns go from {MIN_TERMINAL_COLUMNS} to \
     {MAX_TERMINAL_COLUMNS}, lines from 1 to {MAX_TERMINAL_LINES}"
)]
pub struct BadSize {
    /// The columns.
    pub columns: u32,
    /// The lines.
    pub lines: u32,
}

/// A terminal to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalPlan {
    /// Its size at first.
    pub size: TerminalSize,
    /// Lines of history that a keeper holds beside the screen.
    pub history_lines: u32,
    /// Bytes of history that a keeper holds beside the screen.
    pub history_bytes: u64,
    /// The harness's own session, recorded once the agent was given a first input: by then it
    /// exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_id: Option<String>,
    /// True when the first input came with the start.
    #[serde(default)]
    pub has_first_input: bool,
}

/// Lines of history where nobody says how many.
pub const DEFAULT_HISTORY_LINES: u32 = 10_000;

/// Bytes of history where nobody says how many: ten thousand lines of a mean of 80 bytes and their
/// colours, twice over.
pub const DEFAULT_HISTORY_BYTES: u64 = 2 << 20;

/// The store and session a run belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordTarget {
    /// The orb root (the directory that holds `manifest.json`).
    pub orb_root: PathBuf,
    /// The session's id.
    pub session_id: String,
    /// The transcript thread that the run writes to.
    pub thread_id: String,
}

/// The facts of `run.started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFacts {
    /// The run's id (UUIDv7).
    pub run_id: String,
    /// The turn that this run opens.
    pub turn_id: String,
    /// Why the run starts: `launch`, `resume`, `reprompt`, `wake` or `interrupt`.
    pub cause: String,
    /// 1 or 2 for a re-prompt, else 0.
    pub attempt: u32,
    /// The run whose work this one continues.
    pub continues_run_id: Option<String>,
    /// The prompt as recorded (without the contract text around it).
    pub prompt: String,
    /// Who asked for the run: an event source such as `/operator` or `/session/<id>`.
    pub source: String,
}

/// The process to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub args: Vec<String>,
    /// The whole environment of the process; nothing else is inherited.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// What standard input carries before it ends.
    pub stdin: String,
    /// Files to write (mode 0600) below the run directory before the start, such as an MCP
    /// configuration; removed with nothing else than the run directory.
    pub files: Vec<PlanFile>,
}

/// A file that a recipe needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// What the keeper does with what it sees; rules are data so that it needs no catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Watch {
    /// True when the exit code is the verdict and the keeper returns for the agent.
    pub verdict_by_exit: bool,
    /// Where the harness's own session id appears in JSON lines on standard output.
    pub native_id: Vec<JsonRule>,
    /// Lines that mean the provider failed the run.
    pub provider_error: Vec<ProviderRule>,
    /// Name of the JSON member that says what failed, wherever it is in such a line; the last one
    /// counts. Without one the whole line says it.
    #[serde(default)]
    pub provider_message: Option<String>,
    /// A directory the keeper collects returns from, for harnesses that can reach nothing else.
    pub return_dir: Option<PathBuf>,
    /// Milliseconds between asking a tree to end and killing it.
    pub end_grace_ms: u64,
    /// Milliseconds a returned run may live on before its tree is ended.
    pub return_grace_ms: u64,
    /// Bound of the raw output log in bytes; 0 switches it off.
    pub output_bytes: u64,
    /// Bound of the transcript in bytes.
    pub transcript_bytes: u64,
}

/// Picks a string out of a JSON line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JsonRule {
    /// Every (JSON pointer, expected string) here must hold for the line to count; a number or
    /// boolean is compared by its JSON text.
    #[serde(default)]
    pub when: Vec<(String, String)>,
    /// JSON pointer of the wanted string.
    pub pointer: String,
}

/// Recognises a provider failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderRule {
    /// `usage-limit`, `rate-limit`, `auth` or `api`.
    pub kind: String,
    /// Every (JSON pointer, expected string) that must hold in a JSON line on standard output (a
    /// number or boolean is compared by its JSON text); empty when `text` alone decides.
    #[serde(default)]
    pub when: Vec<(String, String)>,
    /// A text that the line (of either stream) must contain; empty means any.
    #[serde(default)]
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(columns: u32, lines: u32, expected: &str) {
        let found = match TerminalSize::checked(columns, lines) {
            Ok(size) => format!("{}x{}", size.columns, size.lines),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_terminal_has_cells_and_not_too_many() {
        check(80, 24, "80x24");
        check(2, 1, "2x1");
        check(1000, 500, "1000x500");
        for (columns, lines) in [(0, 0), (1, 24), (80, 0), (10_000, 10_000), (80, 65_536)] {
            check(
                columns,
                lines,
                &format!(
                    "a terminal of {columns}x{lines} can't be: columns go from 2 to 1000, lines \
                     from 1 to 500"
                ),
            );
        }
    }
}
