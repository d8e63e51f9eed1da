//! Running agents: a holder that owns a run's processes, a keeper that writes down what comes of
//! them, and what launches, ends and takes over both.
//!
//! Owns: starting a run as its plan says, ending its processes and proving them dead, the output
//! log, the transcript, the run's events, the run's socket. Must not know: the catalog, what an
//! agent's output means beyond the plan's rules, what is owed next.
//!
//! Start reading at [`launch`], then the `hold` module, then `keep`.
//!
//! Invariants:
//! - `run.started` is recorded before anything is started, and only by who has the lease.
//! - The lease is held from before `run.started` until the end is recorded and the tree is dead;
//!   the agent never inherits it.
//! - A process is signalled only when it is proven to be of the run, and through a pidfd.
//! - `run.ended` is recorded only after the run's tree is proven dead.
//! - The holder reads nothing that the agent can write.
//! - A keeper may be killed at any time; the next one goes on.

pub mod client;
mod control;
mod hold;
mod inherited;
mod keep;
mod launch;
mod lines;
mod mint;
mod order;
pub mod output;
mod progress;
mod say;
pub mod screen;
pub mod takeover;
mod word;

pub use crate::hold::hold;
pub use crate::keep::keep;
pub use crate::launch::{LaunchError, LaunchOptions, Launched, launch, launch_with};
pub use crate::order::{Grouping, ended_plan, output_dir};
pub use crate::takeover::{TakenOver, TakeoverError, TakeoverOptions, takeover};
