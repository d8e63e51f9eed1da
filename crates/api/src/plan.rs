//! The resolved plan of one run: everything a holder and a keeper need, so that neither reads the
//! catalog.
//!
//! A plan travels through an inherited descriptor and stays in memory, since its environment may
//! hold credentials. It is never written to disk.

use std::path::PathBuf;

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
}

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
