//! The catalog of coding agents, and the plan of one run of one of them.
//!
//! Owns: how each agent is started, resumed, given its prompt and told of its session; which
//! variables it may see; how its results come back; what its output means for the record. Must not
//! know: processes, files, clocks, the record's rules. The catalog is data (`catalog/*.toml`);
//! nothing here starts or reads anything.
//!
//! Start at [`Catalog`], then [`Target::plan`].
//!
//! Invariants:
//! - Text that may be large (prompts, scripts) never travels in arguments.
//! - No secret is in an argument or in a file that a plan asks for.
//! - A variable that no list names doesn't reach the agent.
//! - A native session is continued only by an id that was reported; starting over is explicit.
//! - Nothing is read from a project, and nothing is written to a user's own agent configuration.

#![forbid(unsafe_code)]

mod catalog;
mod contract;
mod diagnostic;
mod entry;
mod environment;
mod harness;
mod mcp;
mod plan;
mod target;
mod template;

pub use catalog::Catalog;
pub use contract::{MAX_REPROMPTS, Shape, WakeNote, interrupt_text, wake_text};
pub use diagnostic::CatalogError;
pub use entry::{Capability, Channel};
pub use environment::Environment;
pub use harness::{
    DEFAULT_END_GRACE_MS, DEFAULT_OUTPUT_BYTES, DEFAULT_RETURN_GRACE_MS, DEFAULT_TRANSCRIPT_BYTES,
};
pub use plan::{
    Cause, Invocation, MAX_PROMPT_ENV_BYTES, Mode, Places, PlanError, Prepared, Privilege, Start,
};
pub use target::{Target, TargetError};
